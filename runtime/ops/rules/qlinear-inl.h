// Rules of the QLinear ops. The position of each tensor's scale and zero point differs; the
// requirements do not.
#pragma once

#include "runtime/ops/rules/elementwise-inl.h"
#include "runtime/ops/rules/quantize-inl.h"

namespace wick::rules {

// Checks that input i is bytes, that its scale (i + 1) is one float32, or a vector of `extent`
// where that is given, and that the zero point (i + 2) has the tensor's dtype and the scale's
// shape.
template <class D>
Status check_byte_input(const RuleCtx<D>& c, size_t i, const char* name,
                        const D* extent = nullptr) {
  const auto &x = c.in[i], &scale = c.in[i + 1], &zero = c.in[i + 2];
  if (!is_byte(x.dtype)) {
    return error(Code::kTypeMismatch, "%s must be int8 or uint8, got %s", name,
                 dtype_name(x.dtype));
  }
  if (scale.dtype != DType::kF32) {
    return error(Code::kTypeMismatch, "%s's scale must be float32, got %s", name,
                 dtype_name(scale.dtype));
  }
  if (zero.dtype != x.dtype) {
    return error(Code::kTypeMismatch, "a zero point of %s for a tensor of %s",
                 dtype_name(zero.dtype), dtype_name(x.dtype));
  }
  for (size_t k : {i + 1, i + 2}) {
    const char* what = k == i + 1 ? "scale" : "zero_point";
    if (extent == nullptr || is_single(c.in[k].shape) == Tri::kYes) {
      WICK_TRY(need_single(c, k, what));
    } else {
      WICK_TRY(need_vector(c, k, *extent, what));
    }
  }
  return {};
}
// Checks the output's scale (input i) and zero point (i + 1), which determines its dtype.
template <class D>
Status check_byte_output(const RuleCtx<D>& c, size_t i) {
  if (c.in[i].dtype != DType::kF32) {
    return error(Code::kTypeMismatch, "y's scale must be float32, got %s",
                 dtype_name(c.in[i].dtype));
  }
  if (!is_byte(c.in[i + 1].dtype)) {
    return error(Code::kTypeMismatch, "y's zero point must be int8 or uint8, got %s",
                 dtype_name(c.in[i + 1].dtype));
  }
  WICK_TRY(need_single(c, i, "y_scale"));
  return need_single(c, i + 1, "y_zero_point");
}
template <class D>
Status check_int_bias(const RuleCtx<D>& c, size_t i, const D& extent) {
  if (!c.has(i)) return {};
  if (c.in[i].dtype != DType::kI32) {
    return error(Code::kTypeMismatch, "bias must be int32, got %s", dtype_name(c.in[i].dtype));
  }
  return need_vector(c, i, extent, "bias");
}

// Presents the two operands' shapes like those of a plain op with two inputs.
template <class D>
struct Operands {
  ValueInfo<D> in[2];
  RuleCtx<D> ctx;
  Operands(RuleCtx<D>& c, size_t a, size_t b)
      : in{c.in[a], c.in[b]}, ctx{c.op, c.attrs, {in, 2}, c.out, c.custom} {}
};

template <class D>
Status qlinear_conv(RuleCtx<D>& c) {
  Operands<D> plain(c, 0, 3);
  BasicShape<D> out;
  WICK_TRY(conv_window(plain.ctx, c.template as<ConvAttrs>(), &out));
  const D outputs = c.in[3].shape[0];
  WICK_TRY(check_byte_input(c, 0, "x"));
  WICK_TRY(check_byte_input(c, 3, "w", &outputs));
  WICK_TRY(check_byte_output(c, 6));
  WICK_TRY(check_int_bias(c, 8, outputs));
  set_out(c, 0, c.in[7].dtype, out);
  return {};
}

template <class D>
Status qlinear_matmul(RuleCtx<D>& c) {
  Operands<D> plain(c, 0, 3);
  BasicShape<D> out;
  WICK_TRY(matmul_shape(plain.ctx, &out));
  const auto& b = c.in[3].shape;
  const D columns = b.rank() > 1 ? b[b.rank() - 1] : D(1);
  WICK_TRY(check_byte_input(c, 0, "a"));
  WICK_TRY(check_byte_input(c, 3, "b", &columns));
  WICK_TRY(check_byte_output(c, 6));
  set_out(c, 0, c.in[7].dtype, out);
  return {};
}

template <class D>
Status qgemm(RuleCtx<D>& c) {
  WICK_TRY(need_rank(c.in[0], 1, kMaxRank, "a"));
  WICK_TRY(need_rank(c.in[3], 2, 2, "weight"));
  const auto &x = c.in[0].shape, &w = c.in[3].shape;
  if (dim_equal(x[x.rank() - 1], w[1]) == Tri::kNo) {
    return error(Code::kShapeMismatch,
                 "last input dimension differs from in_features: input %s, weight %s",
                 to_text(x).text, to_text(w).text);
  }
  const D outputs = w[0];
  WICK_TRY(check_byte_input(c, 0, "a"));
  WICK_TRY(check_byte_input(c, 3, "b", &outputs));
  WICK_TRY(check_int_bias(c, 6, outputs));
  if (c.has(7) != c.has(8))
    return Status(Code::kInvalidArgument, "y_scale and y_zero_point go together");
  if (c.has(7)) WICK_TRY(check_byte_output(c, 7));
  auto out = x;
  out[x.rank() - 1] = w[0];
  set_out(c, 0, c.has(7) ? c.in[8].dtype : DType::kF32, out);
  return {};
}

template <class D>
Status qlinear_binary(RuleCtx<D>& c) {
  WICK_TRY(check_byte_input(c, 0, "a"));
  WICK_TRY(check_byte_input(c, 3, "b"));
  WICK_TRY(check_byte_output(c, 6));
  BasicShape<D> out;
  WICK_TRY(broadcast(c.in[0].shape, c.in[3].shape, &out));
  set_out(c, 0, c.in[7].dtype, out);
  return {};
}

template <class D>
Status qlinear_prelu(RuleCtx<D>& c) {
  WICK_TRY(check_byte_input(c, 0, "x"));
  if (c.in[3].dtype != DType::kF32) return no_type("slope", c.in[3].dtype);
  WICK_TRY(need_slope(c.in[0].shape, c.in[3].shape));
  WICK_TRY(check_byte_output(c, 4));
  set_out(c, 0, c.in[5].dtype, c.in[0].shape);
  return {};
}

template <class D>
Status qlinear_pool(RuleCtx<D>& c) {
  WICK_TRY(check_byte_input(c, 0, "x"));
  WICK_TRY(check_byte_output(c, 3));
  BasicShape<D> out;
  WICK_TRY(pool_shape(c.in[0], c.template as<PoolAttrs>(), &out));
  set_out(c, 0, c.in[4].dtype, out);
  return {};
}
template <class D>
Status qlinear_global_pool(RuleCtx<D>& c) {
  WICK_TRY(check_byte_input(c, 0, "x"));
  WICK_TRY(check_byte_output(c, 3));
  WICK_TRY(need_rank(c.in[0], 3, kMaxRank, "x"));
  auto out = c.in[0].shape;
  for (int d = 2; d < out.rank(); ++d) out[d] = D(1);
  set_out(c, 0, c.in[4].dtype, out);
  return {};
}

template <class D>
Status byte_table(RuleCtx<D>& c) {
  if (!is_byte(c.in[0].dtype)) {
    return error(Code::kTypeMismatch, "x must be int8 or uint8, got %s", dtype_name(c.in[0].dtype));
  }
  if (!is_byte(c.in[1].dtype) && c.in[1].dtype != DType::kF32)
    return no_type("table", c.in[1].dtype);
  WICK_TRY(need_vector(c, 1, D(256), "table"));
  set_out(c, 0, c.in[1].dtype, c.in[0].shape);
  return {};
}

template <class D>
Status qlinear_softmax(RuleCtx<D>& c) {
  WICK_TRY(check_byte_input(c, 0, "x"));
  WICK_TRY(check_byte_output(c, 3));
  WICK_TRY(need_rank(c.in[0], 1, kMaxRank, "x"));
  set_out(c, 0, c.in[4].dtype, c.in[0].shape);
  return {};
}

template <class D>
Status dynamic_linear(RuleCtx<D>& c) {
  if (c.in[0].dtype != DType::kF32) return no_type("x", c.in[0].dtype);
  if (c.in[1].dtype != DType::kI8) return no_type("weight", c.in[1].dtype);
  if (c.in[2].dtype != DType::kF32) return no_type("scale", c.in[2].dtype);
  if (c.has(3) && c.in[3].dtype != DType::kF32) return no_type("bias", c.in[3].dtype);
  WICK_TRY(need_rank(c.in[0], 1, kMaxRank, "x"));
  WICK_TRY(need_rank(c.in[1], 2, 2, "weight"));
  const auto &x = c.in[0].shape, &w = c.in[1].shape;
  if (dim_equal(x[x.rank() - 1], w[1]) == Tri::kNo) {
    return error(Code::kShapeMismatch,
                 "last input dimension differs from in_features: input %s, weight %s",
                 to_text(x).text, to_text(w).text);
  }
  if (is_single(c.in[2].shape) != Tri::kYes) WICK_TRY(need_vector(c, 2, w[0], "scale"));
  WICK_TRY(need_vector(c, 3, w[0], "bias"));
  auto out = x;
  out[x.rank() - 1] = w[0];
  set_out(c, 0, DType::kF32, out);
  return {};
}

template <class D>
Status dynamic_quantize_linear(RuleCtx<D>& c) {
  if (c.in[0].dtype != DType::kF32) return no_type("x", c.in[0].dtype);
  set_out(c, 0, DType::kU8, c.in[0].shape);
  set_out(c, 1, DType::kF32, BasicShape<D>{});
  set_out(c, 2, DType::kU8, BasicShape<D>{});
  return {};
}

}  // namespace wick::rules
