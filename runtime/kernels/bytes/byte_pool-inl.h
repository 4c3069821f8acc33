// SIMD bodies of the byte pooling ops, once per target. The rows of a window are combined column by
// column into a line that includes the padding; then neighbours within that line are combined.
#if defined(WICK_KERNELS_BYTE_POOL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BYTE_POOL_INL_H_
#undef WICK_KERNELS_BYTE_POOL_INL_H_
#else
#define WICK_KERNELS_BYTE_POOL_INL_H_
#endif

#include "runtime/kernels/bytes/byte_vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace byte_pool {

using namespace byte_vec;  // NOLINT: shared by these files

using Wide = hn::CappedTag<uint8_t, kBytePoolSlack / 2>;  // as many as the largest vector
using WideVec = hn::Vec<Wide>;
constexpr int64_t kWide = static_cast<int64_t>(hn::MaxLanes(Wide()));

// Calls f(row) for each row of the window's two outer dims that is inside the input.
template <class F>
HWY_INLINE void each_row(const PoolShape& s, const PoolShape::Range* ranges, const int64_t* o,
                         const uint8_t* x, F f) {
  const int64_t at0 = o[0] * s.stride[0] - s.pad_begin[0];
  const int64_t at1 = o[1] * s.stride[1] - s.pad_begin[1];
  for (int64_t k0 = ranges[0].begin; k0 < ranges[0].end; ++k0) {
    for (int64_t k1 = ranges[1].begin; k1 < ranges[1].end; ++k1)
      f(x + ((at0 + k0 * s.dilation[0]) * s.in[1] + at1 + k1 * s.dilation[1]) * s.in[2]);
  }
}

// Like PoolShape::valid, without a division where the whole window is inside the input.
HWY_INLINE PoolShape::Range valid_rows(const PoolShape& s, int d, int64_t o) {
  const int64_t start = o * s.stride[d] - s.pad_begin[d];
  if (start >= 0 && start + (s.kernel[d] - 1) * s.dilation[d] < s.in[d]) return {0, s.kernel[d]};
  return s.valid(d, o);
}

// Calls f(plane, o, ranges, first output) for each row of outputs of planes [begin, end).
template <class F>
HWY_INLINE void each_output_row(const PoolShape& s, int64_t begin, int64_t end, F f) {
  Poll poll;
  for (int64_t p = begin; p < end; ++p) {
    PoolShape::Range ranges[2];
    int64_t o[2];
    for (o[0] = 0; o[0] < s.out[0]; ++o[0]) {
      ranges[0] = valid_rows(s, 0, o[0]);
      for (o[1] = 0; o[1] < s.out[1]; ++o[1]) {
        if (poll(s.out[2])) return;
        ranges[1] = valid_rows(s, 1, o[1]);
        f(p, o, ranges, p * s.out_size() + (o[0] * s.out[1] + o[1]) * s.out[2]);
      }
    }
  }
}

static void largest(const BytePool& t, int64_t begin, int64_t end, void* scratch) {
  const PoolShape& s = t.shape;
  const Wide d;
  const WideVec flip = hn::Set(d, t.flip);
  const int64_t pad = s.pad_begin[2], stride = s.stride[2];
  uint8_t* line = static_cast<uint8_t*>(scratch);
  for (int64_t i = 0; i < t.line + kBytePoolSlack; ++i) line[i] = 0;  // not above any number
  const auto row_of_outputs = [&](int64_t p, const int64_t* o, const PoolShape::Range* ranges,
                                  int64_t first) HWY_ATTR {
    const uint8_t* x = t.x + p * s.in_size();
    int64_t j = 0;
    // Loads may reach into the next row, but not beyond the tensor.
    const int64_t whole = t.x_end - (x + s.in_size() - s.in[2]);
    for (; j < t.used && j + kWide <= whole; j += kWide) {
      WideVec most = hn::Zero(d);
      each_row(s, ranges, o, x, [&](const uint8_t* row) HWY_ATTR {
        most = hn::Max(most, hn::Xor(hn::LoadU(d, row + j), flip));
      });
      hn::StoreU(most, d, line + pad + j);
    }
    for (; j < t.used; ++j) {
      uint8_t most = 0;
      each_row(s, ranges, o, x, [&](const uint8_t* row) {
        most = HWY_MAX(most, static_cast<uint8_t>(row[j] ^ t.flip));
      });
      line[pad + j] = most;
    }
    hn::StoreU(hn::Zero(d), d, line + pad + t.used);
    uint8_t* y = t.y + first;
    const auto window = [&](int64_t at) HWY_ATTR {
      WideVec most = hn::LoadU(d, line + at);
      for (int64_t k = 1; k < s.kernel[2]; ++k)
        most = hn::Max(most, hn::LoadU(d, line + at + k * s.dilation[2]));
      return hn::Xor(most, flip);
    };
    HWY_ALIGN uint8_t some[kWide];
    const auto put = [&](WideVec v, int64_t at, int64_t count) HWY_ATTR {
      if (count >= kWide) return hn::StoreU(v, d, y + at);
      if (kMasked) return hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, y + at);
      hn::Store(v, d, some);
      for (int64_t i = 0; i < count; ++i) y[at + i] = some[i];
    };
    if (stride == 1) {
      for (int64_t at = 0; at < s.out[2]; at += kWide) put(window(at), at, s.out[2] - at);
      return;
    }
#if HWY_TARGET != HWY_SCALAR
    if (stride == 2) {
      for (int64_t at = 0; at < s.out[2]; at += kWide)
        put(hn::ConcatEven(d, window(2 * at + kWide), window(2 * at)), at, s.out[2] - at);
      return;
    }
#endif
    for (int64_t at = 0; at < s.out[2]; ++at) {
      const uint8_t* from = line + at * stride;
      uint8_t most = from[0];
      for (int64_t k = 1; k < s.kernel[2]; ++k) most = HWY_MAX(most, from[k * s.dilation[2]]);
      y[at] = most ^ t.flip;
    }
  };
  each_output_row(s, begin, end, row_of_outputs);
}

static void average(const BytePool& t, int64_t begin, int64_t end, void* scratch) {
  const PoolShape& s = t.shape;
  const Ints d;
  const Floats df;
  const ByteVec flip = hn::Set(Bytes(), t.flip);
  const Range range(t.to);
  const int64_t pad = s.pad_begin[2], stride = s.stride[2];
  int32_t* line = static_cast<int32_t*>(scratch);
  int32_t* sums = line + t.line + kBytePoolSlack;
  float* scale = reinterpret_cast<float*>(sums + s.out[2] + kBytePoolSlack);
  for (int64_t i = 0; i < t.line + kBytePoolSlack; ++i) line[i] = 0;
  int64_t outer_of_scale = -1;
  const auto row_of_outputs = [&](int64_t p, const int64_t* o, const PoolShape::Range* ranges,
                                  int64_t first) HWY_ATTR {
    const uint8_t* x = t.x + p * s.in_size();
    int64_t outer = 1;
    for (int i = 0; i < 2; ++i)
      outer *= s.include_pad ? s.padded(i, o[i]) : ranges[i].end - ranges[i].begin;
    if (outer != outer_of_scale) {
      for (int64_t i = 0; i < s.out[2]; ++i) {
        const PoolShape::Range across = s.valid(2, i);
        const int64_t count = outer * (s.include_pad ? s.padded(2, i) : across.end - across.begin);
        scale[i] = average_scale(t.x_scale, t.y_scale, count < 1 ? 1 : count);
      }
      for (int64_t i = 0; i < kBytePoolSlack; ++i) scale[s.out[2] + i] = 0;
      outer_of_scale = outer;
    }
    const int64_t rows = (ranges[0].end - ranges[0].begin) * (ranges[1].end - ranges[1].begin);
    const auto zeros = static_cast<uint32_t>(rows) * static_cast<uint32_t>(t.zero);
    const IntVec zero = hn::Set(d, static_cast<int32_t>(zeros));
    int64_t j = 0;
    const int64_t whole = t.x_end - (x + s.in_size() - s.in[2]);
    for (; j < t.used && j + kVecLanes <= whole; j += kVecLanes) {
      IntVec sum = hn::Zero(d);
      each_row(s, ranges, o, x, [&](const uint8_t* row) HWY_ATTR {
        sum = hn::Add(sum, ints(hn::Xor(hn::LoadU(Bytes(), row + j), flip)));
      });
      hn::StoreU(hn::Sub(sum, zero), d, line + pad + j);
    }
    for (; j < t.used; ++j) {
      uint32_t sum = 0;
      each_row(s, ranges, o, x, [&](const uint8_t* row) { sum += row[j] ^ uint32_t { t.flip }; });
      line[pad + j] = static_cast<int32_t>(sum - zeros);
    }
    hn::StoreU(hn::Zero(d), d, line + pad + t.used);
    const auto window = [&](int64_t at) HWY_ATTR {
      IntVec sum = hn::LoadU(d, line + at);
      for (int64_t k = 1; k < s.kernel[2]; ++k)
        sum = hn::Add(sum, hn::LoadU(d, line + at + k * s.dilation[2]));
      return sum;
    };
    const auto put = [&](IntVec sum, int64_t at) HWY_ATTR {
      const FloatVec real = hn::Mul(hn::ConvertTo(df, sum), hn::LoadU(df, scale + at));
      store_some(range.bytes(real), t.y + first + at, s.out[2] - at);
    };
    if (stride == 1) {
      for (int64_t at = 0; at < s.out[2]; at += kVecLanes) put(window(at), at);
      return;
    }
#if HWY_TARGET != HWY_SCALAR
    if (stride == 2) {
      for (int64_t at = 0; at < s.out[2]; at += kVecLanes)
        put(hn::ConcatEven(d, window(2 * at + kVecLanes), window(2 * at)), at);
      return;
    }
#endif
    for (int64_t at = 0; at < s.out[2]; ++at) {
      uint32_t sum = 0;
      for (int64_t k = 0; k < s.kernel[2]; ++k)
        sum += static_cast<uint32_t>(line[at * stride + k * s.dilation[2]]);
      sums[at] = static_cast<int32_t>(sum);
    }
    for (int64_t at = 0; at < s.out[2]; at += kVecLanes) put(hn::LoadU(d, sums + at), at);
  };
  each_output_row(s, begin, end, row_of_outputs);
}

// Returns the sum of n bytes as uint8, modulo 2^32.
static uint32_t sum_of(const uint8_t* x, int64_t n, uint8_t flip, const uint8_t* x_end) {
  uint32_t total = 0;
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const Wide d;
  const hn::Repartition<uint64_t, Wide> d64;
  const WideVec turn = hn::Set(d, flip);
  auto sum = hn::Zero(d64);
  for (; i + kWide <= n; i += kWide)
    sum = hn::Add(sum, hn::SumsOf8(hn::Xor(hn::LoadU(d, x + i), turn)));
  if (i < n && x + i + kWide <= x_end) {
    const WideVec rest = hn::Xor(hn::LoadU(d, x + i), turn);
    const auto first = hn::FirstN(d, static_cast<size_t>(n - i));
    sum = hn::Add(sum, hn::SumsOf8(hn::IfThenElseZero(first, rest)));
    i = n;
  }
  total = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(d64, sum)));
#else
  static_cast<void>(x_end);
#endif
  for (; i < n; ++i) total += x[i] ^ uint32_t { flip };
  return total;
}

}  // namespace byte_pool

static BytePoolBody find_byte_max() { return byte_pool::largest; }
static BytePoolBody find_byte_average() { return byte_pool::average; }
static ByteSumBody find_byte_plane_sum() { return byte_pool::sum_of; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
