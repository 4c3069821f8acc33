#pragma once

#include "runtime/ops/rules/norm-inl.h"
#include "runtime/ops/rules/quantize-inl.h"

namespace wick::rules {

// Checks FakeQuantize: x is input 0; scale and zero point are inputs `scale` and `scale` + 1.
template <class D>
Status check_fake_quantize(RuleCtx<D>& c, size_t scale) {
  const auto& a = c.template as<FakeQuantizeAttrs>();
  const DType t = c.in[0].dtype;
  if (t != DType::kF32 && t != DType::kF64) return no_type("x", t);
  WICK_TRY(same_dtype(c));
  // both limits fit int32, and the range is not empty
  if (a.qmin >= a.qmax || INT32_MIN > a.qmin || a.qmax > INT32_MAX) {
    return error(Code::kInvalidArgument, "quant_min %lld must be below quant_max %lld, both int32",
                 static_cast<long long>(a.qmin), static_cast<long long>(a.qmax));
  }
  WICK_TRY(check_granularity(c, scale, a.axis, 0, "scale"));
  WICK_TRY(check_granularity(c, scale + 1, a.axis, 0, "zero_point"));
  const auto &s = c.in[scale].shape, &z = c.in[scale + 1].shape;
  const Tri one = is_single(s), other = is_single(z);
  if ((one == Tri::kNo && other == Tri::kYes) || (one == Tri::kYes && other == Tri::kNo))
    return shapes_differ("scale and zero_point must have one shape", s, z);
  return {};
}

template <class D>
Status fake_quantize(RuleCtx<D>& c) {
  WICK_TRY(check_fake_quantize(c, 1));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}

// Inputs: grad, x, scale, zero point.
template <class D>
Status fake_quantize_grad(RuleCtx<D>& c) {
  WICK_TRY(need_grad_shape(c.in[1].shape, c.in[0].shape));
  WICK_TRY(check_fake_quantize(c, 2));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}

// Inputs: y[N, C, ...], then vectors of [C].
template <class D>
Status folded_batch_norm(RuleCtx<D>& c) {
  WICK_TRY(check_channels(c, 0, 1));
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}

}  // namespace wick::rules
