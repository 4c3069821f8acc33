#pragma once

#include "runtime/ops/rules/conv-inl.h"
#include "runtime/ops/rules/index-inl.h"

namespace wick::rules {

template <class D>
Status max_pool_indices(RuleCtx<D>& c) {
  const auto& a = c.template as<MaxPoolIndicesAttrs>();
  BasicShape<D> out;
  WICK_TRY(pool_shape(c.in[0], a.pool, &out));
  set_out(c, 0, c.in[0].dtype, out);
  set_out(c, 1, DType::kI64, out);
  return {};
}

template <class D>
Status lp_pool(RuleCtx<D>& c) {
  const auto& a = c.template as<LpPoolAttrs>();
  WICK_TRY(need_float(c.in[0]));
  const int64_t power = a.p;
  if (power < 1 || power > INT32_MAX) return Status(Code::kInvalidArgument, "p must be 1 or more");
  BasicShape<D> out;
  WICK_TRY(pool_shape(c.in[0], a.pool, &out));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status transposed_extent(const ConvTransposeAttrs& a, const D& in, const D& kernel, int i,
                         int spatial, D* out) {
  if (!a.output_shape.empty()) {
    *out = D(a.output_shape[i]);
    return {};
  }
  const D stride(a.conv.strides.at_or(i, 1));
  if (a.auto_pad != 0) {
    *out = dim_mul(in, stride);
    return {};
  }
  const D reach = dim_add(dim_mul(kernel - D(1), D(a.conv.dilations.at_or(i, 1))), D(1));
  const int64_t pads = a.conv.pads.at_or(i, 0) + a.conv.pads.at_or(i + spatial, 0);
  *out =
      dim_add(dim_add(dim_mul(in - D(1), stride), reach), D(a.output_padding.at_or(i, 0) - pads));
  if (dim_known(in) && dim_value(in) == 0) *out = D(0);  // nothing to spread
  if (dim_known(*out) && dim_value(*out) < 0)
    return error(Code::kShapeMismatch, "the pads (%lld) are larger than the output along dim %d",
                 static_cast<long long>(pads), i + 2);
  return {};
}

template <class D>
Status conv_transpose(RuleCtx<D>& c) {
  const auto& a = c.template as<ConvTransposeAttrs>();
  const auto &x = c.in[0].shape, &w = c.in[1].shape;
  WICK_TRY(need_float(c.in[0]));
  WICK_TRY(same_dtype(c));
  WICK_TRY(need_rank(c.in[0], 3, 5, "input"));
  if (w.rank() != x.rank()) return shapes_differ("input and weight must have the same rank", x, w);
  const int spatial = x.rank() - 2;
  WICK_TRY(check_window_lists(a.conv.strides.span(), a.conv.dilations.span(), a.conv.pads.span(),
                              spatial));
  auto bad = [&](const IntList<3>& list) {
    bool wrong = !list.empty() && list.count != spatial;
    for (int64_t v : list.span()) wrong = wrong || v < 0 || v > INT32_MAX;
    return wrong;
  };
  if (bad(a.output_padding) || bad(a.output_shape))
    return error(Code::kInvalidArgument,
                 "output_padding and output_shape must be %d values from 0 to 2^31 - 1", spatial);
  if (a.conv.group < 1) return Status(Code::kInvalidArgument, "group must be >= 1");
  if (dim_equal(x[1], w[0]) == Tri::kNo ||
      (dim_known(w[0]) && dim_value(w[0]) % a.conv.group != 0)) {
    return error(Code::kShapeMismatch, "channels differ: input %s, weight %s, group %lld",
                 to_text(x).text, to_text(w).text, static_cast<long long>(a.conv.group));
  }
  const D channels = dim_mul(w[1], D(a.conv.group));
  WICK_TRY(need_vector(c, 2, channels, "bias"));
  BasicShape<D> out{x[0], channels};
  for (int i = 0; i < spatial; ++i) {
    D extent(0);
    if (dim_known(w[2 + i]) && (dim_value(w[2 + i]) < 1 || dim_value(w[2 + i]) > INT32_MAX))
      return shapes_differ("empty kernel", x, w);
    WICK_TRY(transposed_extent(a, x[2 + i], w[2 + i], i, spatial, &extent));
    out.push_back(extent);
  }
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status col2im(RuleCtx<D>& c) {
  const auto& a = c.template as<Col2ImAttrs>();
  const auto& x = c.in[0].shape;
  WICK_TRY(need_number(c.in[0]));
  WICK_TRY(need_rank(c.in[0], 3, 3, "input"));
  WICK_TRY(need_index(c.in[2]));
  DimArgs<D, 6> image, block;
  WICK_TRY(read_dims(c, 1, IntList<1>{}, "image_shape", &image));
  WICK_TRY(read_dims(c, 2, IntList<1>{}, "block_shape", &block));
  const int spatial = image.count;
  if (spatial < 1 || block.count != spatial)
    return error(Code::kInvalidArgument, "image_shape has %d entries, block_shape %d", spatial,
                 block.count);
  WICK_TRY(check_window_lists(a.strides.span(), a.dilations.span(), a.pads.span(), spatial));
  int64_t positions = 1;
  D windows(1);
  for (int i = 0; i < spatial; ++i) {
    if (!dim_known(block.values[i])) return needs_value();
    const int64_t k = dim_value(block.values[i]);
    if (k < 1 || k > INT32_MAX ||
        (dim_known(image.values[i]) &&
         (dim_value(image.values[i]) < 1 || dim_value(image.values[i]) > INT32_MAX)))
      return Status(Code::kInvalidArgument, "image_shape and block_shape must be 1 or more");
    if (c.args != nullptr) c.args->blocks.extent[i] = k;
    positions = dim_mul(positions, k);
    D count(0);
    WICK_TRY(window_extent(image.values[i], D(k), a.strides.at_or(i, 1), a.dilations.at_or(i, 1),
                           a.pads.at_or(i, 0), a.pads.at_or(i + spatial, 0), false, &count));
    windows = dim_mul(windows, count);
  }
  if ((dim_known(x[1]) && dim_value(x[1]) % positions != 0) || dim_equal(x[2], windows) == Tri::kNo)
    return error(
        Code::kShapeMismatch,
        "columns %s do not fit: a multiple of %lld rows and one column a window are needed",
        to_text(x).text, static_cast<long long>(positions));
  BasicShape<D> out{x[0], dim_floor_div(x[1], positions)};
  for (int i = 0; i < spatial; ++i) out.push_back(image.values[i]);
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status deform_conv(RuleCtx<D>& c) {
  const auto& a = c.template as<DeformConvAttrs>();
  const auto &x = c.in[0].shape, &w = c.in[1].shape, &offset = c.in[2].shape;
  // conv_shape looks for the bias at input 2, where this op has the offsets
  RuleCtx<D> plain{c.op, c.attrs, {c.in.data(), 2}, c.out};
  WICK_TRY(same_dtype(c));
  BasicShape<D> out;
  WICK_TRY(conv_shape(plain, a.conv, &out));
  WICK_TRY(need_vector(c, 3, w[0], "bias"));
  if (a.offset_group < 1 || (dim_known(x[1]) && dim_value(x[1]) % a.offset_group != 0))
    return Status(Code::kInvalidArgument, "offset_group must divide the channels");
  const int spatial = x.rank() - 2;
  const D positions = dim_mul(product(w, 2, w.rank()), D(a.offset_group));
  auto fits = [&](const BasicShape<D>& s, const D& channels) {
    bool same = s.rank() == x.rank() && dim_equal(s[0], x[0]) != Tri::kNo &&
                dim_equal(s[1], channels) != Tri::kNo;
    for (int i = 2; same && i < s.rank(); ++i) same = dim_equal(s[i], out[i]) != Tri::kNo;
    return same;
  };
  if (!fits(offset, dim_mul(positions, D(spatial))))
    return shapes_differ("the offsets do not fit the output", offset, out);
  if (c.has(4) && !fits(c.in[4].shape, positions))
    return shapes_differ("the mask does not fit the output", c.in[4].shape, out);
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

}  // namespace wick::rules
