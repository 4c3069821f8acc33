// cummax, cummin, median, nanmedian and kthvalue find their elements by a loop over each line. They
// have the bits, places and gradients of the ops that they are made of, which a watcher sees.
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
  // Many are equal; some are -0, some are not finite.
  Tensor numbers(const Shape& shape, DType dtype, bool finite) {
    std::vector<float> v(static_cast<size_t>(numel(shape)));
    for (float& x : v) {
      const int64_t kind = pick(0, 19);
      x = kind < 4             ? -0.0f
          : finite || kind > 6 ? static_cast<float>(pick(-3, 3))
          : kind == 4          ? std::nanf("")
          : kind == 5          ? INFINITY
                               : -INFINITY;
    }
    return tensor(v).reshape(shape).to(dtype);
  }
};

List results(int64_t which, const Tensor& x, int dim, int64_t k, bool keepdim) {
  const auto both = [](const ValuesIndices& r) { return List{r.values, r.indices}; };
  switch (which) {
    case 0: return both(cummax(x, dim));
    case 1: return both(cummin(x, dim));
    case 2: return both(median(x, dim, keepdim));
    case 3: return both(nanmedian(x, dim, keepdim));
    case 4: return both(kthvalue(x, k, dim, keepdim));
    case 5: return {median(x)};
    default: return {nanmedian(x)};
  }
}

TEST(LinePlaces, HaveTheBitsOfTheOps) {
  static constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16,
                                     DType::kI64, DType::kI8,  DType::kBool};
  for (uint32_t seed = 0; seed < 700; ++seed) {
    Draws draws{std::mt19937(seed)};
    const DType dtype = kTypes[seed % 7];
    const bool floats = dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
                        dtype == DType::kBF16;
    Shape shape;
    for (int64_t rank = draws.pick(1, 3); rank > 0; --rank) shape.push_back(draws.pick(1, 9));
    if (seed % 5 == 0) shape[0] = draws.pick(100, 400);
    Tensor x = draws.numbers(shape, dtype, !floats);
    if (seed % 3 == 0) x = x.transpose(0, shape.rank() - 1);
    if (floats) x.requires_grad_();
    const int dim = static_cast<int>(draws.pick(0, shape.rank() - 1));
    const int64_t k = draws.pick(1, x.raw_shape()[dim]), which = draws.pick(0, 6);
    const bool keepdim = draws.pick(0, 1) == 1;
    const auto all = [&] {
      List list = results(which, x, dim, k, keepdim);
      if (floats) {
        const Tensor g = full_like(list[0].detach(), -2);
        list.push_back(grad({list[0]}, {x}, {g})[0]);
      }
      NoGrad guard;
      for (const Tensor& t : results(which, x, dim, k, keepdim)) list.push_back(t);
      return list;
    };
    const List got = all();
    Seen ops;
    const List want = all();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(same_bits(got[i], want[i])) << "seed " << seed << ", tensor " << i;
    EXPECT_GT(ops.calls, 8);  // the ops were visible
  }
}

}  // namespace
}  // namespace wick
