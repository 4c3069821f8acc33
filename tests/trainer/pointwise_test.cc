// Pointwise functions, conversions, random numbers and printing beyond what the function rows
// (tests/functions) compare with PyTorch: texts of errors, bits, distributions, memory.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tests/support/error_of.h"
#include "trainer/tensor/print.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;

constexpr double kInf = constants::inf, kNan = constants::nan;

// What precedes the line in an error.
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
  EXPECT_EQ(text_of([&] { mean(i); }),
            "[mean] needs a floating-point tensor, got int32: give a dtype, mean(x, dims, keepdim, "
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
      "[requires_grad_] only Tensors of floating point dtype can require gradients, got int32");
  EXPECT_EQ(text_of([&] { f.item(); }),
            "[item] only a tensor of size 1 can be converted to a C++ number, got [2]");
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
  Tensor x = tensor({kNan, kInf, -kInf, 300., -300., 2.9, -2.9});
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
    Tensor x = tensor({1000., 1001., -1000.}).to(t).requires_grad_();
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
  Tensor x = tensor({6, 7, 8}), view = x.slice(0, 1, 3);
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

// What libm says, to the last bits: float32 draws are its rounding.
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
  Tensor w = tensor({1., 0., 3.});
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
              multinomial(tensor({1., -1.}), 1, true, g);
            }),
            "[multinomial] a weight is negative, infinite or NaN");
  EXPECT_EQ(text_of([&] { bernoulli_(empty({2}), 1.5, g); }),
            "[bernoulli_] needs a probability from 0 to 1, got 1.500000");
}

// -- printing

TEST(Print, SizesAndOptions) {
  EXPECT_EQ(size_text({2, 3}), "Size([2, 3])");
  EXPECT_EQ(size_text({}), "Size([])");
  set_printoptions({.precision = 2});
  EXPECT_EQ(tensor({1.12345f}).to_string(), "tensor([1.12])");
  set_printoptions({.threshold = 5});
  EXPECT_EQ(arange(10).to_string(), "tensor([0, 1, 2,  ..., 7, 8, 9])");
  set_printoptions({.sci_mode = true});
  EXPECT_EQ(tensor({1.5f}).to_string(), "tensor([1.5000e+00])");
  set_printoptions({});
  EXPECT_EQ(tensor({1.12345f}).to_string(), "tensor([1.1235])");
  std::ostringstream out;
  out << tensor({1.5f}) << " " << Shape{2};
  EXPECT_EQ(out.str(), "tensor([1.5000]) Size([2])");
  EXPECT_EQ(info(ones({2, 3}).t()),
            "shape [3, 2], strides [1, 3], float32, 24 bytes, not contiguous");
}

TEST(Print, IsPyTorchsToTheLetter) {
  Tensor leaf = tensor({1.f, 2.f}).requires_grad_();
  const struct {
    Tensor tensor;
    const char* text;
  } kCases[] = {
      // Written by PyTorch 1.13: what print(tensor) says.
      {tensor({{1.f, 2.f}, {3.f, 4.5f}}),
       R"(tensor([[1.0000, 2.0000],
        [3.0000, 4.5000]]))"},
      {tensor({1.f, 2.f, 3.f}), R"(tensor([1., 2., 3.]))"},
      {tensor({1., 2.5}), R"(tensor([1.0000, 2.5000], dtype=torch.float64))"},
      {tensor({1, -20, 300}), R"(tensor([  1, -20, 300], dtype=torch.int32))"},
      {arange(12).reshape({3, 4}),
       R"(tensor([[ 0,  1,  2,  3],
        [ 4,  5,  6,  7],
        [ 8,  9, 10, 11]]))"},
      {tensor({true, false}), R"(tensor([ True, False]))"},
      {tensor(3.5f), R"(tensor(3.5000))"},
      {tensor(3.f), R"(tensor(3.))"},
      {tensor(int64_t{7}), R"(tensor(7))"},
      {tensor({1e-5f, 1.f}), R"(tensor([1.0000e-05, 1.0000e+00]))"},
      {tensor({1e-5f, 1e-5f}), R"(tensor([1.0000e-05, 1.0000e-05]))"},
      {tensor({1e9f, 1.f}), R"(tensor([1.0000e+09, 1.0000e+00]))"},
      {tensor({1000.f, 0.5f}), R"(tensor([1.0000e+03, 5.0000e-01]))"},
      {tensor({1001.f, 1.f}), R"(tensor([1.0010e+03, 1.0000e+00]))"},
      {tensor({-1.5f, 0.25f, 100.f}), R"(tensor([ -1.5000,   0.2500, 100.0000]))"},
      {tensor({static_cast<float>(kNan), 1.f, static_cast<float>(kInf), -static_cast<float>(kInf)}),
       R"(tensor([nan, 1., inf, -inf]))"},
      {tensor({static_cast<float>(kNan), 1.5f, -static_cast<float>(kInf)}),
       R"(tensor([   nan, 1.5000,   -inf]))"},
      {tensor({static_cast<float>(kNan), static_cast<float>(kInf)}), R"(tensor([nan, inf]))"},
      {tensor({0.f, -0.f}), R"(tensor([0., -0.]))"},
      {zeros({0, 3}), R"(tensor([], size=(0, 3)))"},
      {zeros({0}), R"(tensor([]))"},
      {zeros({0}, DType::kI64), R"(tensor([], dtype=torch.int64))"},
      {zeros({2, 0, 3}, DType::kF64), R"(tensor([], size=(2, 0, 3), dtype=torch.float64))"},
      {arange(2000).to(DType::kF32),
       R"(tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,
        1.9990e+03]))"},
      {arange(2000), R"(tensor([   0,    1,    2,  ..., 1997, 1998, 1999]))"},
      {arange(10000).reshape({100, 100}),
       R"(tensor([[   0,    1,    2,  ...,   97,   98,   99],
        [ 100,  101,  102,  ...,  197,  198,  199],
        [ 200,  201,  202,  ...,  297,  298,  299],
        ...,
        [9700, 9701, 9702,  ..., 9797, 9798, 9799],
        [9800, 9801, 9802,  ..., 9897, 9898, 9899],
        [9900, 9901, 9902,  ..., 9997, 9998, 9999]]))"},
      {arange(24).reshape({2, 3, 4}).to(DType::kF32),
       R"(tensor([[[ 0.,  1.,  2.,  3.],
         [ 4.,  5.,  6.,  7.],
         [ 8.,  9., 10., 11.]],

        [[12., 13., 14., 15.],
         [16., 17., 18., 19.],
         [20., 21., 22., 23.]]]))"},
      {arange(16).reshape({2, 2, 2, 2}),
       R"(tensor([[[[ 0,  1],
          [ 2,  3]],

         [[ 4,  5],
          [ 6,  7]]],


        [[[ 8,  9],
          [10, 11]],

         [[12, 13],
          [14, 15]]]]))"},
      {arange(40).to(DType::kF32) * 1.25,
       R"(tensor([ 0.0000,  1.2500,  2.5000,  3.7500,  5.0000,  6.2500,  7.5000,  8.7500,
        10.0000, 11.2500, 12.5000, 13.7500, 15.0000, 16.2500, 17.5000, 18.7500,
        20.0000, 21.2500, 22.5000, 23.7500, 25.0000, 26.2500, 27.5000, 28.7500,
        30.0000, 31.2500, 32.5000, 33.7500, 35.0000, 36.2500, 37.5000, 38.7500,
        40.0000, 41.2500, 42.5000, 43.7500, 45.0000, 46.2500, 47.5000, 48.7500]))"},
      {arange(30),
       R"(tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]))"},
      {tensor({1.f, 2.f}).to(DType::kF16), R"(tensor([1., 2.], dtype=torch.float16))"},
      {tensor({1.1f, 2.f}).to(DType::kBF16), R"(tensor([1.1016, 2.0000], dtype=torch.bfloat16))"},
      {tensor({1, 2}).to(DType::kU8), R"(tensor([1, 2], dtype=torch.uint8))"},
      {arange(20000).reshape({10, 20, 100}).to(DType::kF64),
       R"(tensor([[[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.7000e+01,
          9.8000e+01, 9.9000e+01],
         [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.9700e+02,
          1.9800e+02, 1.9900e+02],
         [2.0000e+02, 2.0100e+02, 2.0200e+02,  ..., 2.9700e+02,
          2.9800e+02, 2.9900e+02],
         ...,
         [1.7000e+03, 1.7010e+03, 1.7020e+03,  ..., 1.7970e+03,
          1.7980e+03, 1.7990e+03],
         [1.8000e+03, 1.8010e+03, 1.8020e+03,  ..., 1.8970e+03,
          1.8980e+03, 1.8990e+03],
         [1.9000e+03, 1.9010e+03, 1.9020e+03,  ..., 1.9970e+03,
          1.9980e+03, 1.9990e+03]],

        [[2.0000e+03, 2.0010e+03, 2.0020e+03,  ..., 2.0970e+03,
          2.0980e+03, 2.0990e+03],
         [2.1000e+03, 2.1010e+03, 2.1020e+03,  ..., 2.1970e+03,
          2.1980e+03, 2.1990e+03],
         [2.2000e+03, 2.2010e+03, 2.2020e+03,  ..., 2.2970e+03,
          2.2980e+03, 2.2990e+03],
         ...,
         [3.7000e+03, 3.7010e+03, 3.7020e+03,  ..., 3.7970e+03,
          3.7980e+03, 3.7990e+03],
         [3.8000e+03, 3.8010e+03, 3.8020e+03,  ..., 3.8970e+03,
          3.8980e+03, 3.8990e+03],
         [3.9000e+03, 3.9010e+03, 3.9020e+03,  ..., 3.9970e+03,
          3.9980e+03, 3.9990e+03]],

        [[4.0000e+03, 4.0010e+03, 4.0020e+03,  ..., 4.0970e+03,
          4.0980e+03, 4.0990e+03],
         [4.1000e+03, 4.1010e+03, 4.1020e+03,  ..., 4.1970e+03,
          4.1980e+03, 4.1990e+03],
         [4.2000e+03, 4.2010e+03, 4.2020e+03,  ..., 4.2970e+03,
          4.2980e+03, 4.2990e+03],
         ...,
         [5.7000e+03, 5.7010e+03, 5.7020e+03,  ..., 5.7970e+03,
          5.7980e+03, 5.7990e+03],
         [5.8000e+03, 5.8010e+03, 5.8020e+03,  ..., 5.8970e+03,
          5.8980e+03, 5.8990e+03],
         [5.9000e+03, 5.9010e+03, 5.9020e+03,  ..., 5.9970e+03,
          5.9980e+03, 5.9990e+03]],

        ...,

        [[1.4000e+04, 1.4001e+04, 1.4002e+04,  ..., 1.4097e+04,
          1.4098e+04, 1.4099e+04],
         [1.4100e+04, 1.4101e+04, 1.4102e+04,  ..., 1.4197e+04,
          1.4198e+04, 1.4199e+04],
         [1.4200e+04, 1.4201e+04, 1.4202e+04,  ..., 1.4297e+04,
          1.4298e+04, 1.4299e+04],
         ...,
         [1.5700e+04, 1.5701e+04, 1.5702e+04,  ..., 1.5797e+04,
          1.5798e+04, 1.5799e+04],
         [1.5800e+04, 1.5801e+04, 1.5802e+04,  ..., 1.5897e+04,
          1.5898e+04, 1.5899e+04],
         [1.5900e+04, 1.5901e+04, 1.5902e+04,  ..., 1.5997e+04,
          1.5998e+04, 1.5999e+04]],

        [[1.6000e+04, 1.6001e+04, 1.6002e+04,  ..., 1.6097e+04,
          1.6098e+04, 1.6099e+04],
         [1.6100e+04, 1.6101e+04, 1.6102e+04,  ..., 1.6197e+04,
          1.6198e+04, 1.6199e+04],
         [1.6200e+04, 1.6201e+04, 1.6202e+04,  ..., 1.6297e+04,
          1.6298e+04, 1.6299e+04],
         ...,
         [1.7700e+04, 1.7701e+04, 1.7702e+04,  ..., 1.7797e+04,
          1.7798e+04, 1.7799e+04],
         [1.7800e+04, 1.7801e+04, 1.7802e+04,  ..., 1.7897e+04,
          1.7898e+04, 1.7899e+04],
         [1.7900e+04, 1.7901e+04, 1.7902e+04,  ..., 1.7997e+04,
          1.7998e+04, 1.7999e+04]],

        [[1.8000e+04, 1.8001e+04, 1.8002e+04,  ..., 1.8097e+04,
          1.8098e+04, 1.8099e+04],
         [1.8100e+04, 1.8101e+04, 1.8102e+04,  ..., 1.8197e+04,
          1.8198e+04, 1.8199e+04],
         [1.8200e+04, 1.8201e+04, 1.8202e+04,  ..., 1.8297e+04,
          1.8298e+04, 1.8299e+04],
         ...,
         [1.9700e+04, 1.9701e+04, 1.9702e+04,  ..., 1.9797e+04,
          1.9798e+04, 1.9799e+04],
         [1.9800e+04, 1.9801e+04, 1.9802e+04,  ..., 1.9897e+04,
          1.9898e+04, 1.9899e+04],
         [1.9900e+04, 1.9901e+04, 1.9902e+04,  ..., 1.9997e+04,
          1.9998e+04, 1.9999e+04]]], dtype=torch.float64))"},
      {leaf, R"(tensor([1., 2.], requires_grad=True))"},
      {leaf * 2, R"(tensor([2., 4.], grad_fn=<MulBackward0>))"},
      {sum(leaf), R"(tensor(3., grad_fn=<SumBackward0>))"},
      {ones({3, 30}),
       R"(tensor([[1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.,
         1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.,
         1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.,
         1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.]]))"},
      {full({3, 8}, 1234.5678).to(DType::kF64),
       R"(tensor([[1234.5677, 1234.5677, 1234.5677, 1234.5677, 1234.5677, 1234.5677,
         1234.5677, 1234.5677],
        [1234.5677, 1234.5677, 1234.5677, 1234.5677, 1234.5677, 1234.5677,
         1234.5677, 1234.5677],
        [1234.5677, 1234.5677, 1234.5677, 1234.5677, 1234.5677, 1234.5677,
         1234.5677, 1234.5677]], dtype=torch.float64))"},
  };
  for (const auto& c : kCases) EXPECT_EQ(c.tensor.to_string(), c.text);
}

TEST(Pointwise, HypotNeitherOverflowsNorVanishes) {
  auto y = hypot(tensor({3e200, 3e-200}), tensor({4e200, 4e-200})).to_vector<double>();
  EXPECT_DOUBLE_EQ(y[0], 5e200);
  EXPECT_DOUBLE_EQ(y[1], 5e-200);
}

}  // namespace
}  // namespace wick
