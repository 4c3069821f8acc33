// Pointwise functions, conversions and random numbers beyond what the function rows
// (tests/functions) compare with PyTorch: texts of errors, bits, distributions, memory.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "trainer/tensor/print.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;

constexpr double kInf = constants::inf, kNan = constants::nan;

// Returns the part of an error before the line number.
std::string text_of(const std::function<void()>& f) {
  std::string text = error_of(f);
  return text.substr(0, text.rfind(" ("));
}

TEST(Pointwise, RefusalsSayWhatToDo) {
  Tensor b = tensor({true, false}), i = tensor({1, 0}), f = tensor({1.f, 2.f});
  EXPECT_EQ(text_of([&] { b - b; }),
            "[sub] a bool tensor has no -: use ^ or logical_xor() of two, ~ or logical_not() to "
            "invert a mask");
  EXPECT_EQ(text_of([&] { 1 - b; }),
            "[sub] a bool tensor has no -: use ^ or logical_xor() of two, ~ or logical_not() to "
            "invert a mask");
  EXPECT_EQ(text_of([&] { -b; }),
            "[neg] a bool tensor has no -: use ~ or logical_not() to invert a mask");
  EXPECT_EQ(text_of([&] { pow(i, -1); }),
            "[pow] integers to a negative integer power: make the base a float");
  const std::string by_zero =
      "integer division by zero: the divisor [2] holds a 0 (floats would give inf)";
  EXPECT_EQ(text_of([&] { floor_divide(i, i); }), "[floor_divide] " + by_zero);
  EXPECT_EQ(text_of([&] { i % i; }), "[remainder] " + by_zero);
  EXPECT_EQ(text_of([&] { fmod(i, i); }), "[fmod] " + by_zero);
  EXPECT_EQ(text_of([&] { div(i, i, "trunc"); }), "[div] " + by_zero);
  EXPECT_EQ(text_of([&] { div(f, f, "round"); }),
            "[div] rounding_mode must be \"trunc\" or \"floor\", got \"round\"");
  EXPECT_EQ(text_of([&] { matmul(b, b); }), "[matmul] needs a numeric tensor, got bool");
  EXPECT_EQ(text_of([&] { softmax(i, 0); }), "[softmax] needs a floating-point tensor, got int64");
  EXPECT_EQ(text_of([&] { mean(i); }),
            "[mean] needs a floating-point tensor, got int64: give a dtype, mean(x, dims, keepdim, "
            "DType::kF32)");
  EXPECT_EQ(text_of([&] { max(empty({0})); }),
            "[max] dimension 0 of [0] is empty: it has no extremum");
  EXPECT_EQ(text_of([&] {
              amin(empty({2, 0}), 1);
            }),
            "[amin] dimension 1 of [2,0] is empty: it has no extremum");
  EXPECT_EQ(text_of([&] { sum(f, {0, -1}); }), "[sum] dimension 0 is listed twice");
  EXPECT_EQ(text_of([&] { f& f; }), "[bitwise_and] needs integers or bools, got float32");
  EXPECT_EQ(text_of([&] { clamp(f, OptScalar()); }), "[clamp] needs a min, a max or both");
  EXPECT_EQ(text_of([&] { full({2}, 1, DType::kU64) + full({2}, 1, DType::kI64); }),
            "[add] promotion of uint64 with int64 is not defined: cast one");
  EXPECT_EQ(
      text_of([&] { i.requires_grad_(); }),
      "[requires_grad_] only Tensors of floating point dtype can require gradients, got int64");
  EXPECT_EQ(text_of([&] { f.item(); }),
            "[item] only a tensor of size 1 can be converted to a C++ number, got [2]");
}

// docs/numerics.md says what a reduction of nothing is.
TEST(Pointwise, ReductionsOfNothing) {
  const Tensor x = empty({2, 0}).requires_grad_();
  const auto all = [](const Tensor& y, float want) {
    EXPECT_EQ(y.raw_shape(), (Shape{2}));
    for (float v : y.to_vector<float>())
      EXPECT_TRUE(std::isnan(want) ? std::isnan(v) : v == want) << v;
  };
  all(sum(x, {1}), 0);
  all(prod(x, {1}), 1);
  all(mean(x, {1}), NAN);
  all(var(x, {1}), NAN);
  all(logsumexp(x, {1}), -INFINITY);
  all(norm(x, 1, {1}), 0);
  all(norm(x, 2, {1}), 0);
  EXPECT_EQ(grad({sum(mean(x, {1}))}, {x})[0].raw_shape(), x.raw_shape());
}

// A composite speaks with its own name and the caller's line.
TEST(Pointwise, CompositesNameThemselvesAndTheCaller) {
  Tensor a = ones({2, 3}), b = ones({4, 5});
  std::string text = error_of([&] { logaddexp(a, b); });
  EXPECT_EQ(text.rfind("[logaddexp] ", 0), 0U) << text;
  EXPECT_NE(text.find("(pointwise_test.cc:" + std::to_string(__LINE__ - 2) + ")"),
            std::string::npos)
      << text;
}

TEST(Pointwise, WideUnsignedPromote) {
  EXPECT_EQ(promote_types(DType::kU16, DType::kI32), DType::kI32);
  EXPECT_EQ(promote_types(DType::kU32, DType::kI64), DType::kI64);
  EXPECT_EQ(promote_types(DType::kU16, DType::kU64), DType::kU64);
  EXPECT_EQ(promote_types(DType::kU64, DType::kF16), DType::kF16);
  EXPECT_EQ(promote_types(DType::kBool, DType::kU32), DType::kU32);
  EXPECT_EQ((full({2}, 3, DType::kU64) + 1).dtype(), DType::kU64);
  EXPECT_EQ((full({2}, 3, DType::kU64) + 1.5).dtype(), DType::kF32);
  EXPECT_TRUE(can_cast(DType::kI64, DType::kF16));
  EXPECT_FALSE(can_cast(DType::kF16, DType::kI64));
  EXPECT_FALSE(can_cast(DType::kI8, DType::kBool));
}

// S01: each dtype is made, filled, printed, measured and promoted.
TEST(Pointwise, EveryDTypeIsMadeFilledPrintedAndPromoted) {
  const struct {
    DType dtype;
    size_t bytes;
    const char *type, *printed;
  } kTable[] = {
      {DType::kBool, 1, "BoolTensor", "tensor([True, True])"},
      {DType::kI8, 1, "CharTensor", "tensor([1, 1], dtype=torch.int8)"},
      {DType::kU8, 1, "ByteTensor", "tensor([1, 1], dtype=torch.uint8)"},
      {DType::kI16, 2, "ShortTensor", "tensor([1, 1], dtype=torch.int16)"},
      {DType::kU16, 2, "UInt16Tensor", "tensor([1, 1], dtype=torch.uint16)"},
      {DType::kI32, 4, "IntTensor", "tensor([1, 1], dtype=torch.int32)"},
      {DType::kU32, 4, "UInt32Tensor", "tensor([1, 1], dtype=torch.uint32)"},
      {DType::kI64, 8, "LongTensor", "tensor([1, 1])"},
      {DType::kU64, 8, "UInt64Tensor", "tensor([1, 1], dtype=torch.uint64)"},
      {DType::kF32, 4, "FloatTensor", "tensor([1., 1.])"},
      {DType::kF64, 8, "DoubleTensor", "tensor([1., 1.], dtype=torch.float64)"},
  };
  for (const auto& row : kTable) {
    Tensor x = zeros({2}, row.dtype);
    EXPECT_EQ(x.dtype(), row.dtype);
    EXPECT_EQ(itemsize(row.dtype), row.bytes) << row.type;
    EXPECT_EQ(x.nbytes(), 2 * row.bytes) << row.type;
    EXPECT_STREQ(type_name(x), row.type);
    x.fill_(1);
    EXPECT_EQ(x.to_string(), row.printed);
    EXPECT_EQ((x + x).dtype(), row.dtype) << row.type;
    EXPECT_EQ(promote_types(DType::kBool, row.dtype), row.dtype) << row.type;
    const DType wide = row.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    EXPECT_EQ(promote_types(row.dtype, DType::kF32), wide) << row.type;
    EXPECT_EQ(x.to(DType::kF64).to(row.dtype).to_string(), row.printed);
  }
}

TEST(Pointwise, DTypesDescribeThemselves) {
  EXPECT_STREQ(type_name(ones({1})), "FloatTensor");
  EXPECT_STREQ(type_name(DType::kI64), "LongTensor");
  EXPECT_EQ(itemsize(DType::kBF16), 2U);
  EXPECT_EQ(finfo(DType::kF16).max, 65504);
  EXPECT_EQ(finfo(DType::kF32).eps, std::ldexp(1.0, -23));
  EXPECT_EQ(finfo(DType::kF64).max, std::numeric_limits<double>::max());
  EXPECT_EQ(finfo(DType::kBF16).tiny, std::ldexp(1.0, -126));
  EXPECT_EQ(iinfo(DType::kI8).min, -128);
  EXPECT_EQ(iinfo(DType::kU64).max, UINT64_MAX);
  EXPECT_EQ(iinfo(DType::kI64).max, static_cast<uint64_t>(INT64_MAX));
}

// Every bit pattern to float32 and back; and every float32 midpoint between neighbours to even.
TEST(Pointwise, HalvesRoundToNearestEven) {
  for (DType t : {DType::kF16, DType::kBF16}) {
    std::vector<uint16_t> bits(65536);
    for (size_t k = 0; k < bits.size(); ++k) bits[k] = static_cast<uint16_t>(k);
    Tensor all = from_blob(bits.data(), {65536}, t);
    Tensor back = all.to(DType::kF32).to(t);
    const auto* p = static_cast<const uint16_t*>(back.raw().data);
    std::vector<float> f = all.to(DType::kF32).to_vector<float>();
    int checked = 0;
    for (size_t k = 0; k < 65536; ++k) {
      if (std::isnan(f[k])) continue;
      ASSERT_EQ(p[k], bits[k]) << dtype_name(t);
      if (k % 32768 == 32767 || std::isinf(f[k]) || std::isinf(f[k + 1])) continue;
      // between pattern k and its neighbour of larger magnitude
      float middle = static_cast<float>((static_cast<double>(f[k]) + f[k + 1]) / 2);
      Tensor near =
          tensor({middle, std::nextafter(middle, f[k]), std::nextafter(middle, f[k + 1])});
      if (k % 97 != 0) continue;  // a tensor each is slow; every 97th pattern
      const auto near_bits = near.to(t);
      const auto* q = static_cast<const uint16_t*>(near_bits.raw().data);
      ASSERT_EQ(q[0], k % 2 == 0 ? k : k + 1) << dtype_name(t) << " " << middle;
      ASSERT_EQ(q[1], k);
      ASSERT_EQ(q[2], k + 1);
      ++checked;
    }
    EXPECT_GT(checked, 500);
  }
}

// PyTorch leaves these undefined; here they are the numeric contract's.
TEST(Pointwise, FloatsToIntegersSaturate) {
  Tensor x = tensor({kNan, kInf, -kInf, 300., -300., 2.9, -2.9}, DType::kF64);
  EXPECT_EQ(x.to(DType::kI8).to_vector<int8_t>(),
            (std::vector<int8_t>{0, 127, -128, 127, -128, 2, -2}));
  EXPECT_EQ(x.to(DType::kU8).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 255, 0, 255, 0, 2, 0}));
  EXPECT_EQ(x.to(DType::kI64).to_vector<int64_t>(),
            (std::vector<int64_t>{0, INT64_MAX, INT64_MIN, 300, -300, 2, -2}));
}

// A million times 0.1: the contract's order keeps the error small where a running sum does not.
TEST(Pointwise, SumsOfManySmallNumbers) {
  constexpr int64_t kN = 1000000;
  Tensor x = full({kN}, 0.1);
  double exact = static_cast<double>(0.1f) * kN;
  float running = 0;
  for (int64_t i = 0; i < kN; ++i) running += 0.1f;
  double ours = std::fabs(sum(x).item() - exact), plain = std::fabs(running - exact);
  printf(
      "sum of 1e6 times 0.1f: error %.3g, of a running float sum %.3g; float16 %g, bfloat16 %g\n",
      ours, plain, sum(x.to(DType::kF16)).item(), sum(x.to(DType::kBF16)).item());
  // 4096 / 16 additions a lane, 4 to combine lanes, 245 blocks: (256 + 4 + 245) eps at most
  EXPECT_LT(ours, exact * 505 * std::ldexp(1.0, -24));
  EXPECT_GT(plain, 100 * ours);
  // one rounding of the sum in float32
  EXPECT_EQ(sum(full({1000}, 0.1, DType::kF16)).item(),
            static_cast<double>(
                sum(full({1000}, 0.1, DType::kF16).to(DType::kF32)).to(DType::kF16).item()));
}

TEST(Pointwise, ExtremesMakeNoNan) {
  for (DType t : {DType::kF32, DType::kF64}) {
    Tensor x = tensor({1000., 1001., -1000.}, DType::kF64).to(t).requires_grad_();
    for (auto f :
         {+[](const Arg& a) { return softmax(a, 0); },
          +[](const Arg& a) { return log_softmax(a, 0); }, +[](const Arg& a) { return sigmoid(a); },
          +[](const Arg& a) { return tanh(a); }, +[](const Arg& a) { return gelu(a); },
          +[](const Arg& a) { return gelu(a, "tanh"); }, +[](const Arg& a) { return softplus(a); },
          +[](const Arg& a) { return logsigmoid(a); }, +[](const Arg& a) { return mish(a); },
          +[](const Arg& a) { return logsumexp(a, 0); }, +[](const Arg& a) { return relu(a); }}) {
      x.set_grad(Tensor());
      Tensor y = f(x);
      EXPECT_TRUE(all(isfinite(y)).item()) << y;
      sum(y * y).backward();
      EXPECT_FALSE(any(isnan(x.grad())).item()) << x.grad();
    }
  }
}

// -- out

TEST(Pointwise, OutTakesTheBytesThereAre) {
  Tensor a = tensor({1.f, 2.f}), b = tensor({3.f, 4.f}), out = empty({2});
  const void* bytes = out.raw().data;
  uint32_t version = out.version();
  const Tensor& result = add_out(out, a, b);
  EXPECT_TRUE(result.is_same(out));
  EXPECT_EQ(out.raw().data, bytes);
  EXPECT_GT(out.version(), version);
  EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{4, 6}));
  // no block is taken: a tensor of the same size made before and after are neighbours in the cache
  const uint64_t before = ones({1}).id();
  mul_out(out, a, b);
  exp_out(out, a);
  EXPECT_EQ(ones({1}).id(), before + 1) << "an intermediate tensor was made";
  // overlapping, strided and converting outs go through a result
  add_out(a, a, a);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{2, 4}));
  Tensor wide = empty({2}, DType::kF64);
  add_out(wide, b, b);
  EXPECT_EQ(wide.to_vector<double>(), (std::vector<double>{6, 8}));
  EXPECT_EQ(text_of([&] { add_out(empty({3}), b, b); }),
            "[add_out] the result is [2], out is [3]: out must have the result's shape");
  EXPECT_EQ(text_of([&] { add_out(empty({2}, DType::kI32), b, b); }),
            "[add_out] result type float32 can't be cast to the desired output type int32");
  Tensor leaf = ones({2}).requires_grad_();
  EXPECT_EQ(text_of([&] { add_out(out, leaf, b); }),
            "[add_out] a result written to out is not recorded, and one of the tensors requires "
            "grad: use NoGrad, detach(), or the form without out");
  EXPECT_EQ(text_of([&] {
              sum_out(leaf, ones({2, 2}), 0);
            }),
            "[sum_out] a result written to out is not recorded, and one of the tensors requires "
            "grad: use NoGrad, detach(), or the form without out");
}

TEST(Pointwise, CompoundAssignmentWritesInPlace) {
  Tensor x = tensor({6, 7, 8}, DType::kI32), view = x.slice(0, 1, 3);
  view += 1;
  view *= 2;
  x %= 10;
  x <<= 1;
  x |= 1;
  EXPECT_EQ(x.to_vector<int32_t>(), (std::vector<int32_t>{13, 13, 17}));
  EXPECT_EQ(text_of([&] { x += 0.5; }),
            "[add_] result type float32 can't be cast to the desired output type int32");
}

// -- conversions

TEST(Pointwise, TensorsBecomeNumbersListsAndRows) {
  Tensor x = arange(6).reshape({2, 3});
  auto lists = tolist<int64_t, 2>(x);
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[1], (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(len(x), 2);
  int64_t total = 0;
  for (Tensor row : x) total = total * 100 + sum(row).item<int64_t>();
  EXPECT_EQ(total, 312);
  for (Tensor row : x) row += 1;  // views
  EXPECT_EQ(sum(x).item<int64_t>(), 21);
  EXPECT_EQ(static_cast<double>(tensor(2.5)), 2.5);
  EXPECT_EQ(static_cast<int64_t>(tensor(int64_t{1} << 60)), int64_t{1} << 60);
  EXPECT_TRUE(static_cast<bool>(tensor(true)));
  EXPECT_EQ(text_of([&] { len(tensor(1)); }), "[len] a 0-dim tensor has no length");
}

// -- random numbers

TEST(Random, StateIsSavedAndRestoredMidStream) {
  Generator g{42, 0};
  rand({3}, DType::kF32, g);
  Tensor state = g.get_state();
  std::vector<float> first = randn({5}, DType::kF32, g).to_vector<float>();
  rand({3}, DType::kF32, g);
  g.set_state(state);
  EXPECT_EQ(randn({5}, DType::kF32, g).to_vector<float>(), first);
  EXPECT_EQ(g.initial_seed(), 42U);
  EXPECT_EQ(text_of([&] { g.set_state(ones({3})); }),
            "[set_state] needs what get_state() gave: uint8[16]");
  manual_seed(7);
  Tensor saved = get_rng_state();
  double a = rand({1}).item();
  set_rng_state(saved);
  EXPECT_EQ(rand({1}).item(), a);
  EXPECT_EQ(initial_seed(), 7U);
  uint64_t fresh = seed();
  EXPECT_EQ(initial_seed(), fresh);
  EXPECT_NE(seed(), fresh);
  manual_seed(0);
}

TEST(Random, SameSeedSameBitsWhateverTheThreads) {
  auto draw = [] {
    Generator g{3, 0};
    std::vector<float> v = normal(1, 2, {1000}, DType::kF32, g).to_vector<float>();
    for (float x : rand({1000}, DType::kF32, g).to_vector<float>()) v.push_back(x);
    Tensor e = empty({1000});
    exponential_(e, 2, g);
    for (float x : e.to_vector<float>()) v.push_back(x);
    return v;
  };
  std::vector<float> one = draw();
  set_num_threads(2);
  EXPECT_EQ(draw(), one);
  set_num_threads(1);
}

TEST(Random, MomentsAndChiSquare) {
  constexpr int64_t kN = 1000000;
  Generator g{1234, 0};
  auto moments = [](const Tensor& t, double mean_want, double var_want) {
    double m = mean(t).item(), v = var(t).item();
    EXPECT_NEAR(m, mean_want, 5 * std::sqrt(var_want / kN));
    EXPECT_NEAR(v, var_want, var_want * 0.01);
  };
  Tensor u = rand({kN}, DType::kF64, g), n = randn({kN}, DType::kF64, g),
         e = empty({kN}, DType::kF64);
  moments(u, 0.5, 1.0 / 12);
  moments(n, 0, 1);
  moments(exponential_(e, 2, g), 0.5, 0.25);
  // skewness and kurtosis of the normal
  EXPECT_NEAR(mean(n * n * n).item(), 0, 5 * std::sqrt(15.0 / kN));
  EXPECT_NEAR(mean(n * n * n * n).item(), 3, 5 * std::sqrt(96.0 / kN));
  // 100 bins, 99 degrees of freedom: 148.2 is exceeded once in 1000 draws, 40 on the other side
  auto chi = [&](const std::vector<int64_t>& bins) {
    std::vector<double> count(100);
    for (int64_t b : bins) count[static_cast<size_t>(b)] += 1;
    double sum = 0;
    for (double c : count) sum += (c - kN / 100.0) * (c - kN / 100.0) / (kN / 100.0);
    return sum;
  };
  double uniform_chi = chi((u * 100).to(DType::kI64).to_vector<int64_t>());
  double normal_chi =
      chi(clamp(floor((1 + erf(n * M_SQRT1_2)) * 50), 0, 99).to(DType::kI64).to_vector<int64_t>());
  double int_chi = chi(randint(0, 100, {kN}, g).to_vector<int64_t>());
  for (double c : {uniform_chi, normal_chi, int_chi}) {
    EXPECT_GT(c, 55);
    EXPECT_LT(c, 149);
  }
  Tensor b = bernoulli(full({kN}, 0.3), g);
  EXPECT_NEAR(mean(b).item(), 0.3, 5 * std::sqrt(0.21 / kN));
}

// libm's values to the last bits; float32 draws are these, rounded.
TEST(Random, NormalIsBoxMuller) {
  Generator g{9, 0};
  std::vector<double> n = randn({2000}, DType::kF64, g).to_vector<double>();
  for (size_t i = 0; i < n.size(); i += 2) {
    auto w = philox(9, 0, i / 2);
    auto unit = [](uint32_t hi, uint32_t lo) {
      return static_cast<double>((uint64_t{hi} << 32 | lo) >> 11) * 0x1p-53;
    };
    double r = std::sqrt(-2 * std::log(1 - unit(w[0], w[1]))), a = 2 * M_PI * unit(w[2], w[3]);
    EXPECT_NEAR(n[i], r * std::cos(a), 4e-15);
    EXPECT_NEAR(n[i + 1], r * std::sin(a), 4e-15);
  }
}

TEST(Random, MultinomialFollowsItsWeights) {
  Generator g{5, 0};
  Tensor w = tensor({1., 0., 3.}, DType::kF64);
  std::vector<int64_t> picks = multinomial(w, 40000, true, g).to_vector<int64_t>();
  double threes = 0;
  for (int64_t p : picks) {
    ASSERT_NE(p, 1);
    threes += p == 2 ? 1 : 0;
  }
  EXPECT_NEAR(threes / 40000, 0.75, 0.011);
  for (int k = 0; k < 50; ++k) {
    std::vector<int64_t> both = multinomial(w, 2, false, g).to_vector<int64_t>();
    EXPECT_EQ(both[0] + both[1], 2);
    EXPECT_NE(both[0], both[1]);
  }
  EXPECT_EQ(text_of([&] { multinomial(w, 3, false, g); }),
            "[multinomial] 2 weights are not 0: too few for 3 samples without replacement");
  EXPECT_EQ(text_of([&] {
              multinomial(tensor({1., -1.}, DType::kF64), 1, true, g);
            }),
            "[multinomial] a weight is negative, infinite or NaN");
  EXPECT_EQ(text_of([&] { bernoulli_(empty({2}), 1.5, g); }),
            "[bernoulli_] needs a probability from 0 to 1, got 1.500000");
}

TEST(Pointwise, HypotNeitherOverflowsNorVanishes) {
  auto y = hypot(tensor({3e200, 3e-200}, DType::kF64), tensor({4e200, 4e-200}, DType::kF64))
               .to_vector<double>();
  EXPECT_DOUBLE_EQ(y[0], 5e200);
  EXPECT_DOUBLE_EQ(y[1], 5e-200);
}

// A masked branch is not evaluated: far from 0 the series of sinc overflows, and a power of 0 does
// not need the reciprocal of its base.
TEST(PointwiseGrad, OfSincIsFiniteForAnyArgument) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const double most = dtype == DType::kF16 ? 1e4 : dtype == DType::kF64 ? 1e300 : 1e37;
    for (double at : {0.0, 1e-7, 0.05, 0.11, 28.0, 300.0, 7e3, 7e9, 1e20, most}) {
      if (at > most) continue;
      Tensor x = full({}, at, dtype).requires_grad_();
      Tensor y = sinc(x);
      y.backward();
      EXPECT_TRUE(std::isfinite(x.grad().item())) << dtype_name(dtype) << " " << at;
      EXPECT_LE(std::abs(x.grad().item()), 2) << dtype_name(dtype) << " " << at;
      NoGrad guard;
      EXPECT_EQ(y.item(), sinc(x).item()) << "with a gradient, " << dtype_name(dtype) << " " << at;
    }
  }
}

// The second derivative is that of float64, also where the quotient's terms cancel.
TEST(PointwiseGrad, OfSincBendsEvenlyAroundZero) {
  for (double at : {1e-30, 1e-12, 1e-6, 1e-4, 1e-3, 1e-2, 0.09, 0.11, 0.3}) {
    Tensor x = full({}, at, DType::kF32).requires_grad_();
    Tensor slope = grad({sinc(x)}, {x}, {}, true, true)[0];
    const double second = grad({slope}, {x})[0].item(), z = M_PI * at;
    const double want =
        at < 0.2
            ? M_PI * M_PI * (-1.0 / 3 + z * z / 10 - z * z * z * z / 168)
            : M_PI * M_PI *
                  (-std::sin(z) / z - 2 * std::cos(z) / (z * z) + 2 * std::sin(z) / (z * z * z));
    EXPECT_NEAR(second, want, 1e-4) << at;
    EXPECT_NEAR(slope.item() / at, M_PI * M_PI * (-1.0 / 3 + z * z / 30), 2e-2) << at;
  }
}

// prelu as a formula: away from 0 its values and gradients have the op's bits.
TEST(PointwiseGrad, OfPReluIsThatOfItsFormula) {
  Generator g{5, 0};
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (int64_t slopes : {4, 1}) {
      const auto some = [&](const Shape& s) { return uniform(s, -1, 1, dtype, g); };
      const Tensor x = some({3, 4, 5}).requires_grad_(), w = some({slopes}).requires_grad_();
      const Tensor of = some({3, 4, 5}), u = some({3, 4, 5}), v = some({slopes});
      const auto first = [&](const Tensor& y) { return grad({y}, {x, w}, {of}, true, true); };
      const auto second = [&](const std::vector<Tensor>& d) {
        return grad({sum(d[0] * u) + sum(d[1] * v)}, {x, w});
      };
      const Tensor got = prelu(x, w), want = where(gt(x, 0), x, x * w.reshape({1, slopes, 1}));
      const std::vector<Tensor> a = first(got), b = first(want), aa = second(a), bb = second(b);
      EXPECT_TRUE(equal(got, want));
      for (size_t i : {0, 1}) {
        EXPECT_TRUE(equal(a[i], b[i])) << i;
        EXPECT_TRUE(allclose(aa[i], bb[i], 1e-4, 1e-6)) << i;
      }
    }
  }
}

// The value at 0 is x itself; its slope is that of the negative numbers, as in PyTorch.
TEST(PointwiseGrad, OfPReluAtZeroIsTheSlope) {
  const Tensor x = tensor({0.f, -0.f, 2.f, -3.f}).requires_grad_();
  const Tensor w = tensor({-0.5f}).requires_grad_();
  const Tensor y = prelu(x, w);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 0, 2, 1.5}));
  EXPECT_FALSE(std::signbit(y.to_vector<float>()[0]));
  EXPECT_TRUE(std::signbit(y.to_vector<float>()[1]));
  y.sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{-0.5, -0.5, 1, -0.5}));
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{-3}));
  EXPECT_TRUE(std::isnan(prelu(tensor({static_cast<float>(kNan)}), w).item()));
  EXPECT_EQ(text_of([&] { prelu(tensor({true}), tensor({true})); }),
            "[prelu] needs a numeric tensor, got bool");
}

TEST(PointwiseGrad, OfAPowerOfZeroIsZeroForAnyBase) {
  const double inf = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
    Tensor a =
        tensor({0., -0., 6e-8, 1e-40, 4e-320, 2., -3., inf, std::nan("")}, DType::kF64).to(dtype);
    a = a.detach().requires_grad_();
    sum(pow(a, 0.0)).backward();
    for (double g : a.grad().to(DType::kF64).to_vector<double>())
      EXPECT_EQ(g, 0) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace wick
