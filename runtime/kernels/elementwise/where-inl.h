// SIMD bodies of Where, once per target: elements are selected by their size alone, whatever their
// dtype.
#if defined(WICK_KERNELS_WHERE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_WHERE_INL_H_
#undef WICK_KERNELS_WHERE_INL_H_
#else
#define WICK_KERNELS_WHERE_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class U>
void choose(const uint8_t* c, const void* x, bool repeat_x, const void* y, bool repeat_y, void* z,
            size_t n) {
  const hn::ScalableTag<U> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const size_t lanes = hn::Lanes(d);
  const U *px = static_cast<const U*>(x), *py = static_cast<const U*>(y);
  U* pz = static_cast<U*>(z);
  auto vx = hn::Set(d, px[0]), vy = hn::Set(d, py[0]);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if (!repeat_x) vx = hn::LoadU(d, px + i);
    if (!repeat_y) vy = hn::LoadU(d, py + i);
    const auto wanted = hn::Ne(hn::PromoteTo(d, hn::LoadU(bytes, c + i)), hn::Zero(d));
    hn::StoreU(hn::IfThenElse(wanted, vx, vy), d, pz + i);
  }
  for (; i < n; ++i) pz[i] = c[i] != 0 ? px[repeat_x ? 0 : i] : py[repeat_y ? 0 : i];
}

static ChooseBody find_choose32() { return choose<uint32_t>; }
static ChooseBody find_choose16() { return choose<uint16_t>; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
