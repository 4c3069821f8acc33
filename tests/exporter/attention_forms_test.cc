// The attention operators of ONNX and com.microsoft, read as formulas, are fused again: one
// FusedAttention each, with the bits of the formula.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/exporter/microsoft_model.h"

namespace wick::test {
namespace {

size_t count(const ir::Graph& g, OpId op) {
  size_t n = 0;
  for (const ir::Node& node : g.nodes()) n += node.op == op ? 1 : 0;
  return n;
}

// `open`: axes of every input whose size is a symbol.
// `products`: those that are no part of attention, as the projection of com.microsoft's Attention.
void expect_fused(const std::string& name, const NodeModel& model, int outputs,
                  std::initializer_list<int> open = {}, size_t products = 0) {
  const auto symbols = [&](const std::string&, int axis) {
    return std::find(open.begin(), open.end(), axis) != open.end();
  };
  const ir::Graph read = import_onnx_bytes(model.bytes(symbols, outputs));
  ir::Graph fused = read;
  EXPECT_EQ(ir::optimize(fused).numerics, ir::Numerics::kExact);
  EXPECT_EQ(count(fused, OpId::kFusedAttention), 1u) << name << "\n" << ir::print(fused);
  EXPECT_EQ(count(fused, OpId::kSoftmax), 0u) << name;
  EXPECT_EQ(count(fused, OpId::kMatMul), products) << name;
  const std::vector<HostTensor> given = model.inputs(), want = ir::run(read, given);
  ir::InterpreterOptions simd;
  simd.kernels = {&kCpuKernels, &kReferenceKernels};
  for (const auto& got : {ir::run(fused, given), ir::run(fused, given, simd)}) {
    for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << name;
  }
}

HostTensor some(Shape shape) {
  HostTensor t(DType::kBool, shape);
  for (int64_t i = 0; i < t.numel(); ++i) t.as<bool>()[i] = i % 7 < 4;
  return t;
}

TEST(AttentionForms, OfOnnx) {
  const auto four = [](int64_t kv_heads) {
    return NodeModel("Attention", 23)
        .in(floats({2, 4, 5, 8}, 1))
        .in(floats({2, kv_heads, 9, 8}, 2))
        .in(floats({2, kv_heads, 9, 6}, 3));
  };
  const auto three = [] {
    return NodeModel("Attention", 24)
        .in(floats({2, 5, 32}, 1))
        .in(floats({2, 9, 16}, 2))
        .in(floats({2, 9, 24}, 3))
        .set("q_num_heads", 4)
        .set("kv_num_heads", 2);
  };
  expect_fused("plain", four(4), 1);
  expect_fused("a mask", four(4).in(floats({5, 9}, 4)), 1);
  expect_fused("a mask of yes and no", four(4).in(some({2, 1, 5, 9})), 1);
  expect_fused("causal", four(4).set("is_causal", 1), 1);
  expect_fused("grouped", four(2).set("scale", 0.3f), 1);
  expect_fused("a cap", four(2).set("softcap", 2.0f).in(floats({2, 4, 5, 9}, 4)), 1);
  expect_fused("heads side by side", three(), 1);
  expect_fused("a cache", three().in({}).in(floats({2, 2, 7, 8}, 5)).in(floats({2, 2, 7, 12}, 6)),
               3);
}

TEST(AttentionForms, OfComMicrosoft) {
  const auto projected = [] {
    return microsoft("Attention")
        .in(floats({2, 6, 16}, 1))
        .in(floats({16, 48}, 2))
        .in(floats({48}, 3))
        .set("num_heads", 4);
  };
  const auto several = [] {
    return microsoft("MultiHeadAttention")
        .in(floats({2, 6, 32}, 1))
        .in(floats({2, 9, 32}, 2))
        .in(floats({2, 9, 16}, 3))
        .set("num_heads", 4);
  };
  expect_fused("Attention", projected(), 1, {}, 1);
  expect_fused("Attention, causal", projected().set("unidirectional", 1), 1, {0, 1}, 1);
  expect_fused("Attention, lengths", projected().in(i32({2}, {4, 6})), 1, {}, 1);
  expect_fused("MultiHeadAttention", several(), 1);
  expect_fused("MultiHeadAttention, masked",
               several().in({}).in(i32({2, 9}, std::vector<int32_t>{1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1,
                                                                    1, 1, 1, 1, 1, 1, 0})),
               1);
  expect_fused("MultiHeadAttention, biased", several().in({}).in({}).in(floats({2, 4, 6, 9}, 5)),
               1);
  const auto grouped = [](int64_t tokens, int64_t past) {
    const auto total = static_cast<int32_t>(tokens + past);
    return microsoft("GroupQueryAttention")
        .in(floats({1, tokens, 32}, 1))
        .in(floats({1, tokens, 16}, 2))
        .in(floats({1, tokens, 16}, 3))
        .in(floats({1, 2, past, 8}, 4))
        .in(floats({1, 2, past, 8}, 5))
        .constant(i32({1}, {total - 1}))
        .constant(i32({1}, {total}))
        .set("num_heads", 4)
        .set("kv_num_heads", 2);
  };
  expect_fused("GroupQueryAttention, a token", grouped(1, 40), 3);
  expect_fused("GroupQueryAttention, a cap", grouped(1, 7).set("softcap", 0.5f), 3);
  expect_fused("GroupQueryAttention, more tokens", grouped(3, 4).set("local_window_size", 2), 3);
}

}  // namespace
}  // namespace wick::test
