// A million times 0.0001: the result in each dtype and with each way of adding, and a check that
// Wick's sum is within its bound. The reference is the exact sum of the numbers as stored.
#include <wick/trainer.h>

#include <cmath>
#include <cstdio>

using namespace wick;  // NOLINT: an example

constexpr int64_t kCount = 1'000'000;

static float one_by_one(const float* x) {
  float s = 0;
  for (int64_t i = 0; i < kCount; ++i) s += x[i];
  return s;
}
static float kahan(const float* x) {
  float s = 0, lost = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    float y = x[i] - lost, t = s + y;
    lost = (t - s) - y;
    s = t;
  }
  return s;
}
static float pairwise(const float* x, int64_t n) {
  if (n <= 8) {
    float s = 0;
    for (int64_t i = 0; i < n; ++i) s += x[i];
    return s;
  }
  return pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}
static double in_f64(const float* x) {
  double s = 0;
  for (int64_t i = 0; i < kCount; ++i) s += static_cast<double>(x[i]);
  return s;
}

int main() {
  Tensor small = full({kCount}, 1e-4);
  const float* x = small.data<float>();
  const double exact = static_cast<double>(kCount) * static_cast<double>(x[0]);
  auto line = [&](const char* how, double s, double truth) {
    std::printf("  %-28s %11.6f  off by %8.1e\n", how, s, std::abs(s - truth) / truth);
  };
  std::printf("float32, exact %.6f\n", exact);
  line("one by one", static_cast<double>(one_by_one(x)), exact);
  line("pairwise", static_cast<double>(pairwise(x, kCount)), exact);
  line("Kahan", static_cast<double>(kahan(x)), exact);
  line("in float64, one by one", in_f64(x), exact);
  double ours = sum(small).item();
  line("sum()", ours, exact);

  bool good = true;
  for (DType t : {DType::kF16, DType::kBF16}) {
    Tensor stored = small.to(t);
    double value = stored.slice(0, 0, 1).to(DType::kF64).item();
    std::printf("%s stores 0.0001 as %.10f\n", dtype_name(t), value);
    // Adding one by one stalls when the small number no longer changes the sum.
    Tensor s = zeros({}, t), step = stored.select(0, 0);
    int64_t n = 0;
    for (; n < kCount; ++n) {
      Tensor next = s + step;
      if (next.to(DType::kF64).item() == s.to(DType::kF64).item()) break;
      s = next;
    }
    std::printf("  one by one stops at %g after %lld of them\n", s.to(DType::kF64).item(),
                static_cast<long long>(n));
    double truth = static_cast<double>(kCount) * value, got = sum(stored).to(DType::kF64).item();
    line("sum(): added in float32", got, truth);
    // one rounding to the dtype at the end, and float32 sums far below it
    good = good && std::abs(got - truth) <= truth * (t == DType::kF16 ? 0x1p-11 : 0x1p-8) * 1.01;
  }
  // Underflow: half of the smallest number is 0.
  Tensor tiny = full({}, 6e-8).to(DType::kF16);
  std::printf("float16: %.3g, and half of it is %g\n", tiny.to(DType::kF64).item(),
              (tiny / 2).to(DType::kF64).item());

  // docs/numerics.md: 16 lanes within blocks of 4096, a tree of 4 over the lanes, block after
  // block. A number goes through no more additions than that, and each one is wrong by at most half
  // an ulp of its result.
  const double bound = (4096 / 16 + 4 + std::ceil(kCount / 4096.)) * 0x1p-24;
  std::printf("sum() in float32 is within its bound of %.1e: %s\n", bound,
              std::abs(ours - exact) <= exact * bound ? "yes" : "NO");
  return good && std::abs(ours - exact) <= exact * bound ? 0 : 1;
}
