// SIMD bodies for the rows of scores of a fused attention, once per SIMD target.
#if defined(WICK_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_ATTENTION_INL_H_
#undef WICK_KERNELS_ATTENTION_INL_H_
#else
#define WICK_KERNELS_ATTENTION_INL_H_
#endif

#include "runtime/kernels/gemm/tile_vec-inl.h"
#include "runtime/kernels/math/math-inl.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace attention {

using simd_math::DF;
using simd_math::DI;
using simd_math::F;
constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(DF()));

// Applies f(vector, i, lanes) to n elements in place. f gets the number of valid lanes and must not
// use the others.
template <class Fn>
HWY_INLINE void each(float* row, int64_t n, Fn f) {
  const DF d;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth)
    hn::StoreU(f(F(hn::LoadU(d, row + i)), i, kWidth).v, d, row + i);
  if (i == n) return;
  const auto rest = static_cast<int>(n - i);
  store_n(f(F(load_n(d, row + i, rest)), i, rest).v, d, row + i, rest);
}

HWY_INLINE F load(const float* x, int64_t lanes) {
  return F(load_n(DF(), x, static_cast<int>(lanes)));
}
HWY_INLINE simd_math::Mask load(const uint8_t* x, int64_t lanes) {
  const hn::Rebind<uint8_t, DI> bytes;
  HWY_ALIGN uint8_t part[kWidth] = {};
  if (lanes != kWidth) {
    for (int64_t j = 0; j < lanes; ++j) part[j] = x[j];
    x = part;
  }
  const auto wide = hn::PromoteTo(DI(), hn::LoadU(bytes, x));
  return {hn::RebindMask(DF(), hn::Ne(wide, hn::Zero(DI())))};
}

// Applies f(score, operand); the operand is one value for the whole row where x_each is not set.
template <class Fn>
HWY_INLINE void with(const AttentionRowStep& s, float* row, int64_t n, Fn f) {
  if (!s.x_each) {
    const F x(*s.x);
    return each(row, n, [&](F v, int64_t, int64_t) HWY_ATTR { return f(v, x); });
  }
  each(row, n, [&](F v, int64_t i, int64_t lanes) HWY_ATTR { return f(v, load(s.x + i, lanes)); });
}
HWY_INLINE void choose(const AttentionRowStep& s, bool keep, float* row, int64_t n) {
  const auto value = [&](int64_t i, int64_t lanes)
                         HWY_ATTR { return s.y_each ? load(s.y + i, lanes) : F(*s.y); };
  if (!s.x_each) {
    if ((*s.condition != 0) == keep) return;
    return each(row, n, [&](F, int64_t i, int64_t lanes) HWY_ATTR { return value(i, lanes); });
  }
  each(row, n, [&](F v, int64_t i, int64_t lanes) HWY_ATTR {
    const simd_math::Mask yes = load(s.condition + i, lanes);
    const F other = value(i, lanes);
    return keep ? select(yes, v, other) : select(yes, other, v);
  });
}

template <Edition edition>
static void steps(const AttentionRowStep* list, int count, float* row, int64_t n) {
  for (const AttentionRowStep* s = list; s != list + count; ++s) {
    switch (s->step) {
      case AttentionStep::kMulQuery:
      case AttentionStep::kMulKey:
      case AttentionStep::kMul: with(*s, row, n, [](F v, F x) HWY_ATTR { return v * x; }); break;
      case AttentionStep::kDivQuery:
      case AttentionStep::kDivKey:
      case AttentionStep::kDiv: with(*s, row, n, [](F v, F x) HWY_ATTR { return v / x; }); break;
      case AttentionStep::kAdd: with(*s, row, n, [](F v, F x) HWY_ATTR { return v + x; }); break;
      case AttentionStep::kSub: with(*s, row, n, [](F v, F x) HWY_ATTR { return v - x; }); break;
      case AttentionStep::kTanh:
        each(row, n, [](F v, int64_t, int64_t) HWY_ATTR { return simd_math::tanh_in<edition>(v); });
        break;
      case AttentionStep::kKeep:
      case AttentionStep::kKeepWeight: choose(*s, true, row, n); break;
      case AttentionStep::kReplace:
      case AttentionStep::kReplaceWeight: choose(*s, false, row, n); break;
    }
  }
}

// Returns the largest element, NaN where there is one (the sign of a zero does not affect softmax).
// Four chains run in parallel to hide latency.
static float largest(const float* row, int64_t n) {
  const DF d;
  constexpr int kChains = 4;
  if (n < kChains * kWidth) return reduce::extreme_of<true>(-__builtin_huge_valf(), row, n);
  hn::Vec<DF> most[kChains];
  for (int c = 0; c < kChains; ++c) most[c] = hn::LoadU(d, row + c * kWidth);
  auto sick = hn::Zero(d);  // the last NaN seen
  const auto take = [&](int c, const float* from) HWY_ATTR {
    const auto v = hn::LoadU(d, from);
    most[c] = hn::IfThenElse(hn::Gt(v, most[c]), v, most[c]);
    sick = hn::IfThenElse(hn::IsNaN(v), v, sick);
  };
  for (int c = 0; c < kChains; ++c) take(c, row + c * kWidth);
  int64_t i = kChains * kWidth;
  for (; i + kChains * kWidth <= n; i += kChains * kWidth) {
    for (int c = 0; c < kChains; ++c) take(c, row + i + c * kWidth);
  }
  for (; i < n; i += kWidth) take(0, row + (i + kWidth <= n ? i : n - kWidth));
  HWY_ALIGN float lanes[kWidth];
  for (int c = 1; c < kChains; ++c)
    most[0] = hn::IfThenElse(hn::Gt(most[c], most[0]), most[c], most[0]);
  hn::Store(hn::IfThenElse(hn::IsNaN(sick), sick, most[0]), d, lanes);
  float best = lanes[0];
  for (float lane : lanes) best = lane > best || lane != lane ? lane : best;
  return best;
}

template <Edition edition>
static bool vanishes(float x) {
  return hn::GetLane(simd_math::exp_below_in<edition>(F(x)).v) == 0;
}

// Softmax of a row whose largest element is known. The sum has the contract's order: each group of
// 16 is added to its lanes as soon as it is computed.
template <Edition edition>
static void weights(float* row, int64_t n, float largest_of_row) {
  const F most(largest_of_row);
  const auto e = [most](F v, int64_t, int64_t)
                     HWY_ATTR { return simd_math::exp_below_in<edition>(v - most); };
  reduce::VectorSum sum;
  if constexpr (kWidth == static_cast<int64_t>(hn::MaxLanes(reduce::D16()))) {
    const int64_t whole = n / kSumLanes * kSumLanes;
    sum.add_run(
        whole,
        [&](reduce::V16 acc, int64_t i) HWY_ATTR {
          const auto v = e(F(hn::LoadU(DF(), row + i)), 0, 0).v;
          hn::StoreU(v, DF(), row + i);
          return hn::Add(acc, v);
        },
        [](float acc, int64_t) { return acc; });  // not called: `whole` is in groups
    each(row + whole, n - whole, [&](F v, int64_t, int64_t lanes) HWY_ATTR {
      const F weight = e(v, 0, 0);
      if constexpr (reduce::kTakesParts) sum.add_part(weight.v, static_cast<size_t>(lanes));
      return weight;
    });
    if constexpr (!reduce::kTakesParts) sum.add(row + whole, n - whole);
  } else {
    each(row, n, e);
    sum.add(row, n);
  }
  const F total(sum.finish());
  each(row, n, [total](F v, int64_t, int64_t) HWY_ATTR { return v / total; });
}

// Returns the index after the last element that is not +0.
static int64_t live(const float* row, int64_t n) {
  const DI d;
  const auto* bits = reinterpret_cast<const int32_t*>(row);
  while (n >= kWidth && hn::AllTrue(d, hn::Eq(hn::LoadU(d, bits + n - kWidth), hn::Zero(d))))
    n -= kWidth;
  while (n > 0 && bits[n - 1] == 0) --n;
  return n;
}

static bool finite(const float* x, int64_t n) {
  const DF d;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    // infinity and NaN times 0 give NaN
    const auto none = hn::Mul(hn::LoadU(d, x + i), hn::Zero(d));
    if (!hn::AllFalse(d, hn::IsNaN(none))) return false;
  }
  for (; i < n; ++i) {
    if (!__builtin_isfinite(x[i])) return false;
  }
  return true;
}

}  // namespace attention

template <Edition edition>
constexpr AttentionBodies kAttentionBodies = {
    attention::steps<edition>,   attention::largest, attention::vanishes<edition>,
    attention::weights<edition>, attention::live,    attention::finite};
static const AttentionBodies* find_attention(Edition edition) {
  return is_first(edition) ? &kAttentionBodies<Edition::k1> : &kAttentionBodies<kNewestEdition>;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
