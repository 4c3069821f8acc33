// Kernels of whole lines (sums of repeated elements and of short rows, updates that go to lines of
// a tensor, pads that repeat their source) have the bits of the plain loops and of the formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/trainer/bits.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

using test::error_of;
using test::same_bits;
using testing::HasSubstr;
using List = std::vector<Tensor>;

struct Kernels : TraceHook {
  std::vector<std::string> seen;
  Kernels() { set_trace_hook(this); }
  ~Kernels() { set_trace_hook(nullptr); }
  void on_op(const TraceEvent& e) override { seen.emplace_back(e.kernel); }
  int64_t count(const std::string& kernel) const {
    return std::count(seen.begin(), seen.end(), kernel);
  }
};

struct Draws {
  std::mt19937 bits;
  int64_t pick(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(bits() % static_cast<uint64_t>(to - from + 1));
  }
  Shape shape(int64_t low, int64_t high, int64_t most) {
    Shape s;
    for (int64_t rank = pick(low, high); rank > 0; --rank) s.push_back(pick(1, most));
    return s;
  }
  // Some of the numbers are -0, few are not finite.
  Tensor numbers(const Shape& shape) {
    std::vector<float> v(static_cast<size_t>(numel(shape)));
    std::normal_distribution<float> normal;
    for (float& x : v) {
      const int64_t kind = pick(0, 60);
      x = kind < 20 ? -0.0f : kind == 20 ? std::nanf("") : kind == 21 ? -INFINITY : normal(bits);
    }
    return tensor(v).reshape(shape);
  }
  // Its strides are those of an expanded, a transposed or a sliced tensor.
  Tensor strided(const Shape& shape) {
    Shape from = shape;
    const int d = static_cast<int>(pick(0, shape.rank() - 1));
    switch (pick(0, 3)) {
      case 0: from[d] = 1; return numbers(from).expand(shape);
      case 1: std::swap(from[0], from[d]); return numbers(from).transpose(0, d);
      case 2: from[d] *= 2; return numbers(from).slice(d, 0, INT64_MAX, 2);
      default: return numbers({}).expand(shape);
    }
  }
  Tensor indices(int64_t count, int64_t n) {
    std::vector<int64_t> v(static_cast<size_t>(count));
    for (int64_t& i : v) i = pick(-n, n - 1);
    return tensor(v);
  }
};

// What the plain loops make of f's results, and what a recorded backward does.
void expect_same(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Draws& draws) {
  const Tensor leaf = x.clone().requires_grad_(), y = f(leaf), g = draws.strided(y.raw_shape());
  const Tensor fast = grad({y}, {leaf}, {g}, true)[0];
  const Tensor recorded = grad({y}, {leaf}, {g}, true, true)[0];
  ReferenceKernelsScope plain;
  EXPECT_TRUE(same_bits(y, f(leaf)));
  EXPECT_TRUE(same_bits(fast, grad({y}, {leaf}, {g}, true)[0]));
  EXPECT_TRUE(same_bits(fast, recorded));
}

TEST(Lines, SumsOfAnyStridesHaveTheBitsOfThePlainLoops) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Draws draws{std::mt19937(seed)};
    Shape shape = draws.shape(1, 4, 12);
    if (seed % 8 == 0) shape[0] = draws.pick(4000, 9000);
    const Tensor x = draws.strided(shape), dense = x.contiguous();
    Dims dims;
    for (int d = 0; d < shape.rank(); ++d) {
      if (draws.pick(0, 1) == 1) dims.values[dims.count++] = d;
    }
    const List got = {sum(x, dims), mean(x, dims), amax(x, dims), amin(x, dims), sum(dense, dims)};
    ReferenceKernelsScope plain;
    const List want = {sum(x, dims), mean(x, dims), amax(x, dims), amin(x, dims), sum(x, dims)};
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(same_bits(got[i], want[i])) << "seed " << seed << ", result " << i;
  }
}

TEST(Lines, IndexedLinesHaveTheBitsOfThePlainLoops) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws{std::mt19937(seed)};
    const Shape shape = draws.shape(1, 4, 12);
    const int d = static_cast<int>(draws.pick(0, shape.rank() - 1));
    const Tensor at = draws.indices(draws.pick(0, 40), shape[d]);
    if (seed % 2 == 0) {
      expect_same([&](const Tensor& x) { return index_select(x, d, at); }, draws.numbers(shape),
                  draws);
    } else {
      const int64_t times = draws.pick(1, 20);
      expect_same([&](const Tensor& x) { return repeat_interleave(x, times, d); },
                  draws.numbers(shape), draws);
    }
  }
}

TEST(Lines, PadsHaveTheBitsOfThePlainLoops) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    static constexpr const char* kModes[] = {"reflect", "replicate", "circular"};
    Draws draws{std::mt19937(seed)};
    const Shape shape = draws.shape(2, 4, 30);
    const std::string mode = kModes[seed % 3];
    const auto by = [&](int d) { return draws.pick(0, shape[d] - 1); };
    const int rank = shape.rank();
    const int64_t left = by(rank - 1), right = by(rank - 1), top = by(rank - 2), end = by(rank - 2);
    const Tensor x = draws.numbers(shape);
    expect_same([&](const Tensor& t) { return pad(t, {left, right, top, end}, mode); }, x, draws);
    // A padded line reads these elements.
    std::vector<int64_t> from;
    const int64_t n = shape[rank - 1];
    for (int64_t i = -left; i < n + right; ++i) {
      const int64_t inside = std::clamp<int64_t>(i, 0, n - 1);
      from.push_back(mode == "replicate"  ? inside
                     : mode == "circular" ? (i + n) % n
                     : i == inside        ? i
                                          : 2 * inside - i);
    }
    EXPECT_TRUE(same_bits(pad(x, {left, right}, mode), index_select(x, -1, tensor(from))));
  }
}

// A pad may be longer than the line in an ONNX file, and a negative one cuts the line before the
// other one wraps it, as in PyTorch.
TEST(Lines, PadsBeyondTheLineAndCutsReadAndAddToTheSameElements) {
  struct Case {
    PadMode mode;
    int64_t before, after;
    std::vector<int64_t> from;  // of five elements
  };
  for (const Case& c : std::initializer_list<Case>{
           {PadMode::kWrap, -1, 2, {1, 2, 3, 4, 1, 2}},
           {PadMode::kWrap, 2, -1, {2, 3, 0, 1, 2, 3}},
           {PadMode::kWrap, 3, -2, {0, 1, 2, 0, 1, 2}},
           {PadMode::kWrap, -2, 3, {2, 3, 4, 2, 3, 4}},
           {PadMode::kWrap, -4, 3, {4, 4, 4, 4}},
           {PadMode::kWrap, 7, 6, {3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0}},
           {PadMode::kReflect, -1, 2, {1, 2, 3, 4, 3, 2}},
           {PadMode::kReflect, 9, 0, {1, 0, 1, 2, 3, 4, 3, 2, 1, 0, 1, 2, 3, 4}},
           {PadMode::kReflect, 0, 10, {0, 1, 2, 3, 4, 3, 2, 1, 0, 1, 2, 3, 4, 3, 2}},
           {PadMode::kEdge, -5, 2, {4, 4}}}) {
    SCOPED_TRACE(testing::PrintToString(c.from));
    PadAttrs a;
    a.mode = static_cast<int64_t>(c.mode);
    a.axes = {-1};
    a.pads = {c.before, c.after};
    const Tensor x = randn({3, 5}).requires_grad_(), y = call(OpId::kPad, a, {x});
    const Tensor want = index_select(x, -1, tensor(c.from)), g = randn(y.raw_shape());
    EXPECT_TRUE(same_bits(y, want));
    EXPECT_TRUE(allclose(grad({y}, {x}, {g})[0], grad({want}, {x}, {g})[0]));
  }
  EXPECT_THAT(error_of([] {
                pad(randn({3, 5}), {-5, 2}, "circular");
              }),
              HasSubstr("nothing of axis 1 of [3,5] is left to wrap"));
}

TEST(Lines, HaveKernelsOfTheirOwn) {
  const Tensor x = randn({4, 6, 8}).requires_grad_();
  {
    Kernels kernels;
    sum(pad(x, {2, 2, 1, 1}, "reflect")).backward();
    EXPECT_EQ(kernels.count("scatter_elements.f32.lines"), 2);
  }
  {
    Kernels kernels;
    sum(index_select(x, 1, tensor({0, 0, 3}))).backward();
    EXPECT_EQ(kernels.count("scatter_elements.f32.lines"), 1);
  }
  Kernels kernels;
  sum(repeat_interleave(x, 3, 1)).backward();
  EXPECT_EQ(kernels.count("reduce_sum.f32.copied"), 1);
}

}  // namespace
}  // namespace wick
