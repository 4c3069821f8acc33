// Quantization by plain loops: converts between reals and the integers and small floats that
// represent them.
#include <algorithm>
#include <cmath>

#include "runtime/core/narrow.h"
#include "runtime/core/quantized_dtype.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/gemm/block_linear.h"
#include "runtime/kernels/reference/widest.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// Returns one number of a scale or zero point as a double, which holds all of them.
double number(const TensorView& t, int64_t i) {
  switch (t.dtype) {
    case DType::kF32: return t.as<float>()[i];
    case DType::kF16: return static_cast<float>(t.as<Half>()[i]);
    case DType::kBF16: return static_cast<float>(t.as<BFloat16>()[i]);
    case DType::kI32: return t.as<int32_t>()[i];
    case DType::kI16: return t.as<int16_t>()[i];
    case DType::kU16: return t.as<uint16_t>()[i];
    case DType::kI8: return t.as<int8_t>()[i];
    case DType::kU8: return t.as<uint8_t>()[i];
    default: return narrow_at(t.dtype, t.data, i);
  }
}

// The scale or zero point of element i of x; 0 if absent.
class PerElement {
 public:
  PerElement(const Shape& x, const TensorView* t, int64_t axis, int64_t block)
      : t_(t), single_(t == nullptr || t->numel() == 1), blocked_(block > 0) {
    if (single_) {
      value_ = t == nullptr ? 0 : number(*t, 0);
      return;
    }
    const int at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    extent_ = x[at];
    for (int d = at + 1; d < x.rank(); ++d) inner_ *= x[d];
    block_ = blocked_ ? block : 1;
    blocks_ = blocked_ ? t->shape[at] : extent_;
  }
  double at(int64_t i) const { return single_ ? value_ : number(*t_, index(i)); }
  // Returns a number of elements from i on that have the same one.
  int64_t run(int64_t i) const {
    if (single_) return INT64_MAX;
    if (!blocked_) return inner_ - i % inner_;
    const int64_t at = i % extent_;
    return inner_ > 1 ? 1 : std::min(block_ - at % block_, extent_ - at);
  }

 private:
  int64_t index(int64_t i) const {
    const int64_t at = i / inner_ % extent_;
    if (!blocked_) return at;
    return (i / (inner_ * extent_) * blocks_ + at / block_) * inner_ + i % inner_;
  }

  const TensorView* t_;
  bool single_, blocked_;
  double value_ = 0;
  int64_t block_ = 1, extent_ = 1, inner_ = 1, blocks_ = 1;
};

// Rounds to the dtype of a computation; float64 means exact.
double rounded(DType t, double v) {
  switch (t) {
    case DType::kF32: return static_cast<float>(v);
    case DType::kF16: return static_cast<float>(Half(to_float_odd(v)));
    case DType::kBF16: return static_cast<float>(BFloat16(to_float_odd(v)));
    default: return v;
  }
}

struct Range {
  double lo, hi;
};
Range range_of(DType t) {
  const int bits = dtype_bits(t);
  const double half = static_cast<double>(1 << (bits - 1));
  const bool sign = t == DType::kI8 || t == DType::kI16 || t == DType::kI4 || t == DType::kI2;
  return sign ? Range{-half, half - 1} : Range{0, 2 * half - 1};
}

void store(const WidestBlock& from, DType to, int64_t n, void* y, int64_t first,
           const CastAttrs& a) {
  const double* v = from.as<double>();
  switch (to) {
    case DType::kF32:
      for (int64_t i = 0; i < n; ++i) static_cast<float*>(y)[first + i] = static_cast<float>(v[i]);
      return;
    case DType::kF16:
      for (int64_t i = 0; i < n; ++i) static_cast<Half*>(y)[first + i] = Half(to_float_odd(v[i]));
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < n; ++i)
        static_cast<BFloat16*>(y)[first + i] = BFloat16(to_float_odd(v[i]));
      return;
    case DType::kI8:
      for (int64_t i = 0; i < n; ++i)
        static_cast<int8_t*>(y)[first + i] = static_cast<int8_t>(v[i]);
      return;
    case DType::kU8:
      for (int64_t i = 0; i < n; ++i)
        static_cast<uint8_t*>(y)[first + i] = static_cast<uint8_t>(v[i]);
      return;
    case DType::kI16:
      for (int64_t i = 0; i < n; ++i)
        static_cast<int16_t*>(y)[first + i] = static_cast<int16_t>(v[i]);
      return;
    case DType::kU16:
      for (int64_t i = 0; i < n; ++i)
        static_cast<uint16_t*>(y)[first + i] = static_cast<uint16_t>(v[i]);
      return;
    default: find_narrow_small(to)(from, Widen::Kind::kReal, n, y, first, a);
  }
}

// Widens x to doubles (int32 and narrower fit); f computes the results of elements [first, first +
// n) in place.
template <class F>
void each_block(const KernelCtx& ctx, const TensorView& x, const TensorView& y, const CastAttrs& a,
                F f) {
  const Widen widen = find_widen(x.dtype);
  const int64_t total = y.numel();
  parallel_items(ctx.pool, (total + kWidestBlock - 1) / kWidestBlock, kWidestBlock,
                 [&](int64_t begin, int64_t end) {
                   WidestBlock block;
                   for (int64_t b = begin; b < end; ++b) {
                     const int64_t first = b * kWidestBlock;
                     const int64_t n = total - first < kWidestBlock ? total - first : kWidestBlock;
                     widen.loop(x.data, first, 1, n, &block);
                     double* v = block.as<double>();
                     if (widen.kind == Widen::Kind::kSigned) {
                       for (int64_t i = 0; i < n; ++i)
                         v[i] = static_cast<double>(block.as<int64_t>()[i]);
                     }
                     f(first, n, v);
                     store(block, y.dtype, n, y.data, first, a);
                   }
                 });
}

Status quantize(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  const auto& a = *static_cast<const QuantizeAttrs*>(attrs);
  const TensorView &x = in[0], &y = out[0];
  const TensorView* zero = in.size() > 2 && in[2].present() ? &in[2] : nullptr;
  const PerElement scales(x.shape, &in[1], a.axis, a.block_size);
  const PerElement zeros(x.shape, zero, a.axis, a.block_size);
  const DType in_dtype = division_dtype(x.dtype, in[1].dtype, a.precision);
  const bool integers = !is_small_float(y.dtype);
  const Range range = integers ? range_of(y.dtype) : Range{0, 0};
  const CastAttrs cast{static_cast<int64_t>(y.dtype), a.saturate, 0};
  each_block(ctx, x, y, cast, [&](int64_t first, int64_t n, double* v) {
    for (int64_t i = 0; i < n; ++i) {
      const double s = rounded(in_dtype, scales.at(first + i)), z = zeros.at(first + i);
      double q = rounded(in_dtype, rounded(in_dtype, v[i]) / s);
      if (integers) {
        q = (q == q ? std::nearbyint(q) : 0.0) + z;
        v[i] = q < range.lo ? range.lo : q > range.hi ? range.hi : q;
      } else {
        // An 8-bit zero point of 0 is not added, which keeps -0; a 4-bit one always is.
        const bool adds = zero != nullptr && (z != 0 || y.dtype == DType::kF4E2M1);
        v[i] = adds ? rounded(in_dtype, q + z) : q;
      }
    }
  });
  return {};
}

// Computes in float32, with another rounding to a 16-bit output.
Status dequantize(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  const auto& a = *static_cast<const DequantizeAttrs*>(attrs);
  const TensorView* zero = in.size() > 2 && in[2].present() ? &in[2] : nullptr;
  const PerElement scales(in[0].shape, &in[1], a.axis, a.block_size);
  const PerElement zeros(in[0].shape, zero, a.axis, a.block_size);
  each_block(ctx, in[0], out[0], CastAttrs{}, [&](int64_t first, int64_t n, double* v) {
    for (int64_t i = 0; i < n;) {
      const int64_t end = i + std::min({scales.run(first + i), zeros.run(first + i), n - i});
      const auto scale = static_cast<float>(scales.at(first + i));
      const double z = zeros.at(first + i);
      for (; i < end; ++i) v[i] = static_cast<float>(zero != nullptr ? v[i] - z : v[i]) * scale;
    }
  });
  return {};
}

// Dequantizes a row of the weight like DequantizeLinear, then sums like Linear.
template <class T>
Status block_linear(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs) {
  const auto& a = *static_cast<const BlockLinearAttrs*>(attrs);
  const BlockSizes s(in, a);
  const bool zeros = in.size() > 3 && in[3].present(), bias = in.size() > 4 && in[4].present();
  auto* w = static_cast<T*>(ctx.scratch);
  Poll poll;
  for (int64_t j = 0; j < s.n; ++j) {
    for (int64_t k = 0; k < s.k; ++k) {
      if (poll(8)) return {};
      const int64_t block = j * s.blocks + k / s.block;
      const int64_t zero = zeros ? block_number(in[3], block) : a.zero_point;
      w[k] = static_cast<T>(block_number(in[1], j * s.k + k) - zero) * block_scale<T>(in[2], block);
    }
    for (int64_t i = 0; i < s.m; ++i) {
      if (poll(s.k)) return {};
      const T* x = in[0].as<T>() + i * s.k;
      T sum = 0;
      for (int64_t k = 0; k < s.k; ++k) sum = std::fma(x[k], w[k], sum);
      out[0].as<T>()[i * s.n + j] = bias ? sum + in[4].as<T>()[j] : sum;
    }
  }
  return {};
}
template <class T>
Status plan_block_linear(const KernelQuery& q, KernelPlan* p) {
  p->scratch_bytes = sizeof(T) * static_cast<size_t>(q.in[1].dim(1));
  return {};
}

bool is_real(const KernelQuery& q) {
  const DType t = q.in[0].dtype;
  return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16 || t == DType::kI32;
}
bool is_quantized(const KernelQuery& q) {
  const DType t = q.in[0].dtype;
  return (is_int(t) && dtype_bits(t) <= 16) || t == DType::kI32 ||
         (is_small(t) && t != DType::kF8E8M0);
}

}  // namespace

WICK_REF_ROWS(QuantizeLinear,
              {"quantize.any.ref", kContiguous, is_real, nullptr, nullptr, quantize});
WICK_REF_ROWS(DequantizeLinear,
              {"dequantize.any.ref", kContiguous, is_quantized, nullptr, nullptr, dequantize});
WICK_REF_ROWS(BlockLinear,
              {"block_linear.f32.ref", kContiguous, match<float>, plan_block_linear<float>, nullptr,
               block_linear<float>},
              {"block_linear.f64.ref", kContiguous, match<double>, plan_block_linear<double>,
               nullptr, block_linear<double>});

}  // namespace wick
