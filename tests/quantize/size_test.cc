// What files of integers and of 16-bit floats take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/include/wick/compile.h"
#include "graph/ir/stored_dtype.h"
#include "quantize/passes/quantize.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using ir::Graph;
using ir::ValueId;
using testing::HasSubstr;

// Blocks of a pointwise and a depthwise convolution with names as long as real ones.
Builder mobile() {
  Builder b;
  ValueId h = b.input("image", {1, 3, 16, 16});
  int64_t channels = 3;
  for (int block = 0; block < 8; ++block) {
    const int64_t out = block < 4 ? 32 : 64;
    const std::string name = "features/block_" + std::to_string(block) + "/";
    h = b.op(OpId::kRelu, {b.conv(h, out, channels, 1, name + "pointwise/Conv2D")},
             name + "relu_1");
    h = b.op(OpId::kRelu, {b.conv(h, out, out, 3, name + "depthwise/Conv2D", out)},
             name + "relu_2");
    channels = out;
  }
  h = b.g.emit(OpId::kFlatten, AxisAttrs{1}, {h}, "flatten");
  b.g.add_output("logits", b.linear(h, 10, channels * 256, "classifier"));
  return b;
}

std::vector<uint8_t> file_of(const Graph& g, const ProgramForm& form) {
  return compile_program(g, {}, {.form = form});
}

TEST(Size, IntegersTakeLittleMoreThanTheirWeights) {
  const Builder b = mobile();
  const QuantizeResult q = quantize(b.g, Recipe(), batches_of(noise_batches(b.g, 1)));
  Graph integers = ir::lowered(q.graph);
  ir::optimize(integers);
  int64_t weights = 0, channels = 0, nodes = 0;
  for (const ir::Node& n : integers.nodes()) nodes += n.removed() ? 0 : 1;
  for (size_t v = 0; v < integers.value_count(); ++v) {
    const HostTensor& t = integers.value(static_cast<ValueId>(v)).constant;
    if (!t.present() || t.dtype() != DType::kI8 || t.shape().rank() < 2) continue;
    weights += static_cast<int64_t>(t.nbytes());
    channels += t.shape()[0];
  }
  const auto plain = static_cast<int64_t>(file_of(integers, {}).size()),
             small = static_cast<int64_t>(file_of(integers, {.compact = true}).size()),
             bare = static_cast<int64_t>(
                 file_of(integers, {.compact = true, .strip_names = true}).size());
  EXPECT_LE(small, weights + 8 * channels + 200 * nodes + 4096);
  EXPECT_GT(plain, weights + 8 * channels + 200 * nodes + 4096);
  EXPECT_LT(bare, small);
}

TEST(Size, WeightsOf16BitsTakeHalf) {
  const Builder b = mobile();
  const Batch batch = noise_batches(b.g, 1)[0];
  const auto whole = static_cast<double>(file_of(b.g, {.compact = true}).size());
  for (const Mode mode : {Mode::kF16, Mode::kBF16}) {
    Recipe r;
    r.mode = mode;
    const QuantizeResult q = quantize(b.g, r);
    EXPECT_TRUE(q.stayed.empty());
    EXPECT_LT(static_cast<double>(file_of(q.graph, {.compact = true}).size()), 0.55 * whole);
    EXPECT_GT(sqnr(run_batch(b.g, batch)[0], run_batch(q.graph, batch)[0]),
              mode == Mode::kF16 ? 52 : 34);
    for (size_t v = 0; v < q.graph.value_count(); ++v) {
      const HostTensor& t = q.graph.value(static_cast<ValueId>(v)).constant;
      if (!t.present() || t.shape().rank() < 2) continue;
      EXPECT_NE(ir::stored_dtype(t), DType::kF32);
    }
  }
}

TEST(Size, WeightsBeyondFloat16Stay) {
  Builder b;
  const ValueId x = b.input("x", {4, 8});
  b.g.add_output("y", b.linear(b.linear(x, 8, 8, "a"), 8, 8, "b"));
  for (size_t v = 0; v < b.g.value_count(); ++v) {
    ir::Value& value = b.g.value(static_cast<ValueId>(v));
    if (value.name == "b.weight") value.constant.as<float>()[3] = 70000;
  }
  Recipe r;
  r.mode = Mode::kF16;
  const QuantizeResult q = quantize(b.g, r);
  ASSERT_EQ(q.stayed.size(), 1U);
  EXPECT_EQ(q.stayed[0].node, "b");
  EXPECT_THAT(q.stayed[0].reason, HasSubstr("beyond f16's range"));
  r.mode = Mode::kBF16;
  EXPECT_TRUE(quantize(b.g, r).stayed.empty());
  r.gptq = true;
  EXPECT_THAT(error_of([&] { check(r); }), HasSubstr("not for bf16"));
}

}  // namespace
}  // namespace wick::quantize
