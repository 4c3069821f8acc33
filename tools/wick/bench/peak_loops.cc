#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/wick/bench/peak_loops.cc"
#include "tools/wick/bench/peak_loops.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick::tool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// A CPU starts up to four multiply-adds a cycle and finishes one after four: sixteen chains keep it
// busy, and twelve where there are sixteen registers and two a cycle.
constexpr int kChains = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 ? 12 : 16;

float multiply_add(int64_t steps) {
  const D d;
  const V half = hn::Set(d, 0.5f);
  V chain[kChains];
  for (int c = 0; c < kChains; ++c) chain[c] = hn::Set(d, static_cast<float>(c));
  // Each chain comes to 1 and stays there, far from what is slow: subnormal or infinite numbers.
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) chain[c] = hn::MulAdd(chain[c], half, half);
  }
  for (int c = 1; c < kChains; ++c) chain[0] = hn::Add(chain[0], chain[c]);
  return hn::GetLane(hn::SumOfLanes(d, chain[0]));
}

float read(const float* x, int64_t count) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V a = hn::Zero(d), b = a, c = a, e = a;
  for (int64_t i = 0; i < count; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, x + i));
    b = hn::Add(b, hn::LoadU(d, x + i + lanes));
    c = hn::Add(c, hn::LoadU(d, x + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, x + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

PeakLoops loops() {
  return {multiply_add, 2.0 * kChains * static_cast<double>(hn::Lanes(D())), read};
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::tool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::tool {

HWY_EXPORT(loops);
PeakLoops peak_loops() { return HWY_DYNAMIC_DISPATCH(loops)(); }

}  // namespace wick::tool
#endif
