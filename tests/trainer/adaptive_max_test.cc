// adaptive_max_pool by sizes that do not divide the input's is one node, whose gradient has the
// bits of the ops that it is made of, which a watcher sees, also where x has other readers.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/trainer/bits.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using List = std::vector<Tensor>;
using test::same_bits;
using test::Seen;

struct Draws : test::Picks {
  // Many are equal or -0, few are not finite.
  Tensor numbers(const Shape& shape, DType dtype) {
    std::vector<float> v(static_cast<size_t>(numel(shape)));
    for (float& x : v) {
      const int64_t kind = pick(0, 40);
      x = kind < 12    ? -0.0f
          : kind == 12 ? std::nanf("")
          : kind == 13 ? -INFINITY
                       : 0.3f * static_cast<float>(pick(-4, 4));
    }
    return tensor(v).reshape(shape).to(dtype);
  }
};

TEST(AdaptiveMax, HasTheGradientsOfTheOps) {
  int64_t nodes = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Draws draws{std::mt19937(seed)};
    const DType dtype = seed % 4 == 0 ? DType::kF64 : DType::kF32;
    const Shape shape = {draws.pick(1, 3), draws.pick(1, 3), draws.pick(1, 12), draws.pick(1, 12)};
    const Pair size = {draws.pick(1, shape[2] + 1), draws.pick(1, shape[3])};
    const Tensor leaf = draws.numbers(shape, dtype).requires_grad_();
    const Tensor g = draws.numbers({shape[0], shape[1], size.h, size.w}, dtype);
    const Tensor others = draws.numbers(shape, dtype);
    const auto all = [&](bool create_graph) {
      const Tensor x = leaf * 1.0, y = adaptive_max_pool2d(x, size);
      if (!create_graph && y.grad_fn().name().find("AdaptiveMax") != std::string::npos) ++nodes;
      List outputs = {y}, gradients = {g};
      if (seed % 2 == 0) outputs.push_back(x * 3.0), gradients.push_back(others);
      return List{y, grad(outputs, {leaf}, gradients, create_graph, create_graph)[0]};
    };
    const List got = all(false), recorded = all(true);
    Seen ops;
    const List want = all(true);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(same_bits(got[i], want[i])) << "seed " << seed << ", tensor " << i;
      EXPECT_TRUE(same_bits(recorded[i], want[i])) << "seed " << seed << ", tensor " << i;
    }
    EXPECT_GT(ops.calls, 1);
  }
  EXPECT_GT(nodes, 150);
}

TEST(AdaptiveMax, RefusesToReadAnInputThatWasWrittenTo) {
  const Tensor x = randn({1, 1, 5, 5}).requires_grad_(), h = x * 2;
  const Tensor y = sum(adaptive_max_pool2d(h, 3));
  h.mul_(2);
  EXPECT_THROW(y.backward(), Error);
}

}  // namespace
}  // namespace wick
