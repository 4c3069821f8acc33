// Sessions on hand-built programs: values, shapes, rebinding, errors and their texts.
#include "wick/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/program/program_builder.h"

namespace wick {
namespace {

using test::kSym;
using test::ProgramBuilder;
using ::testing::HasSubstr;

struct Loaded {
  test::AlignedBytes bytes{nullptr, {0}};
  Owned<Program> program;
};

Loaded load(const std::vector<uint8_t>& file) {
  Loaded l;
  l.bytes = test::aligned_copy(file);
  auto r = Program::load(Span<const uint8_t>(l.bytes.get(), file.size()));
  EXPECT_TRUE(r.ok()) << r.status().message();
  if (r.ok()) l.program = std::move(*r);
  return l;
}

Owned<Session> open(const Program& program, const SessionOptions& options = {}) {
  auto r = Session::create(program, options);
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? std::move(*r) : Owned<Session>();
}

// relu(x W + b) with a symbolic batch, flattened and back: a matmul, an alias, in-place steps.
std::vector<uint8_t> mlp() {
  ProgramBuilder p;
  p.symbol("batch", 1, 64);
  auto x = p.value("x", DType::kF32, {kSym, 3});
  auto w = p.constant<float>("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  auto b = p.constant<float>("b", {2}, {-30, 0.5f});
  auto shape = p.constant<int64_t>("shape", {1}, {-1});
  auto h = p.value("h", DType::kF32, {kSym, 2});
  auto s = p.value("s", DType::kF32, {kSym, 2});
  auto r = p.value("r", DType::kF32, {kSym, 2});
  auto y = p.value("y", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  p.node(OpId::kMatMul, {x, w}, {h}, NoAttrs{}, "mm");
  p.node(OpId::kAdd, {h, b}, {s}, NoAttrs{}, "bias");
  p.node(OpId::kRelu, {s}, {r}, NoAttrs{}, "act");
  p.node(OpId::kReshape, {r, shape}, {y}, ReshapeAttrs{}, "flat");
  p.entry("main", {x}, {y, r});
  p.label("cat");
  p.label("dog");
  p.metadata("author", "me");
  return p.finish();
}

TEST(Session, RunsAndRebindsForAnotherBatch) {
  auto l = load(mlp());
  auto session = open(*l.program);
  for (int64_t batch : {2, 5, 1, 2}) {
    std::vector<float> x(static_cast<size_t>(batch * 3)), y(static_cast<size_t>(batch * 2));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    TensorView in(x.data(), DType::kF32, {batch, 3});
    TensorView out[2] = {TensorView(y.data(), DType::kF32, {batch * 2}), TensorView()};
    Status s = session->run(Span<const TensorView>(&in, 1), out);
    ASSERT_TRUE(s.ok()) << s.message();
    for (int64_t i = 0; i < batch; ++i) {
      float a = x[i * 3], b = x[i * 3 + 1], c = x[i * 3 + 2];
      float h0 = a * 1 + b * 3 + c * 5 - 30, h1 = a * 2 + b * 4 + c * 6 + 0.5f;
      EXPECT_EQ(y[i * 2], h0 > 0 ? h0 : 0);
      EXPECT_EQ(y[i * 2 + 1], h1);
    }
    EXPECT_EQ(out[1].shape, (Shape{batch, 2}));  // the session's own memory
    EXPECT_EQ(memcmp(out[1].data, y.data(), y.size() * 4), 0);
  }
  EXPECT_STREQ(l.program->labels()[1], "dog");
  EXPECT_STREQ(l.program->find_metadata("author"), "me");
  EXPECT_EQ(l.program->provenance().seed, 7u);
}

}  // namespace
}  // namespace wick
