// Edges of functions beyond the function rows (tests/functions): kinks, ties, zeros, empty and
// 0-dim tensors, values that one dtype holds and another does not. Expected values are PyTorch's,
// unless a comment says otherwise.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;

constexpr double kInf = constants::inf, kNan = constants::nan;

Tensor leaf(std::initializer_list<double> values) {
  return tensor<double>(values).requires_grad_();
}

std::vector<double> numbers(const Tensor& t) {
  if (!t.defined()) return {-12345};
  return t.detach().to(DType::kF64).to_vector<double>();
}

void expect_numbers(const Tensor& t, const std::vector<double>& want, const char* what) {
  const std::vector<double> got = numbers(t);
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << "[" << i << "] is " << got[i] << ", not NaN";
    } else {
      EXPECT_DOUBLE_EQ(got[i], want[i]) << what << "[" << i << "]";
    }
  }
}
#define EXPECT_NUMBERS(t, ...) expect_numbers(t, {__VA_ARGS__}, #t)

// The gradient of sum(y) to x.
Tensor slope(const Tensor& y, const Tensor& x) { return grad({sum(y)}, {x})[0]; }

// Returns the part of an error before the line number.
std::string text_of(const std::function<void()>& f) {
  std::string text = error_of(f);
  return text.substr(0, text.rfind(" ("));
}

TEST(FunctionEdges, ConstantRowHasNoSlopeInStd) {
  Tensor x = leaf({1, 1, 1});
  EXPECT_NUMBERS(slope(wick::std(x), x), 0, 0, 0);
  Tensor rows = tensor<double>({{1, 1}, {1, 2}}).requires_grad_();
  EXPECT_NUMBERS(slope(std_mean(rows, 1).first, rows), 0, 0, -M_SQRT1_2, M_SQRT1_2);
  // too few to divide by stays NaN
  EXPECT_NUMBERS(wick::std(leaf({1})), kNan);
  EXPECT_TRUE(std::isnan(slope(wick::std(leaf({1})) * x, x).raw().as<double>()[0]));
}

TEST(FunctionEdges, NormOfSmallPowersAtZero) {
  for (auto f : {+[](const Tensor& x, double p) { return norm(x, p); },
                 +[](const Tensor& x, double p) { return linalg::vector_norm(x, p); }}) {
    Tensor x = leaf({0, 4});
    EXPECT_NUMBERS(slope(f(x, 0.5), x), 0, 1);
    EXPECT_NUMBERS(f(x, 0.5), 4);
    EXPECT_NUMBERS(slope(f(x, -1), x), 0, 0);
    EXPECT_NUMBERS(f(x, -1), 0);
    EXPECT_NUMBERS(slope(f(x, 1.5), x), 0, 1);
    Tensor none = leaf({0, 0});
    for (double p : {0.5, 1.5, 2.0, 3.0}) EXPECT_NUMBERS(slope(f(none, p), none), 0, 0);
    EXPECT_NUMBERS(f(leaf({kInf, kInf}), -1), kInf);
  }
}

TEST(FunctionEdges, SixteenBitDrawsStayBelowOne) {
  for (DType t : {DType::kBF16, DType::kF16}) {
    manual_seed(3);
    Tensor like = ones({40000}, t);
    EXPECT_EQ(sum(bernoulli(like).to(DType::kF64)).item(), 40000) << dtype_name(t);
    EXPECT_EQ(sum(bernoulli(zeros({40000}, t)).to(DType::kF64)).item(), 0);
    const double below = 1 - finfo(t).eps / 2;  // 255 / 256, 2047 / 2048
    EXPECT_EQ(max(rand_like(like)).item(), below) << dtype_name(t);
    EXPECT_EQ(min(rand_like(like)).item(), 0);
    Tensor x = zeros({40000}, t);
    EXPECT_EQ(max(uniform_(x)).item(), below);
    EXPECT_NEAR(mean(rand_like(like).to(DType::kF64)).item(), 0.5, 0.01);
    EXPECT_NEAR(mean(bernoulli(full({40000}, 0.3, t)).to(DType::kF64)).item(), 0.3, 0.01);
    Tensor drawn = rand({40000}, t);
    EXPECT_EQ(drawn.dtype(), t);
    EXPECT_EQ(max(drawn).item(), below);
    EXPECT_NEAR(mean(uniform({40000}, -3, 1, t).to(DType::kF64)).item(), -1, 0.05);
    Tensor bell = randn({40000}, t);
    EXPECT_EQ(bell.dtype(), t);
    EXPECT_NEAR(mean(bell.to(DType::kF64)).item(), 0, 0.02);
  }
  // a draw is one stream, whatever the dtype
  manual_seed(3);
  rand({8}, DType::kBF16);
  randn({8}, DType::kF16);
  EXPECT_EQ(default_generator().stream, 2u);
}

TEST(FunctionEdges, CatAndStackPromote) {
  Tensor narrow = tensor<float>({1, 2}).requires_grad_(), wide = leaf({3, 4});
  Tensor y = cat({narrow, wide});
  EXPECT_EQ(y.dtype(), DType::kF64);
  EXPECT_NUMBERS(y, 1, 2, 3, 4);
  EXPECT_EQ(slope(y * 2, narrow).dtype(), DType::kF32);
  EXPECT_NUMBERS(slope(y * 2, narrow), 2, 2);
  EXPECT_EQ(cat({ones({2}, DType::kI64), ones({2}, DType::kF16)}).dtype(), DType::kF16);
  EXPECT_EQ(cat({ones({2}, DType::kF16), ones({2}, DType::kBF16)}).dtype(), DType::kF32);
  EXPECT_EQ(cat({ones({2}, DType::kBool), ones({2}, DType::kU8), ones({2}, DType::kI8)}).dtype(),
            DType::kI16);
  EXPECT_EQ(stack({ones({}, DType::kI64), ones({}, DType::kF32)}).dtype(), DType::kF32);
  EXPECT_EQ(hstack({ones({2}), ones({1}, DType::kF64)}).dtype(), DType::kF64);
  EXPECT_EQ(vstack({ones({2}), ones({2}, DType::kF64)}).dtype(), DType::kF64);

  // a vector of no elements fits everywhere, its dtype counts
  Tensor joined = cat({zeros({0}, DType::kF64), ones({2, 3})}, 1);
  EXPECT_EQ(joined.raw_shape(), (Shape{2, 3}));
  EXPECT_EQ(joined.dtype(), DType::kF64);
  EXPECT_EQ(cat({ones({2, 3}), zeros({0}), ones({2, 1})}, -1).raw_shape(), (Shape{2, 4}));
  EXPECT_EQ(cat({zeros({0}), zeros({0})}).raw_shape(), (Shape{0}));

  EXPECT_EQ(text_of([] {
              stack({ones({2}), ones({3})});
            }),
            "[stack] the tensors must have one shape, got [2] and, at place 1, [3]");
  EXPECT_EQ(text_of([] { stack(std::vector<Tensor>()); }), "[stack] needs at least one tensor");
}

TEST(FunctionEdges, EinsumOverEmptyDims) {
  EXPECT_EQ(einsum("abk,kc->abc", {zeros({2, 0, 5}), zeros({5, 7})}).raw_shape(), (Shape{2, 0, 7}));
  Tensor x = zeros({2, 3, 0, 4}).requires_grad_(), w = zeros({5, 0, 4});
  Tensor y = einsum("abij,cij->abc", {x, w});
  EXPECT_EQ(y.raw_shape(), (Shape{2, 3, 5}));
  EXPECT_EQ(sum(y).item(), 0);
  EXPECT_EQ(slope(y, x).raw_shape(), x.raw_shape());
  EXPECT_EQ(einsum("nabk,nkc->nabc", {zeros({0, 2, 3, 5}), zeros({0, 5, 7})}).raw_shape(),
            (Shape{0, 2, 3, 7}));
}

TEST(FunctionEdges, ItemOfWideIntegers) {
  const uint64_t top = UINT64_MAX, odd = (uint64_t{1} << 60) + 1;
  EXPECT_EQ(tensor(std::vector<uint64_t>{top}).item<uint64_t>(), top);
  EXPECT_EQ(tensor(std::vector<uint64_t>{odd}).item<uint64_t>(), odd);
  EXPECT_EQ(tensor(std::vector<uint64_t>{odd}).item_int(), static_cast<int64_t>(odd));
  EXPECT_EQ(text_of([] { tensor(std::vector<uint64_t>{UINT64_MAX}).item_int(); }),
            "[item_int] 1.844674e+19 is no value of int64");
  EXPECT_EQ(tensor<int64_t>({INT64_MIN}).item<int64_t>(), INT64_MIN);
  EXPECT_EQ(tensor<double>({-7.9}).item<int>(), -7);
  // Python's int() of them raises too
  EXPECT_EQ(text_of([] { tensor<double>({kNan}).item_int(); }),
            "[item_int] nan is no value of int64");
  EXPECT_EQ(text_of([] { tensor<float>({1e30f}).item<int64_t>(); }),
            "[item_int] 1.000000e+30 is no value of int64");
}

TEST(FunctionEdges, BatchNormWithOneRunningStatistic) {
  Tensor x = tensor<float>({{1, 2}, {3, 6}, {5, 10}});
  Tensor mean_now = zeros({2}), var_now = ones({2});
  batch_norm(x, mean_now, Tensor(), Tensor(), Tensor(), true, 0.5, 1e-5);
  EXPECT_NUMBERS(mean_now, 1.5, 3);
  batch_norm(x, Tensor(), var_now, Tensor(), Tensor(), true, 0.5, 1e-5);
  EXPECT_NUMBERS(var_now, 2.5, 8.5);
  Tensor image = tensor<float>({1, 3}).reshape({1, 1, 2}), channel = zeros({1});
  instance_norm(image, channel, Tensor(), Tensor(), Tensor(), true, 0.5, 1e-5);
  EXPECT_NUMBERS(channel, 1);
  EXPECT_EQ(
      text_of([&] { batch_norm(x, mean_now, Tensor(), Tensor(), Tensor(), false, 0.5, 1e-5); }),
      "[batch_norm] evaluation needs running_mean and running_var");
}

TEST(FunctionEdges, ClampByTensorsAtABound) {
  Tensor x = leaf({1, 2, 3, 0, 9, kNan}), lo = leaf({1, 1, 1, 1, 1, 1}),
         hi = leaf({3, 3, 3, 3, 3, 3});
  Tensor y = clamp(x, lo, hi);
  EXPECT_NUMBERS(y, 1, 2, 3, 1, 3, kNan);
  EXPECT_NUMBERS(slope(clamp(x, lo, hi), x).slice(0, 0, 5), 1, 1, 1, 0, 0);
  EXPECT_NUMBERS(slope(clamp(x, lo, hi), lo), 0, 0, 0, 1, 0, 0);
  EXPECT_NUMBERS(slope(clamp(x, lo, hi), hi), 0, 0, 0, 0, 1, 0);
  EXPECT_NUMBERS(clamp(leaf({1, 2}), leaf({kNan, 0}), leaf({3, kNan})), kNan, kNan);
  EXPECT_NUMBERS(clamp(leaf({1, 5}), leaf({4, 4}), leaf({2, 2})), 2, 2);  // max wins
  EXPECT_EQ(clamp(tensor<int64_t>({1, 5}), tensor<float>({2.5f}), Tensor()).dtype(), DType::kF32);
}

TEST(FunctionEdges, ClampOfWideIntegers) {
  const int64_t odd = (int64_t{1} << 53) + 1;
  Tensor x = tensor<int64_t>({INT64_MAX, 5, INT64_MIN});
  EXPECT_EQ(clamp(x, OptScalar(), odd).to_vector<int64_t>(),
            (std::vector<int64_t>{odd, 5, INT64_MIN}));
  EXPECT_EQ(clamp(x, -odd, odd).to_vector<int64_t>(), (std::vector<int64_t>{odd, 5, -odd}));
  EXPECT_EQ(clamp_min(x, odd).to_vector<int64_t>(), (std::vector<int64_t>{INT64_MAX, odd, odd}));
}

TEST(FunctionEdges, PowToTheExponent) {
  Tensor a = leaf({-2, 0, 0, 0, 2}), b = leaf({2, 2, 0, -1, 3});
  EXPECT_NUMBERS(slope(pow(a, b), b), kNan, 0, 0, -kInf, 8 * M_LN2);
}

TEST(FunctionEdges, KinksOfActivations) {
  Tensor x = leaf({0, 6, 3, kNan, 7, -1});
  EXPECT_NUMBERS(relu6(x), 0, 6, 3, kNan, 6, 0);
  EXPECT_NUMBERS(slope(relu6(x), x), 0, 0, 1, 1, 0, 0);
  Tensor h = leaf({-1, 1, 0.5, kNan, -2, 2});
  EXPECT_NUMBERS(hardtanh(h), -1, 1, 0.5, kNan, -1, 1);
  EXPECT_NUMBERS(slope(hardtanh(h), h), 0, 0, 1, 1, 0, 0);
  {
    DualLevel level;
    Tensor dual = make_dual(tensor<double>({0, 6, 3}), ones({3}, DType::kF64));
    EXPECT_NUMBERS(unpack_dual(relu6(dual)).tangent, 0, 0, 1);
  }
  // At 3 PyTorch gives 1 in whole vectors and 1.5 in the remainder; Wick gives 1.
  Tensor s = leaf({-3, 3, -4, 4});
  EXPECT_NUMBERS(slope(hardswish(s), s), -0.5, 1, 0, 1);
}

TEST(FunctionEdges, TiesAndZerosInGradients) {
  Tensor x = leaf({1, 2, 2, 3, 2});
  EXPECT_NUMBERS(median(x), 2);
  EXPECT_NUMBERS(slope(median(x), x), 0, 1. / 3, 1. / 3, 0, 1. / 3);
  Tensor n = leaf({1, 2, kNan, 3, kNan});
  EXPECT_NUMBERS(slope(median(n), n), 0, 0, 0.5, 0, 0.5);
  Tensor m = leaf({1, 2, kNan, 2, kNan});
  EXPECT_NUMBERS(slope(nanmedian(m), m), 0, 0.5, 0, 0.5, 0);

  Tensor c = leaf({0, -0., 1, -2});
  Tensor signs = copysign(c, tensor<double>({-1, 1, -1, 1}));
  EXPECT_NUMBERS(signs, -0., 0, -1, 2);
  EXPECT_TRUE(std::signbit(numbers(signs)[0]));
  EXPECT_NUMBERS(slope(signs, c), 0, 0, -1, -1);

  Tensor p = leaf({1, 3, 0}), q = leaf({0, 2, 0});
  for (const char* mode : {"floor", "trunc"}) {
    EXPECT_NUMBERS(div(p, q, mode), kInf, 1, kNan);
    EXPECT_NUMBERS(slope(div(p, q, mode), p), 0, 0, 0);
    EXPECT_NUMBERS(slope(div(p, q, mode), q), 0, 0, 0);
  }
  EXPECT_NUMBERS(heaviside(tensor<double>({kNan, 0, 1, -1}), tensor<double>({0.5})), 0, 0.5, 1, 0);

  // PyTorch 1.13's: y's gradient is x / y, and x's is 0 where x is 0 and y no more.
  Tensor u = leaf({0, 0, 2}), v = leaf({0, -1, 4});
  EXPECT_NUMBERS(xlogy(u, v), 0, 0, 2 * std::log(4.));
  EXPECT_NUMBERS(slope(xlogy(u, v), u), 0, 0, std::log(4.));
  EXPECT_NUMBERS(slope(xlogy(u, v), v), kNan, 0, 0.5);
}

TEST(FunctionEdges, LstsqRefusesDependentColumns) {
  EXPECT_EQ(text_of([] {
              linalg::lstsq(ones({3, 2}), ones({3, 1}));
            }),
            "[lstsq] [3,2] has not full rank: pinv(a) times b gives the shortest solution");
  EXPECT_EQ(text_of([] {
              linalg::lstsq(zeros({2, 3}), ones({2, 1}));
            }),
            "[lstsq] [2,3] has not full rank: pinv(a) times b gives the shortest solution");
  Tensor one_bad = stack({eye(2, DType::kF64), ones({2, 2}, DType::kF64)});
  EXPECT_NE(error_of([&] { linalg::lstsq(one_bad, ones({2, 2, 1}, DType::kF64)); }), "no error");
  // ill conditioned, but of full rank
  Tensor a = tensor({{1., 1.}, {1., 1 + 1e-8}}, DType::kF64);
  Tensor x = linalg::lstsq(a, tensor({2., 2 + 1e-8}, DType::kF64).view({2, 1})).solution;
  EXPECT_NEAR(numbers(x)[0], 1, 1e-6);
  EXPECT_EQ(linalg::lstsq(zeros({0, 3, 2}), zeros({0, 3, 1})).solution.raw_shape(),
            (Shape{0, 2, 1}));
}

TEST(FunctionEdges, ViewAsElementsOfAnotherSize) {
  Tensor x = tensor<int32_t>({{1, 2}, {65536, 4}});
  Tensor halves = x.view(DType::kI16);
  EXPECT_EQ(halves.raw_shape(), (Shape{2, 4}));
  EXPECT_NUMBERS(halves.reshape({-1}), 1, 0, 2, 0, 0, 1, 4, 0);
  halves.select(1, 0).fill_(7);
  EXPECT_NUMBERS(x.reshape({-1}), 7, 2, 65536 + 7, 4);
  EXPECT_TRUE(halves.view(DType::kI32).equal(x));
  EXPECT_EQ(x.view(DType::kI64).raw_shape(), (Shape{2, 1}));
  EXPECT_NUMBERS(x.slice(0, 1, 2).view(DType::kU8).reshape({-1}), 7, 0, 1, 0, 4, 0, 0, 0);
  EXPECT_EQ(ones({4, 4}).slice(1, 0, 2).view(DType::kF16).raw().strides[0], 8);
  auto why = [](const Tensor& t, DType to) { return text_of([&] { t.view(to); }); };
  EXPECT_EQ(why(ones({2, 3}, DType::kI16), DType::kI32),
            "[view] int16[2,3] as int32, elements of another size: the last dimension, 3, must be "
            "divisible by 2");
  EXPECT_EQ(why(ones({}), DType::kF64),
            "[view] float32[] as float64, elements of another size: needs a dimension");
  EXPECT_EQ(why(ones({2, 4}).t(), DType::kF64),
            "[view] float32[4,2] as float64, elements of another size: the last stride must be 1; "
            "call contiguous() first");
  EXPECT_EQ(why(ones({6}).slice(0, 1, 5), DType::kF64),
            "[view] float32[4] as float64, elements of another size: the offset, 1, must be "
            "divisible by 2");
  EXPECT_EQ(why(ones({2, 3}).slice(1, 0, 2), DType::kF64),
            "[view] float32[2,2] as float64, elements of another size: a stride, 3, must be "
            "divisible by 2");
}

TEST(FunctionEdges, DimensionOfMaxIsAnyInteger) {
  const int64_t dim = 1;
  ValuesIndices most = max(tensor<float>({{1, 3, 2}}), dim), least = min(ones({2, 3}), dim, true);
  EXPECT_NUMBERS(most.values, 3);
  EXPECT_NUMBERS(most.indices, 1);
  EXPECT_EQ(least.values.raw_shape(), (Shape{2, 1}));
}

TEST(FunctionEdges, DetOfNoMatrices) {
  Tensor a = zeros({0, 3, 3}, DType::kF64).requires_grad_();
  sum(linalg::det(a)).backward();
  EXPECT_EQ(a.grad().raw_shape(), (Shape{0, 3, 3}));
}

TEST(FunctionEdges, BracesOfNothing) {
  EXPECT_EQ(tensor<float>({}).raw_shape(), (Shape{0}));
  EXPECT_EQ(tensor<float>({{}}).raw_shape(), (Shape{1, 0}));
}

TEST(FunctionEdges, ErrorsNameTheFunctionCalled) {
  Tensor x = ones({3}), far = tensor<int64_t>({7});
  EXPECT_EQ(text_of([&] { scatter(x, 0, far, tensor<float>({1})); }).substr(0, 10), "[scatter] ");
  EXPECT_EQ(text_of([&] { scatter_add(x, 0, far, tensor<float>({1})); }).substr(0, 14),
            "[scatter_add] ");
  EXPECT_EQ(text_of([&] { scatter_reduce(x, 0, far, tensor<float>({1}), "sum"); }).substr(0, 17),
            "[scatter_reduce] ");
}

TEST(FunctionEdges, AnInputThatWasNeverMade) {
  const Tensor u, x = ones({2, 3});
  const std::string never = "undefined: it was never made";
  EXPECT_EQ(text_of([&] { linear(u, x); }), "[linear] input 0 is required, and " + never);
  EXPECT_EQ(text_of([&] { matmul(x, u); }), "[matmul] input 1 is required, and " + never);
  EXPECT_EQ(text_of([&] { softmax(u, 0); }), "[softmax] input 0 is required, and " + never);
  EXPECT_EQ(text_of([&] { nn::Linear(3, 4)(u); }), "[linear] input 0 is required, and " + never);
  EXPECT_EQ(text_of([&] { cat({x, u}); }), "[cat] the tensor at place 1 is " + never);
  EXPECT_EQ(text_of([&] { cat({u, x}); }), "[cat] the tensor at place 0 is " + never);
  EXPECT_EQ(text_of([&] { stack({x, u}); }), "[stack] the tensor at place 1 is " + never);
  EXPECT_EQ(text_of([&] { meshgrid({ones({2}), u}); }), "[meshgrid] a tensor is " + never);
}

TEST(FunctionEdges, SizesThatWouldTakeForever) {
  const Tensor x = ones({3}), matrix = ones({3, 3}), line = ones({1, 1, 3});
  EXPECT_EQ(text_of([&] { diag(x, int64_t{1} << 31); }),
            "[diag_embed] shape [2147483651,2147483651] is too large");
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_NE(text_of([&] { diag(x, kLeast); }).find("is too large"), std::string::npos);
  EXPECT_NE(text_of([&] { diag_embed(x, 1 << 24); }).find("cannot allocate"), std::string::npos);
  EXPECT_EQ(diag(matrix, int64_t{1} << 62).raw_shape(), Shape{0});
  EXPECT_EQ(diag(matrix, kLeast).raw_shape(), Shape{0});
  EXPECT_NUMBERS(diag(tensor<float>({{1, 2}, {3, 4}, {5, 6}}), -1), 3, 6);
  EXPECT_NUMBERS(diag(tensor<float>({1, 2}), -1), 0, 0, 0, 1, 0, 0, 0, 2, 0);
  EXPECT_EQ(
      text_of([&] { adaptive_avg_pool1d(line, 1'000'000); }),
      "[adaptive_avg_pool1d] 1000000 windows along dim 2 of [1,1,3]: at most 65536 where they "
      "do not divide it; interpolate() makes a tensor larger");
  EXPECT_NE(text_of([&] {
              adaptive_max_pool2d(ones({1, 1, 3, 3}), Pair(2, 100'000));
            }).find("100000 windows along dim 3"),
            std::string::npos);
  EXPECT_EQ(adaptive_avg_pool1d(ones({1, 1, 200'000}), 100'000).raw_shape(),
            (Shape{1, 1, 100'000}));
}

// Only a name that is a function is advised.
TEST(FunctionEdges, AdviceAfterAWriteNamesAFunction) {
  auto advice = [](const std::function<void(const Tensor&)>& write) {
    Tensor x = leaf({1, 2}), h = x * 2;
    Tensor y = h * h;
    write(h);
    std::string text = error_of([&] { sum(y).backward(); });
    const size_t from = text.find("Use "), to = text.find("clone()");
    return from == std::string::npos || to == std::string::npos ? text
                                                                : text.substr(from, to - from);
  };
  EXPECT_EQ(advice([](const Tensor& h) { h.add_(1); }), "Use add(), or ");
  EXPECT_EQ(advice([](const Tensor& h) { h.exp_(); }), "Use exp(), or ");
  EXPECT_EQ(advice([](const Tensor& h) { h.masked_fill_(gt(h, 0), 1); }), "Use masked_fill(), or ");
  EXPECT_EQ(advice([](const Tensor& h) { h.zero_(); }), "Use ");
  EXPECT_EQ(advice([](const Tensor& h) { h.fill_(3); }), "Use ");
  EXPECT_EQ(advice([](const Tensor& h) { h.copy_(zeros({2})); }), "Use ");
}

TEST(FunctionEdges, MasksOfBytesAndBoundsOfDraws) {
  EXPECT_NUMBERS(where(tensor<uint8_t>({1, 0, 2}), tensor<float>({1, 2, 3}), 9), 1, 9, 3);
  Tensor bytes = zeros({3}, DType::kU8);
  EXPECT_EQ(text_of([&] { randint_like(bytes, 0, 300); }),
            "[randint_like] [0, 300) reaches out of uint8");
  EXPECT_EQ(text_of([&] { random_(bytes, -1, 5); }), "[random_] [-1, 5) reaches out of uint8");
  EXPECT_EQ(text_of([&] { randint_like(zeros({3}, DType::kBool), 0, 3); }),
            "[randint_like] [0, 3) reaches out of bool");
  randint_like(bytes, 0, 256);
  random_(bytes);
  random_(zeros({3}, DType::kI64));
  random_(zeros({3}, DType::kI8));
}

TEST(FunctionEdges, NumbersAlongADimension) {
  Tensor x = leaf({3}).reshape({});
  EXPECT_EQ(index_select(x, 0, tensor<int64_t>({0})).raw_shape(), Shape{});
  EXPECT_EQ(index_select(x, -1, tensor<int64_t>({0})).item(), 3);
  EXPECT_EQ(argmax(x, 0).raw_shape(), Shape{});
  EXPECT_EQ(argmax(x, -1, true).raw_shape(), Shape{});
  EXPECT_EQ(argmin(x, 0).item_int(), 0);
  EXPECT_EQ(text_of([&] { argmax(x, 1); }), "[argmax] dim 1 out of range for rank 1");
}

}  // namespace
}  // namespace wick
