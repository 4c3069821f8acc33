// Sixty expressions on sizes, as people write them, that compile as they do with integers, each
// with its value. If one stops compiling, CHANGELOG owes its users a line.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <tuple>

#include "wick/trainer.h"

namespace wick::test {
namespace {

int64_t by_value(int64_t n) { return n; }
int64_t by_reference(const int64_t& n) { return n; }
template <class T>
T twice(T n) {
  return n * 2;
}
struct Config {
  int64_t width = 0;
  int heads = 1;
};

TEST(SizesCompile, SixtyExpressions) {
  const Tensor x = ones({4, 6, 8}), image = ones({2, 3, 8, 8});
  const bool yes = x.defined();
  // -- into integers
  const int64_t b = x.size(0);
  int t = static_cast<int>(x.size(1));
  int narrow = x.size(2);
  const size_t unsigned_size = x.size(0);
  auto [rows, columns] = std::pair<int64_t, int64_t>(x.size(0), x.size(1));
  const std::array<int64_t, 3> array = {x.size(0), x.size(1), x.size(2)};
  const std::vector<int64_t> list = {x.size(0), x.size(1)};
  const std::vector<int64_t> copied(x.shape().begin(), x.shape().end());
  const Config config{.width = x.size(2), .heads = static_cast<int>(x.size(1))};
  int64_t n = 1;
  n *= x.size(0);
  n += x.size(1);
  n = n - x.size(2);
  EXPECT_EQ(std::make_tuple(b, t, narrow, unsigned_size), std::make_tuple(4, 6, 8, 4));
  EXPECT_EQ(rows + columns + array[2] + list[1] + copied[0] + config.width + n,
            4 + 6 + 8 + 6 + 4 + 8 + 2);
  // -- arithmetic
  auto d = x.size(1);
  EXPECT_EQ(d * 2, 12);
  EXPECT_EQ(2 * d, 12);
  EXPECT_EQ(d + 1 - 2, 5);
  EXPECT_EQ(d / 4, 1);
  EXPECT_EQ(d % 4, 2);
  EXPECT_EQ(-d, -6);
  EXPECT_EQ((d + 3) / 4 * 4, 8);
  EXPECT_EQ(d * 0.5, 3.0);
  EXPECT_EQ(1.0 / d, 1.0 / 6);
  EXPECT_EQ(d / 4.0F, 1.5F);
  EXPECT_EQ(d << 1, 12);
  EXPECT_EQ(d & 3, 2);
  EXPECT_EQ(x.size(0) * x.size(1) * x.size(2), x.numel());
  EXPECT_EQ(x.numel() / x.size(0), 48);
  EXPECT_EQ(x.numel() * sizeof(float), 768U);
  d += 2;
  d -= 1;
  d *= x.size(0);
  d /= 2;
  d %= 5;
  EXPECT_EQ(d, 4);
  EXPECT_EQ(++d, 5);
  EXPECT_EQ(d--, 5);
  // -- min, max and other functions of the standard library
  EXPECT_EQ(std::max(x.size(0), int64_t{1}), 4);
  EXPECT_EQ(std::min(int64_t{3}, x.size(0)), 3);
  EXPECT_EQ(std::max(x.size(0), x.size(1)), 6);
  EXPECT_EQ(std::min<int64_t>(x.size(0), 3), 3);
  EXPECT_EQ(std::max({x.size(0), x.size(1), x.size(2)}), 8);
  EXPECT_EQ(std::clamp(x.size(2), int64_t{1}, int64_t{5}), 5);
  EXPECT_EQ(std::abs(x.size(0) - x.size(1)), 2);
  EXPECT_EQ(std::sqrt(x.size(0)), 2.0);
  EXPECT_EQ(std::pow(x.size(0), 0.5), 2.0);
  EXPECT_EQ(std::log2(x.size(2)), 3.0);
  EXPECT_EQ(std::ceil(x.size(1) / 4.0), 2.0);
  EXPECT_EQ(std::gcd(static_cast<int64_t>(x.size(0)), int64_t{6}), 2);
  EXPECT_EQ(std::to_string(x.size(0)), "4");
  // -- questions
  EXPECT_EQ(yes ? x.size(0) : 1, 4);
  EXPECT_EQ(yes ? 1 : x.size(0), 1);
  EXPECT_EQ(yes ? x.size(0) : x.size(1), 4);
  EXPECT_EQ(yes ? x.size(0) : int64_t{1}, 4);
  if (!x.size(0)) FAIL();
  if (x.size(0) == 1 || x.size(1) < 2 || 3 > x.size(2) || x.size(0) != 4) FAIL();
  if (x.size(0) >= 2 && x.size(1) <= 8U && x.size(0) != x.size(1)) n = 0;
  switch (x.size(0)) {
    case 4: n += 1; break;
    default: FAIL();
  }
  EXPECT_EQ(n, 1);
  const bool even = x.size(1) % 2 == 0, some = x.size(0);
  EXPECT_TRUE(even && some);
  // -- loops and containers
  int64_t sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += i;
  for (int i = 0; i < x.size(0); ++i) sum += i;
  for (size_t i = 0; i < x.shape().dims().size(); ++i) sum += 1;
  for (int64_t s : x.shape()) sum += s;
  for (const auto& s : x.shape()) sum += s;
  EXPECT_EQ(sum, 6 + 6 + 3 + 18 + 18);
  std::vector<float> values(x.numel());
  std::vector<Tensor> steps(x.size(1));
  std::vector<int> filled(x.size(0), 7);
  values.resize(x.size(0) * 2);
  values[x.size(0)] = 1;
  EXPECT_EQ(values.size() + steps.size() + filled.size(), 8U + 6 + 4);
  EXPECT_EQ(std::accumulate(x.shape().begin(), x.shape().end(), int64_t{1}, std::multiplies<>()),
            192);
  // -- functions
  EXPECT_EQ(by_value(x.size(0)) + by_reference(x.size(1)) + twice(x.size(2)), 26);
  auto half = [](int64_t s) { return s / 2; };
  EXPECT_EQ(half(x.size(0)), 2);
  // -- text
  std::ostringstream text;
  text << x.size(0) << " of " << x.numel();
  EXPECT_EQ(text.str(), "4 of 192");
  char printed[32];
  (void)snprintf(printed, sizeof printed, "%lld", static_cast<long long>(x.size(0)));
  EXPECT_STREQ(printed, "4");
  EXPECT_EQ(std::string(to_text(x.shape()).text), "[4,6,8]");
  // -- shapes
  Shape shape = x.shape();
  shape[0] = 2;
  auto sizes = x.shape();
  sizes[1] = x.size(0) * 2;
  EXPECT_EQ(x.shape(), (Shape{4, 6, 8}));
  EXPECT_TRUE(x.shape() == ones_like(x).shape() && shape[0] == 2 && !(sizes == x.shape()));
  EXPECT_EQ(x.shape()[1] + sizes[1], 14);
  // -- into Wick's functions
  EXPECT_EQ(zeros({x.size(0), 1, 8}).numel(), 32);
  EXPECT_EQ(zeros(sizes).size(1), 8);
  EXPECT_EQ(zeros(x.shape()).size(1), 6);
  EXPECT_EQ(zeros(shape).size(0), 2);
  EXPECT_EQ(x.view({x.size(0), -1}).size(1), 48);
  EXPECT_EQ(x.reshape({x.size(0) * x.size(1), x.size(2)}).size(0), 24);
  EXPECT_EQ(x.reshape({b, t * narrow}).size(1), 48);
  EXPECT_EQ(x.slice(1, 1, x.size(1)).size(1), 5);
  EXPECT_EQ(x.narrow(1, x.size(1) - 2, 2).size(1), 2);
  EXPECT_EQ(x.select(1, x.size(1) - 1).rank(), 2);
  EXPECT_EQ(x[x.size(0) - 1].rank(), 2);
  EXPECT_EQ(x.index({indexing::Slice(0, x.size(0) / 2)}).size(0), 2);
  EXPECT_EQ(arange(x.size(1)).size(0), 6);
  EXPECT_EQ(arange(1, x.size(1) + 1, 2).size(0), 3);
  EXPECT_EQ(linspace(0, 1, x.size(1)).size(0), 6);
  EXPECT_EQ(eye(x.size(1)).size(1), 6);
  EXPECT_EQ(full({x.size(0)}, x.size(1)).size(0), 4);
  EXPECT_EQ(tensor(x.size(1)).item_int(), 6);
  EXPECT_EQ(tensor({x.size(0), x.size(1)}).size(0), 2);
  EXPECT_EQ(repeat(x, {1, x.size(0), 1}).size(1), 24);
  EXPECT_EQ(roll(x, x.size(1) / 2, 1).size(1), 6);
  EXPECT_EQ(x.expand({x.size(0), -1, -1}).size(0), 4);
  EXPECT_EQ(topk(x, x.size(2) / 2).values.size(2), 4);
  EXPECT_EQ(pad(x, {0, x.size(0)}).size(2), 12);
  EXPECT_EQ(max_pool2d(image, image.size(2)).size(2), 1);
  EXPECT_EQ(avg_pool2d(image, {image.size(2), image.size(3)}).size(2), 1);
  EXPECT_EQ(interpolate(image, {.size = {image.size(2) * 2, 4}}).size(2), 16);
  EXPECT_EQ((x * x.size(1)).size(0), 4);
  EXPECT_EQ((x / x.size(1) + x.size(0)).size(0), 4);
  EXPECT_EQ(clamp(x, 0, x.size(0)).size(0), 4);
  EXPECT_EQ(nn::Linear(x.size(2), x.size(2) * 4)(x).size(2), 32);
  EXPECT_EQ(nn::create_causal_mask(x.size(1)).size(0), 6);
  EXPECT_EQ(split(x, x.size(1) / 2, 1).size(), 2U);
  EXPECT_EQ(layer_norm(x, {x.size(-1)}).size(2), 8);
}

}  // namespace
}  // namespace wick::test
