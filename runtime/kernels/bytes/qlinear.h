// The scales and zero points of the byte operators. They are checked where they are used, since a
// file or a caller may give anything.
#pragma once

#include <algorithm>
#include <cfloat>

#include "runtime/core/quantized_dtype.h"
#include "runtime/kernels/bytes/integer.h"
#include "runtime/kernels/bytes/requantize.h"
#include "runtime/kernels/kernel.h"

namespace wick {

// Returns the XOR value that turns int8 into uint8.
inline uint8_t flip_of(const TensorView& t) { return t.dtype == DType::kI8 ? 0x80 : 0; }

// Checks that every number of a scale is finite and > 0.
inline Status check_scale(const TensorView& scale, const char* name) {
  int bad = 0;  // branch-free: a product of one row has a scale for every few k
  const auto* s = scale.as<float>();
  for (int64_t i = 0; i < scale.numel(); ++i) bad |= (s[i] > 0 ? 0 : 1) | (s[i] <= FLT_MAX ? 0 : 1);
  if (bad == 0) return {};
  for (int64_t i = 0; i < scale.numel(); ++i) {
    if (is_scale(scale.as<float>()[i])) continue;
    return error(Code::kInvalidArgument, "%s must be finite and > 0, element %lld is %g", name,
                 static_cast<long long>(i), static_cast<double>(scale.as<float>()[i]));
  }
  return {};
}

// The scales of a product of a and b (inputs `a` and `b`, each followed by its scale) and of y
// (input y), whose quotient must be finite, too. If y is absent nothing is rounded to bytes: then
// a's scale may be infinite, as for a range that contains infinity, and so may its products.
struct ProductScales {
  const float* b = nullptr;
  int64_t count = 1;  // number of b's scales
  float a = 1, y = 1;
  bool to_float = false;

  float at(int64_t i) const {
    const float scale = b[count == 1 ? 0 : i];
    return to_float ? a * scale : scale_ratio(a, scale, y);
  }
  // Computes at(0) .. at(n - 1), without a branch for each.
  void fill(int64_t n, float* to) const {
    if (count == 1) {
      std::fill(to, to + n, at(0));
    } else if (to_float) {
      for (int64_t i = 0; i < n; ++i) to[i] = a * b[i];
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = scale_ratio(a, b[i], y);
    }
  }
};
inline Status product_scales(Span<const TensorView> in, size_t a, size_t b, size_t y,
                             ProductScales* out) {
  out->to_float = !has_input(in, y);
  const bool infinite = out->to_float && in[a + 1].as<float>()[0] == INFINITY;
  if (!infinite) WICK_TRY(check_scale(in[a + 1], "the first scale"));
  WICK_TRY(check_scale(in[b + 1], "the second scale"));
  out->a = in[a + 1].as<float>()[0];
  out->b = in[b + 1].as<float>();
  out->count = in[b + 1].numel();
  if (out->to_float) return {};
  WICK_TRY(check_scale(in[y], "y_scale"));
  out->y = in[y].as<float>()[0];
  int bad = 0;
  for (int64_t i = 0; i < out->count; ++i)
    bad |= scale_ratio(out->a, out->b[i], out->y) <= FLT_MAX ? 0 : 1;
  for (int64_t i = 0; bad != 0 && i < out->count; ++i) {
    if (!std::isfinite(out->at(i)))
      return error(Code::kInvalidArgument, "the scales' quotient is not finite (channel %lld)",
                   static_cast<long long>(i));
  }
  return {};
}

// The scales of an elementwise sum or product of two byte tensors.
struct ByteBinary {
  float a, b;  // factors of the operands; a product uses only a
  int32_t a_zero, b_zero;
  ByteRange to;

  int32_t sum(int32_t x, int32_t y) const {
    const float left = static_cast<float>(x - a_zero) * a;
    const float right = static_cast<float>(y - b_zero) * b;
    return to_byte(left + right, to);
  }
  int32_t product(int32_t x, int32_t y) const {
    return requantize((x - a_zero) * (y - b_zero), a, to);
  }
};
inline Status byte_binary(OpId op, Span<const TensorView> in, ByteBinary* out) {
  WICK_TRY(check_scale(in[1], "the first scale"));
  WICK_TRY(check_scale(in[4], "the second scale"));
  WICK_TRY(check_scale(in[6], "y_scale"));
  const float a = in[1].as<float>()[0], b = in[4].as<float>()[0], y = in[6].as<float>()[0];
  const bool sum = op == OpId::kQLinearAdd;
  out->a = sum ? a / y : scale_ratio(a, b, y);
  out->b = b / y;  // unused by a product
  if (sum ? !(is_sum_ratio(out->a) && is_sum_ratio(out->b)) : !std::isfinite(out->a))
    return Status(Code::kInvalidArgument, "the scales' quotient is not finite");
  out->a_zero = zero_point(in, 2), out->b_zero = zero_point(in, 5);
  out->to = byte_range(in[7].dtype, zero_point(in, 7));
  return {};
}

// The scales of PRelu between bytes: DequantizeLinear, x < 0 ? x slope : x, QuantizeLinear, each
// step rounded as the op alone rounds it.
struct BytePRelu {
  float x_scale, y_scale;
  int32_t x_zero;
  ByteRange to;

  int32_t at(int32_t x, float slope) const {
    const float real = static_cast<float>(x - x_zero) * x_scale;
    const float kept = real < 0 ? real * slope : real;
    const float steps = kept / y_scale;
    return to_byte(steps == steps ? steps : 0, to);  // NaN becomes the zero point
  }
};
inline Status byte_prelu(Span<const TensorView> in, BytePRelu* out) {
  WICK_TRY(check_scale(in[1], "x_scale"));
  WICK_TRY(check_scale(in[4], "y_scale"));
  out->x_scale = in[1].as<float>()[0], out->y_scale = in[4].as<float>()[0];
  out->x_zero = zero_point(in, 2);
  out->to = byte_range(in[5].dtype, zero_point(in, 5));
  return {};
}

// The scales of an op with one operand: pooling, softmax.
struct PoolScales {
  float x, y;
  int32_t zero;
  int64_t reach;  // the largest |x - zero|
  ByteRange to;
};
inline Status pool_scales(Span<const TensorView> in, PoolScales* s) {
  WICK_TRY(check_scale(in[1], "x_scale"));
  WICK_TRY(check_scale(in[3], "y_scale"));
  s->x = in[1].as<float>()[0], s->y = in[3].as<float>()[0];
  if (!std::isfinite(s->x / s->y))
    return Status(Code::kInvalidArgument, "the scales' quotient is not finite");
  s->zero = zero_point(in, 2);
  const ByteRange from = byte_range(in[0].dtype, s->zero);
  s->reach = static_cast<int64_t>(-from.lo > from.hi ? -from.lo : from.hi);
  s->to = byte_range(in[4].dtype, zero_point(in, 4));
  return {};
}
// Checks that the sum of `count` bytes fits 32 bits and is exact.
inline Status check_count(int64_t count, const PoolScales& s) {
  if (count <= INT32_MAX / s.reach) return {};
  return error(Code::kInvalidArgument, "32 bits may not hold the sum of %lld bytes",
               static_cast<long long>(count));
}
// Returns the factor m for the sum of `count` bytes: m = s_x / (s_y count).
inline float average_scale(float x, float y, int64_t count) {
  return x / (y * static_cast<float>(count));
}

// Quantizes float32 to uint8: the range is extended to include 0 and has 255 steps. NaN does not
// count.
struct RowRange {
  float scale, zero;
};
inline RowRange row_range(float lo, float hi) {
  const float low = lo < 0 ? lo : 0, high = hi > 0 ? hi : 0;
  const float range = high - low;
  const float scale = range / 255;
  if (!(scale > 0)) return {1, 0};
  const float zero = -low / scale;  // NaN where an end is infinite
  return {scale, std::nearbyintf(zero > 255 ? 255 : zero > 0 ? zero : 0)};
}
// Like QuantizeLinear: NaN (also infinity divided by an infinite scale) becomes the zero point.
inline int32_t row_byte(float x, const RowRange& r) {
  const float whole = std::nearbyintf(x / r.scale);
  const float q = (whole == whole ? whole : 0) + r.zero;
  return static_cast<int32_t>(q < 0 ? 0 : q > 255 ? 255 : q);
}

}  // namespace wick
