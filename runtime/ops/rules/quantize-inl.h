#pragma once

#include "runtime/core/quantized_dtype.h"
#include "runtime/ops/rules/conv-inl.h"

namespace wick::rules {

// Returns whether a tensor has one element; kUnknown where symbols leave it open.
template <class D>
Tri is_single(const BasicShape<D>& s) {
  Tri all = Tri::kYes;
  for (const D& d : s) {
    Tri one = dim_equal(d, D(1));
    if (one == Tri::kNo) return Tri::kNo;
    if (one == Tri::kUnknown) all = Tri::kUnknown;
  }
  return all;
}
template <class D>
Status need_single(const RuleCtx<D>& c, size_t i, const char* name) {
  if (!c.has(i) || is_single(c.in[i].shape) != Tri::kNo) return {};
  return error(Code::kShapeMismatch, "%s must have one element, got %s", name,
               to_text(c.in[i].shape).text);
}

// Checks a scale or zero point (input i): it is one number, one per index of the axis, or has x's
// shape with the axis counted in blocks.
template <class D>
Status check_granularity(const RuleCtx<D>& c, size_t i, int64_t given_axis, int64_t block_size,
                         const char* name) {
  const auto &x = c.in[0].shape, &s = c.in[i].shape;
  if (is_single(s) == Tri::kYes) return {};
  if (block_size < 0)
    return error(Code::kInvalidArgument, "block_size must be >= 0, got %lld",
                 static_cast<long long>(block_size));
  if (s.rank() != (block_size > 0 ? x.rank() : 1)) {
    return error(Code::kShapeMismatch, "%s must have rank %d, got %s for input %s", name,
                 block_size > 0 ? x.rank() : 1, to_text(s).text, to_text(x).text);
  }
  if (is_single(s) == Tri::kUnknown && (given_axis < -x.rank() || given_axis >= x.rank()))
    return {};  // has one element, or is refused when the sizes are known
  WICK_ASSIGN(int axis, normalize_axis(given_axis, x.rank()));
  bool fits = true;
  for (int d = 0; d < s.rank(); ++d) {
    D want = x[block_size > 0 ? d : axis];
    if (block_size > 0 && d == axis) {
      want = dim_floor_div(dim_add(want, D(block_size - 1)), block_size);
    }
    fits = fits && (dim_equal(s[d], want) != Tri::kNo || is_single(s) == Tri::kUnknown);
  }
  if (!fits) return shapes_differ(name, s, x);
  return {};
}

// Checks the scale (input 1) and the zero point (input 2).
template <class D>
Status check_scales(const RuleCtx<D>& c, int64_t axis, int64_t block_size) {
  WICK_TRY(check_granularity(c, 1, axis, block_size, "scale"));
  if (!c.has(2)) return {};
  WICK_TRY(check_granularity(c, 2, axis, block_size, "zero_point"));
  const Tri one = is_single(c.in[1].shape), other = is_single(c.in[2].shape);
  if ((one == Tri::kNo && other == Tri::kYes) || (one == Tri::kYes && other == Tri::kNo))
    return shapes_differ("scale and zero_point must have one shape", c.in[1].shape, c.in[2].shape);
  return {};
}

inline bool is_quantized_type(DType t) {
  return t == DType::kI8 || t == DType::kU8 || t == DType::kI16 || t == DType::kU16 ||
         (is_small(t) && t != DType::kF8E8M0);
}
inline bool is_scale_type(DType t) {
  return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16 || t == DType::kF8E8M0;
}
inline Status no_type(const char* name, DType t) {
  return error(Code::kTypeMismatch, "%s cannot be %s", name, dtype_name(t));
}
inline Status no_type(const char* name, int64_t t) {
  return t > 0 && t < kDTypeCount ? no_type(name, static_cast<DType>(t))
                                  : error(Code::kTypeMismatch, "%s: unknown dtype %lld", name,
                                          static_cast<long long>(t));
}

template <class D>
Status quantize_linear(RuleCtx<D>& c) {
  const auto& a = c.template as<QuantizeAttrs>();
  const DType x = c.in[0].dtype, s = c.in[1].dtype;
  const bool real = x == DType::kF32 || x == DType::kF16 || x == DType::kBF16;
  if (!real && x != DType::kI32) return no_type("x", x);
  if (!is_scale_type(s) && s != DType::kI32) return no_type("scale", s);
  DType to = c.has(2) ? c.in[2].dtype : DType::kU8;
  if (a.output_dtype != 0) {
    if (a.output_dtype < 0 || a.output_dtype >= kDTypeCount)
      return no_type("output_dtype", a.output_dtype);
    if (c.has(2) && a.output_dtype != static_cast<int64_t>(to)) {
      return error(Code::kTypeMismatch, "output_dtype is %s, the zero point %s",
                   dtype_name(static_cast<DType>(a.output_dtype)), dtype_name(to));
    }
    to = static_cast<DType>(a.output_dtype);
  }
  if (!is_quantized_type(to)) return no_type("y", to);
  const auto precision = static_cast<DType>(a.precision);
  if (a.precision != 0 && (a.precision < 0 || a.precision >= kDTypeCount ||
                           !is_scale_type(precision) || precision == DType::kF8E8M0)) {
    return no_type("precision", a.precision);
  }
  WICK_TRY(check_scales(c, a.axis, a.block_size));
  set_out(c, 0, to, c.in[0].shape);
  return {};
}

template <class D>
Status dequantize_linear(RuleCtx<D>& c) {
  const auto& a = c.template as<DequantizeAttrs>();
  const DType x = c.in[0].dtype;
  if (!is_quantized_type(x) && x != DType::kI32) return no_type("x", x);
  if (!is_scale_type(c.in[1].dtype)) return no_type("scale", c.in[1].dtype);
  if (c.has(2) && c.in[2].dtype != x) {
    return error(Code::kTypeMismatch, "x is %s, its zero point %s", dtype_name(x),
                 dtype_name(c.in[2].dtype));
  }
  const int64_t to = a.output_dtype != 0 ? a.output_dtype : static_cast<int64_t>(c.in[1].dtype);
  if (to < 0 || to >= kDTypeCount || !is_float(static_cast<DType>(to)) ||
      static_cast<DType>(to) == DType::kF64) {
    return no_type("y", to);
  }
  WICK_TRY(check_scales(c, a.axis, a.block_size));
  set_out(c, 0, static_cast<DType>(to), c.in[0].shape);
  return {};
}

inline Status check_block_linear(const BlockLinearAttrs& a, DType weight) {
  if (!is_block_type(weight)) return no_type("weight", weight);
  if (a.block_size < 16 || a.block_size > 256 || (a.block_size & (a.block_size - 1)) != 0) {
    return error(Code::kInvalidArgument,
                 "block_size must be a power of two from 16 to 256, got %lld",
                 static_cast<long long>(a.block_size));
  }
  const int64_t half = int64_t{1} << (dtype_bits(weight) - 1);
  const bool sign = weight == DType::kI4 || weight == DType::kI8;
  if (a.zero_point < (sign ? -half : 0) || a.zero_point >= (sign ? half : 2 * half)) {
    return error(Code::kInvalidArgument, "zero_point %lld is no %s",
                 static_cast<long long>(a.zero_point), dtype_name(weight));
  }
  return {};
}

template <class D>
Status block_linear(RuleCtx<D>& c) {
  const auto& a = c.template as<BlockLinearAttrs>();
  const DType real = c.in[0].dtype;
  if (real != DType::kF32 && real != DType::kF64) return no_type("x", real);
  WICK_TRY(check_block_linear(a, c.in[1].dtype));
  if (c.in[2].dtype != real && c.in[2].dtype != DType::kF16) return no_type("scale", c.in[2].dtype);
  if (c.has(3) && c.in[3].dtype != c.in[1].dtype) {
    return error(Code::kTypeMismatch, "the weight is %s, its zero point %s",
                 dtype_name(c.in[1].dtype), dtype_name(c.in[3].dtype));
  }
  if (c.has(3) && a.zero_point != 0) {
    return Status(Code::kInvalidArgument, "zero points are an input or an attribute, not both");
  }
  if (c.has(4) && c.in[4].dtype != real) return no_type("bias", c.in[4].dtype);
  WICK_TRY(need_rank(c.in[0], 1, kMaxRank, "x"));
  WICK_TRY(need_rank(c.in[1], 2, 2, "weight"));
  const auto &x = c.in[0].shape, &w = c.in[1].shape;
  if (dim_equal(x[x.rank() - 1], w[1]) == Tri::kNo) {
    return error(Code::kShapeMismatch,
                 "last input dimension differs from in_features: input %s, weight %s",
                 to_text(x).text, to_text(w).text);
  }
  const D blocks = dim_floor_div(dim_add(w[1], D(a.block_size - 1)), a.block_size);
  for (size_t i : {size_t{2}, size_t{3}}) {
    if (!c.has(i)) continue;
    const auto& s = c.in[i].shape;
    if (s.rank() != 2 || dim_equal(s[0], w[0]) == Tri::kNo || dim_equal(s[1], blocks) == Tri::kNo)
      return shapes_differ(i == 2 ? "scale does not fit the weight's blocks"
                                  : "zero_point does not fit the weight's blocks",
                           s, w);
  }
  WICK_TRY(need_vector(c, 4, w[0], "bias"));
  auto out = x;
  out[x.rank() - 1] = w[0];
  set_out(c, 0, real, out);
  return {};
}

template <class D>
Status bit_cast(RuleCtx<D>& c) {
  const int64_t to = c.template as<BitCastAttrs>().to;
  const DType from = c.in[0].dtype;
  const bool known = to > 0 && to < kDTypeCount;
  if (!known || from == DType::kString || static_cast<DType>(to) == DType::kString ||
      dtype_bits(from) != dtype_bits(static_cast<DType>(to))) {
    return error(Code::kTypeMismatch, "cannot read the bits of %s as %s (they need equal widths)",
                 dtype_name(from), known ? dtype_name(static_cast<DType>(to)) : "an unknown dtype");
  }
  set_out(c, 0, static_cast<DType>(to), c.in[0].shape);
  return {};
}

// Checks two 8-bit operands, each with a zero point of its own dtype (inputs 2 and 3).
template <class D>
Status check_bytes(const RuleCtx<D>& c) {
  for (size_t i = 0; i < c.in.size(); ++i) {
    const DType t = c.in[i].dtype;
    if (!c.in[i].present()) continue;
    if (t != DType::kI8 && t != DType::kU8)
      return error(Code::kTypeMismatch, "needs int8 or uint8 tensors, got %s", dtype_name(t));
    if (i >= 2 && t != c.in[i - 2].dtype) {
      return error(Code::kTypeMismatch, "a zero point of %s for a tensor of %s", dtype_name(t),
                   dtype_name(c.in[i - 2].dtype));
    }
  }
  return {};
}

// Checks the zero point of a matmul operand: one number, one per row (of a) or column (of b), or
// the operand's shape with the inner dimension 1.
template <class D>
Status check_line_zero_point(const RuleCtx<D>& c, size_t i) {
  if (!c.has(i)) return {};
  const auto &m = c.in[i - 2].shape, &z = c.in[i].shape;
  const int rank = m.rank(), inner = i == 2 ? rank - 1 : rank - 2;
  if (is_single(z) == Tri::kYes) return {};
  const int line = i == 2 ? rank - 2 : rank - 1;
  bool fits = rank >= 2;
  if (fits && z.rank() == 1) {
    fits = dim_equal(z[0], m[line]) != Tri::kNo || dim_equal(z[0], D(1)) != Tri::kNo;
  } else if (rank == 1) {
    fits = z.rank() == 1 && dim_equal(z[0], D(1)) != Tri::kNo;
  } else {
    fits = fits && z.rank() <= rank;
    for (int d = 0; fits && d < z.rank(); ++d) {
      const int at = d + rank - z.rank();
      fits =
          dim_equal(z[d], D(1)) != Tri::kNo || (at != inner && dim_equal(z[d], m[at]) != Tri::kNo);
    }
  }
  return fits ? Status() : shapes_differ("the zero point does not fit its matrix", z, m);
}
template <class D>
Status matmul_integer(RuleCtx<D>& c) {
  WICK_TRY(check_bytes(c));
  BasicShape<D> out;
  WICK_TRY(matmul_shape(c, &out));
  WICK_TRY(check_line_zero_point(c, 2));
  WICK_TRY(check_line_zero_point(c, 3));
  set_out(c, 0, DType::kI32, out);
  return {};
}

template <class D>
Status conv_integer(RuleCtx<D>& c) {
  WICK_TRY(check_bytes(c));
  BasicShape<D> out;
  WICK_TRY(conv_window(c, c.template as<ConvAttrs>(), &out));
  WICK_TRY(need_single(c, 2, "x_zero_point"));
  if (c.has(3) && is_single(c.in[3].shape) != Tri::kYes)
    WICK_TRY(need_vector(c, 3, c.in[1].shape[0], "w_zero_point"));
  set_out(c, 0, DType::kI32, out);
  return {};
}

template <class D>
Status dropout(RuleCtx<D>& c) {
  if (!is_small_float(c.in[0].dtype)) WICK_TRY(need_float(c.in[0]));
  if (c.has(1)) {
    WICK_TRY(need_float(c.in[1]));
    WICK_TRY(need_single(c, 1, "ratio"));
  }
  if (c.has(2)) {
    WICK_TRY(need_bool(c.in[2]));
    WICK_TRY(need_single(c, 2, "training_mode"));
  }
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  set_out(c, 1, DType::kBool, c.in[0].shape);
  return {};
}

}  // namespace wick::rules
