// The gradients of slices of one tensor are added to their parts of one sum, with the bits of what
// the formulas say: a sum of gradients with zeros around them, as a recorded backward makes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/trainer/bits.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using List = std::vector<Tensor>;
using test::same_bits;

struct Ops : TraceHook {
  std::vector<std::string> seen;
  void on_op(const TraceEvent& e) override { seen.emplace_back(e.op); }
  int64_t count(const std::string& op) const { return std::count(seen.begin(), seen.end(), op); }
};

struct Draws : test::Picks {
  // Half of the numbers are -0; few are not finite.
  Tensor numbers(const Shape& shape, DType dtype) {
    std::vector<float> v(static_cast<size_t>(numel(shape)));
    for (float& x : v) {
      const int64_t kind = pick(0, 40);
      x = kind < 20    ? -0.0f
          : kind == 20 ? std::nanf("")
          : kind == 21 ? -INFINITY
                       : static_cast<float>(pick(-9, 9));
    }
    return tensor(v).reshape(shape).to(dtype);
  }
};

// Some slices of x, of which some overlap and some have steps, and at times all of x.
List parts_of(const Tensor& x, Draws& draws) {
  List parts;
  for (int64_t n = draws.pick(1, 6); n > 0; --n) {
    const int d = static_cast<int>(draws.pick(0, x.rank() - 1));
    const int64_t size = x.raw_shape()[d], begin = draws.pick(0, size),
                  end = draws.pick(begin, size);
    switch (draws.pick(0, 5)) {
      case 0: parts.push_back(x * 1.5); break;
      case 1:
        for (const Tensor& t : chunk(x, draws.pick(2, 4), d)) parts.push_back(t);
        break;
      case 2:
        for (const Tensor& t : unbind(x, d)) parts.push_back(t);
        break;
      case 3: parts.push_back(x.slice(d, begin, end, 2)); break;
      default: parts.push_back(x.slice(d, begin, end)); break;
    }
    if (draws.pick(0, 3) == 0) parts.erase(parts.begin());  // it gets no gradient
  }
  return parts;
}

TEST(PartSums, HaveTheBitsOfTheSumsOfWholeTensors) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Draws draws{std::mt19937(seed)};
    static constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kF64, DType::kF16,
                                       DType::kBF16};
    const DType dtype = kTypes[seed % 5];
    Shape shape;
    for (int64_t rank = draws.pick(1, 3); rank > 0; --rank) shape.push_back(draws.pick(1, 20));
    const Tensor leaf = draws.numbers(shape, dtype).requires_grad_();
    const List parts = parts_of(seed % 2 == 0 ? leaf : leaf * 1.0, draws);
    if (parts.empty()) continue;
    List g;
    for (const Tensor& t : parts) g.push_back(draws.numbers(t.raw_shape(), dtype));
    const Tensor want = grad(parts, {leaf}, g, true, true)[0];
    EXPECT_TRUE(same_bits(grad(parts, {leaf}, g, true)[0], want)) << "seed " << seed;
  }
}

TEST(PartSums, TakeNoWholeTensorForEachPart) {
  const Tensor x = randn({8, 8}).requires_grad_(), h = x * 2;
  const List parts = chunk(h, 4, 1);
  const Tensor y = sum(parts[0]) + sum(parts[1]) + sum(parts[2]) + sum(parts[3] * 3);
  Ops ops;
  set_trace_hook(&ops);
  y.backward();
  set_trace_hook(nullptr);
  EXPECT_EQ(ops.count("Pad"), 1);
  EXPECT_EQ(ops.count("Add"), 0);
}

TEST(PartSums, AreWholeWhereAHookSeesThem) {
  const Tensor x = ones({6}).requires_grad_(), h = x * 1;
  Tensor seen, of_part;
  h.register_hook([&](const Tensor& g) {
    seen = g.clone();
    return g * 10;
  });
  List parts = split(h, 2, 0);
  parts[1].register_hook([&](const Tensor& g) {
    of_part = g.clone();
    return g * 5;
  });
  sum(parts[0] * 2 + parts[1] * 3 + parts[2] * 4).backward();
  EXPECT_EQ(of_part.to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(seen.to_vector<float>(), (std::vector<float>{2, 2, 15, 15, 4, 4}));
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{20, 20, 150, 150, 40, 40}));
}

TEST(PartSums, FollowAPartThatWasWritten) {
  const Tensor x = ones({6}).requires_grad_(), h = x * 1;
  const List parts = split(h, 2, 0);
  parts[1].mul_(3);
  sum(parts[0] * 2 + parts[1] + parts[2] * 4 + h.slice(0, 0, 2)).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{3, 3, 3, 3, 4, 4}));
}

}  // namespace
}  // namespace wick
