#pragma once

#include "runtime/ops/rules/matmul-inl.h"

namespace wick::rules {

inline Status check_window_lists(Span<const int64_t> strides, Span<const int64_t> dilations,
                                 Span<const int64_t> pads, int spatial) {
  auto bad = [&](Span<const int64_t> list, size_t n, int64_t lo) {
    if (!list.empty() && list.size() != n) return true;
    for (int64_t v : list) {
      if (v < lo || v > INT32_MAX) return true;
    }
    return false;
  };
  auto n = static_cast<size_t>(spatial);
  if (bad(strides, n, 1))
    return error(Code::kInvalidArgument, "strides must be %d values from 1 to 2^31 - 1", spatial);
  if (bad(dilations, n, 1))
    return error(Code::kInvalidArgument, "dilations must be %d values from 1 to 2^31 - 1", spatial);
  if (bad(pads, 2 * n, 0))
    return error(Code::kInvalidArgument, "pads must be %d values from 0 to 2^31 - 1", 2 * spatial);
  return {};
}

// Computes the output extent of a window over one spatial dim; fails when the window does not fit.
template <class D>
Status window_extent(const D& in, const D& kernel, int64_t stride, int64_t dilation,
                     int64_t pad_begin, int64_t pad_end, bool ceil_mode, D* out) {
  D span = dim_add(dim_mul(kernel - D(1), D(dilation)), D(1));
  D room = in + D(pad_begin + pad_end) - span;
  // an empty dim that is at most one stride too short for a window gives an output of 0
  if (dim_known(in) && dim_value(in) == 0 && dim_known(room) && dim_value(room) < 0 &&
      dim_value(room) >= -stride) {
    *out = D(0);
    return {};
  }
  // With ceil_mode a window that is too long by less than a stride is taken (PyTorch, ONNX): what
  // lies beyond the padded input does not count.
  const int64_t beyond = ceil_mode ? stride - 1 : 0;
  if (dim_known(room) && dim_value(room) < -beyond) {
    return error(Code::kShapeMismatch,
                 "the window (%lld with its dilation) is larger than the padded input (%lld)",
                 static_cast<long long>(dim_value(span)),
                 static_cast<long long>(dim_value(room + span)));
  }
  D steps = dim_floor_div(room + D(beyond), stride);
  *out = steps + D(1);
  // A window that starts beyond the input and its left padding is dropped (PyTorch; ONNX from opset
  // 19).
  if (ceil_mode && dim_known(*out) && dim_known(in) &&
      (dim_value(*out) - 1) * stride >= dim_value(in) + pad_begin) {
    *out = *out - D(1);
  }
  return {};
}

template <class D>
Status conv_window(RuleCtx<D>& c, const ConvAttrs& a, BasicShape<D>* out) {
  WICK_TRY(need_rank(c.in[0], 3, 5, "input"));
  const auto &x = c.in[0].shape, &w = c.in[1].shape;
  int spatial = x.rank() - 2;
  if (w.rank() != x.rank()) return shapes_differ("input and weight must have the same rank", x, w);
  WICK_TRY(check_window_lists(a.strides.span(), a.dilations.span(), a.pads.span(), spatial));
  if (a.group < 1) return Status(Code::kInvalidArgument, "group must be >= 1");
  if (dim_equal(x[1], dim_mul(w[1], D(a.group))) == Tri::kNo ||
      (dim_known(w[0]) && dim_value(w[0]) % a.group != 0)) {
    return error(Code::kShapeMismatch, "channels differ: input %s, weight %s, group %lld",
                 to_text(x).text, to_text(w).text, static_cast<long long>(a.group));
  }
  *out = BasicShape<D>{x[0], w[0]};
  for (int i = 0; i < spatial; ++i) {
    D extent(0);
    if (dim_known(w[2 + i]) && dim_value(w[2 + i]) < 1) return shapes_differ("empty kernel", x, w);
    WICK_TRY(window_extent(x[2 + i], w[2 + i], a.strides.at_or(i, 1), a.dilations.at_or(i, 1),
                           a.pads.at_or(i, 0), a.pads.at_or(i + spatial, 0), false, &extent));
    out->push_back(extent);
  }
  return {};
}
template <class D>
Status conv_shape(RuleCtx<D>& c, const ConvAttrs& a, BasicShape<D>* out) {
  WICK_TRY(need_float(c.in[0]));
  WICK_TRY(same_dtype(c));
  WICK_TRY(conv_window(c, a, out));
  return need_vector(c, 2, c.in[1].shape[0], "bias");
}

template <class D>
Status conv(RuleCtx<D>& c) {
  BasicShape<D> out;
  WICK_TRY(conv_shape(c, c.template as<ConvAttrs>(), &out));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status fused_conv(RuleCtx<D>& c) {
  const auto& a = c.template as<FusedConvAttrs>();
  BasicShape<D> out;
  WICK_TRY(conv_shape(c, a.conv, &out));
  set_out(c, 0, c.in[0].dtype, out);
  return check_epilogue(c, c.in[1].shape[0]);
}

// Checks that grad_output `g` has the shape that a conv with these attributes makes of x and w:
// kernels rely on it.
template <class D>
Status conv_grad_fits(RuleCtx<D>& c, const BasicShape<D>& x, const BasicShape<D>& w,
                      const BasicShape<D>& g) {
  const ValueInfo<D> in[2] = {{c.in[0].dtype, x}, {c.in[0].dtype, w}};
  const ConvAttrs& a = c.template as<ConvGradAttrs>().conv;
  RuleCtx<D> forward{OpId::kConv, &a, in, {}};
  BasicShape<D> out;
  WICK_TRY(conv_window(forward, a, &out));
  return need_grad_shape(out, g);
}
template <class D>
Status conv_input_grad(RuleCtx<D>& c) {
  const auto& a = c.template as<ConvGradAttrs>();
  const auto &g = c.in[0].shape, &w = c.in[1].shape;
  WICK_TRY(need_float(c.in[0]));
  WICK_TRY(same_dtype(c));
  if (g.rank() != w.rank() || a.spatial.count != g.rank() - 2)
    return shapes_differ("grad_output and weight do not fit", g, w);
  BasicShape<D> out{g[0], dim_mul(w[1], D(a.conv.group))};
  for (int64_t s : a.spatial.span()) out.push_back(D(s));
  WICK_TRY(conv_grad_fits(c, out, w, g));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}
template <class D>
Status conv_weight_grad(RuleCtx<D>& c) {
  const auto& a = c.template as<ConvGradAttrs>();
  const auto &x = c.in[0].shape, &g = c.in[1].shape;
  WICK_TRY(need_float(c.in[0]));
  WICK_TRY(same_dtype(c));
  if (g.rank() != x.rank() || a.spatial.count != g.rank() - 2 || a.conv.group < 1)
    return shapes_differ("input and grad_output do not fit", x, g);
  BasicShape<D> out{g[1], dim_floor_div(x[1], a.conv.group)};
  for (int64_t s : a.spatial.span()) out.push_back(D(s));
  WICK_TRY(conv_grad_fits(c, x, out, g));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

// The divisor of an average that includes the pads: exact in every type that divides.
constexpr int64_t kMaxWindow = int64_t{1} << 53;

template <class D>
Status pool_shape(const ValueInfo<D>& input, const PoolAttrs& a, BasicShape<D>* result) {
  WICK_TRY(need_number(input));
  WICK_TRY(need_rank(input, 3, 5, "input"));
  const auto& x = input.shape;
  int spatial = x.rank() - 2;
  WICK_TRY(check_window_lists(a.strides.span(), a.dilations.span(), a.pads.span(), spatial));
  if (a.kernel_shape.count != spatial) {
    return error(Code::kInvalidArgument, "kernel_shape needs %d values for input %s", spatial,
                 to_text(x).text);
  }
  BasicShape<D> out{x[0], x[1]};
  int64_t positions = 1;
  for (int i = 0; i < spatial; ++i) {
    int64_t k = a.kernel_shape[i], pad_begin = a.pads.at_or(i, 0),
            pad_end = a.pads.at_or(i + spatial, 0);
    if (k < 1 || k > INT32_MAX)
      return Status(Code::kInvalidArgument, "kernel_shape must be 1 to 2^31 - 1");
    positions = dim_mul(positions, k);
    if (positions > kMaxWindow)
      return Status(Code::kInvalidArgument, "the window has more than 2^53 positions");
    const int64_t reach = (k - 1) * a.dilations.at_or(i, 1) + 1;
    if (pad_begin >= reach || pad_end >= reach) {
      return Status(Code::kInvalidArgument, "pads must be smaller than the window");
    }
    D extent(0);
    WICK_TRY(window_extent(x[2 + i], D(k), a.strides.at_or(i, 1), a.dilations.at_or(i, 1),
                           pad_begin, pad_end, a.ceil_mode != 0, &extent));
    out.push_back(extent);
  }
  *result = out;
  return {};
}
template <class D>
Status pool(RuleCtx<D>& c) {
  if (c.op == OpId::kAveragePool) WICK_TRY(need_float(c.in[0]));
  BasicShape<D> out;
  WICK_TRY(pool_shape(c.in[0], c.template as<PoolAttrs>(), &out));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}
template <class D>
Status pool_grad(RuleCtx<D>& c) {
  WICK_TRY(same_dtype(c));
  WICK_TRY(need_float(c.in[0]));
  BasicShape<D> out;
  WICK_TRY(pool_shape(c.in[1], c.template as<PoolAttrs>(), &out));
  WICK_TRY(need_grad_shape(out, c.in[0].shape));
  set_out(c, 0, c.in[1].dtype, c.in[1].shape);
  return {};
}

}  // namespace wick::rules
