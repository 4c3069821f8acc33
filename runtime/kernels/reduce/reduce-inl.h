// Vectorized sums in the contract's order, and max/min, once per target.
#if defined(WICK_KERNELS_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_REDUCE_INL_H_
#undef WICK_KERNELS_REDUCE_INL_H_
#else
#define WICK_KERNELS_REDUCE_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/core/stop.h"
#include "runtime/kernels/reduce/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace reduce {

using D16 = hn::CappedTag<float, kSumLanes>;
using V16 = hn::Vec<D16>;
constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(D16()));
constexpr int64_t kVectors = kSumLanes / kWidth;  // that form the 16 logical lanes

// Whether one masked move reads what is left of a group (tile_vec-inl.h).
constexpr bool kTakesParts = kVectors == 1 && HWY_TARGET == HWY_AVX3;

// The vectorized LaneSum. step(acc, i) and step_one(acc, i) add the elements of a run from i on to
// their lane(s).
class VectorSum {
 public:
  template <class Step, class StepOne>
  HWY_INLINE void add_run(int64_t n, Step step, StepOne step_one) {
    int64_t i = 0;
    while (i < n) {
      int64_t end = n - i < kSumBlock - in_block_ ? n : i + (kSumBlock - in_block_);
      in_block_ += end - i;
      int64_t phase = (in_block_ - (end - i)) % kSumLanes;
      for (; phase != 0 && i < end; ++i) {
        lanes_[phase] = step_one(lanes_[phase], i);
        phase = (phase + 1) % kSumLanes;
      }
      if (i + kSumLanes <= end) {
        const D16 d;
        V16 acc[kVectors];
        for (int64_t v = 0; v < kVectors; ++v) acc[v] = hn::Load(d, lanes_ + v * kWidth);
        for (; i + kSumLanes <= end; i += kSumLanes) {
          for (int64_t v = 0; v < kVectors; ++v) acc[v] = step(acc[v], i + v * kWidth);
        }
        for (int64_t v = 0; v < kVectors; ++v) hn::Store(acc[v], d, lanes_ + v * kWidth);
      }
      for (; i < end; ++i) {
        lanes_[phase] = step_one(lanes_[phase], i);
        ++phase;
      }
      if (in_block_ == kSumBlock) flush();
    }
  }
  HWY_INLINE void add(const float* x, int64_t n) {
    int64_t whole = n;
    if (kTakesParts && in_block_ % kSumLanes == 0) whole -= n % kSumLanes;
    add_run(
        whole, [x](V16 acc, int64_t i) HWY_ATTR { return hn::Add(acc, hn::LoadU(D16(), x + i)); },
        [x](float acc, int64_t i) { return acc + x[i]; });
    if (whole == n) return;
    const auto rest = static_cast<size_t>(n - whole);
    add_part(hn::MaskedLoad(hn::FirstN(D16(), rest), D16(), x + whole), rest);
  }
  // Adds the first n lanes of a vector, fewer than kSumLanes, behind whole groups.
  HWY_INLINE void add_part(V16 v, size_t n) {
    const D16 d;
    const V16 acc = hn::Load(d, lanes_);
    hn::Store(hn::IfThenElse(hn::FirstN(d, n), hn::Add(acc, v), acc), d, lanes_);
    in_block_ += static_cast<int64_t>(n);
  }
  HWY_INLINE float finish() {
    if (in_block_ > 0) flush();
    return total_;
  }

 private:
  HWY_INLINE void flush() {
    halve_lanes(lanes_);
    total_ += lanes_[0];
    for (float& lane : lanes_) lane = 0;
    in_block_ = 0;
  }
  HWY_ALIGN float lanes_[kSumLanes] = {};
  float total_ = 0;
  int64_t in_block_ = 0;
};

inline float sum(const float* x, int64_t n) {
  VectorSum s;
  s.add(x, n);
  return s.finish();
}

// Sums with the same order for each of `cols` neighbouring outputs, which are the lanes: the
// sequence of output j is x[r * stride + j].
inline void sum_columns(const float* x, int64_t rows, int64_t stride, int64_t cols, float* y) {
  const D16 d;
  int64_t j = 0;
  Poll poll;
  for (; j + kWidth <= cols; j += kWidth) {
    V16 total = hn::Zero(d);
    for (int64_t begin = 0; begin < rows; begin += kSumBlock) {
      const int64_t end = rows - begin < kSumBlock ? rows : begin + kSumBlock;
      if (poll(kWidth * (end - begin))) return;
      V16 lanes[kSumLanes];
      for (V16& lane : lanes) lane = hn::Zero(d);
      const float* p = x + begin * stride + j;
      int64_t r = begin;
      for (; r + kSumLanes <= end; r += kSumLanes) {
        for (int l = 0; l < kSumLanes; ++l, p += stride)
          lanes[l] = hn::Add(lanes[l], hn::LoadU(d, p));
      }
      for (int l = 0; r < end; ++l, ++r, p += stride) lanes[l] = hn::Add(lanes[l], hn::LoadU(d, p));
      for (int width = kSumLanes / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; ++l) lanes[l] = hn::Add(lanes[l], lanes[l + width]);
      }
      total = hn::Add(total, lanes[0]);
    }
    hn::StoreU(total, d, y + j);
  }
  for (; j < cols; ++j) {
    LaneSum<float> s;
    for (int64_t r = 0; r < rows && !poll(4); ++r) s.add(x[r * stride + j]);
    y[j] = s.finish();
  }
}

// NaN takes precedence, +0 > -0 (for the largest; mirrored for the smallest).
template <bool largest>
HWY_INLINE V16 extreme(V16 a, V16 b) {
  const hn::RebindToSigned<D16> di;
  auto ia = hn::BitCast(di, a), ib = hn::BitCast(di, b);
  V16 zeros = hn::BitCast(D16(), largest ? hn::And(ia, ib) : hn::Or(ia, ib));
  auto wins = largest ? hn::Gt(a, b) : hn::Lt(a, b);
  V16 r = hn::IfThenElse(hn::Or(wins, hn::IsNaN(a)), a, b);
  return hn::IfThenElse(hn::Eq(a, b), zeros, r);
}
template <bool largest>
HWY_INLINE float extreme_one(float a, float b) {
  if (a == b) return __builtin_signbit(a) != 0 ? (largest ? b : a) : (largest ? a : b);
  return (largest ? a > b : a < b) || a != a ? a : b;
}
template <bool largest>
static float extreme_of(float start, const float* x, int64_t n) {
  const D16 d;
  int64_t i = 0;
  float best = start;
  if (n >= kWidth) {
    V16 acc = hn::LoadU(d, x);
    for (i = kWidth; i + kWidth <= n; i += kWidth) acc = extreme<largest>(acc, hn::LoadU(d, x + i));
    HWY_ALIGN float lanes[kWidth];
    hn::Store(acc, d, lanes);
    for (float lane : lanes) best = extreme_one<largest>(best, lane);
  }
  for (; i < n; ++i) best = extreme_one<largest>(best, x[i]);
  return best;
}
template <bool largest>
static void extreme_columns(const float* x, int64_t rows, int64_t stride, int64_t cols, float* y) {
  constexpr float kStart = largest ? -__builtin_huge_valf() : __builtin_huge_valf();
  const D16 d;
  int64_t j = 0;
  Poll poll;
  for (; j + kWidth <= cols; j += kWidth) {
    V16 acc = hn::Set(d, kStart);
    for (int64_t r = 0; r < rows && !poll(kWidth); ++r)
      acc = extreme<largest>(acc, hn::LoadU(d, x + r * stride + j));
    hn::StoreU(acc, d, y + j);
  }
  for (; j < cols; ++j) {
    y[j] = kStart;
    for (int64_t r = 0; r < rows && !poll(4); ++r)
      y[j] = extreme_one<largest>(y[j], x[r * stride + j]);
  }
}

}  // namespace reduce
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
