// From windows back to images: ConvTranspose, Col2Im, MaxUnpool; and DeformConv.
#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

void read_conv_transpose(ReadCtx& c) {
  ValueId x = c.in(0), w = c.in(1);
  ConvTransposeAttrs a;
  if (c.rank(x) < 3 || c.rank(x) > 5 || c.rank(w) != c.rank(x))
    c.fail("needs 1 to 3 spatial dims in input and weight");
  c.fill(a.conv.strides, c.attr_ints("strides"), "strides");
  c.fill(a.conv.dilations, c.attr_ints("dilations"), "dilations");
  c.fill(a.output_padding, c.attr_ints("output_padding"), "output_padding");
  std::vector<int64_t> shape = c.attr_ints("output_shape"), kernel = c.attr_ints("kernel_shape");
  const SymShape& weight = onnx::shape(c, w);
  const auto spatial = static_cast<size_t>(c.rank(x) - 2);
  if (!kernel.empty() && kernel.size() != spatial) c.fail("kernel_shape does not fit the rank");
  for (size_t i = 0; i < kernel.size(); ++i) {
    const SymDim& k = weight[static_cast<int>(2 + i)];
    if (k.known() && k.constant() != kernel[i])
      c.fail("kernel_shape differs from the weight " + shape_text(weight));
  }
  if (shape.size() == spatial + 2) shape.erase(shape.begin(), shape.begin() + 2);  // N and C too
  c.fill(a.output_shape, shape, "output_shape");
  const std::string how = c.attr_string("auto_pad", "NOTSET");
  if (how == "SAME_UPPER") {
    a.auto_pad = static_cast<int64_t>(AutoPad::kSameUpper);
  } else if (how == "SAME_LOWER") {
    a.auto_pad = static_cast<int64_t>(AutoPad::kSameLower);
  } else if (how == "NOTSET" || how.empty()) {
    c.fill(a.conv.pads, c.attr_ints("pads"), "pads");
  } else if (how != "VALID") {
    c.fail("unknown auto_pad '" + how + "'");
  }
  a.conv.group = c.attr_int("group", 1);
  c.set(0, c.emit(OpId::kConvTranspose, a, {x, w, c.optional(2)}));
}

void read_col2im(ReadCtx& c) {
  Col2ImAttrs a;
  c.fill(a.strides, c.attr_ints("strides"), "strides");
  c.fill(a.dilations, c.attr_ints("dilations"), "dilations");
  c.fill(a.pads, c.attr_ints("pads"), "pads");
  c.set(0, c.emit(OpId::kCol2Im, a, {c.in(0), c.in(1), c.in(2)}));
}

void read_deform_conv(ReadCtx& c) {
  DeformConvAttrs a;
  c.fill(a.conv.strides, c.attr_ints("strides"), "strides");
  c.fill(a.conv.dilations, c.attr_ints("dilations"), "dilations");
  c.fill(a.conv.pads, c.attr_ints("pads"), "pads");
  a.conv.group = c.attr_int("group", 1);
  a.offset_group = c.attr_int("offset_group", 1);
  const std::vector<int64_t> kernel = c.attr_ints("kernel_shape");
  const Value& weight = c.g.value(c.in(1));
  bool fits = kernel.empty() || !weight.ranked ||
              weight.shape.rank() == static_cast<int>(kernel.size()) + 2;
  for (size_t i = 0; fits && weight.ranked && i < kernel.size(); ++i)
    fits = dim_equal(weight.shape[static_cast<int>(i) + 2], SymDim(kernel[i])) != Tri::kNo;
  if (!fits) c.fail("kernel_shape differs from the weight " + shape_text(weight.shape));
  c.set(0, c.emit(OpId::kDeformConv, a, {c.in(0), c.in(1), c.in(2), c.optional(3), c.optional(4)}));
}

// Scatters the largest elements over zeros of the size that was pooled, then pads to the size asked
// for.
void read_max_unpool(ReadCtx& c) {
  ValueId x = c.in(0), size = shape_of(c, x);
  std::vector<int64_t> kernel = c.attr_ints("kernel_shape"), strides = c.attr_ints("strides"),
                       pads = c.attr_ints("pads");
  const size_t spatial = kernel.size();
  if (c.rank(x) != static_cast<int>(spatial) + 2) c.fail("kernel_shape does not fit the input");
  if ((!strides.empty() && strides.size() != spatial) ||
      (!pads.empty() && pads.size() != 2 * spatial))
    c.fail("strides or pads do not fit kernel_shape");
  // (in - 1) * stride + kernel - pads
  std::vector<int64_t> step = {1, 1}, rest = {0, 0};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t stride = strides.empty() ? 1 : strides[i];
    const int64_t begin = pads.empty() ? 0 : pads[i], end = pads.empty() ? 0 : pads[i + spatial];
    const auto fits = [](int64_t v, int64_t least) { return v >= least && v <= INT32_MAX; };
    if (!fits(stride, 1) || !fits(kernel[i], 1) || !fits(begin, 0) || !fits(end, 0))
      c.fail("kernel_shape and strides must be positive, pads 0 or more");
    step.push_back(stride), rest.push_back(kernel[i] - begin - end - stride);
  }
  ValueId pooled =
      c.emit(OpId::kAdd, {c.emit(OpId::kMul, {size, c.int_constant(step)}), c.int_constant(rest)});
  ValueId zeros = c.emit(OpId::kExpand, ShapeAttrs{}, {c.scalar(x, 0), pooled});
  ValueId flat = c.emit(OpId::kScatterElements, ScatterAttrs{},
                        {reshape(c, zeros, {-1}), reshape(c, c.in(1), {-1}), reshape(c, x, {-1})});
  ValueId y = reshape_to(c, flat, pooled);
  if (c.has(2)) {
    ValueId more = c.emit(OpId::kSub, {c.in(2), pooled});
    std::vector<int64_t> none(spatial + 2, 0);
    ValueId all = c.emit(OpId::kConcat, AxisAttrs{0}, {c.int_constant(none), more});
    y = c.emit(OpId::kPad, PadAttrs{}, {y, all});
  }
  c.set(0, y);
}

void set_conv(NodeProto& n, const ConvAttrs& a) {
  set_list(n, "strides", a.strides);
  set_list(n, "dilations", a.dilations);
  if (a.group != 1) set_int(n, "group", a.group);
}

}  // namespace

WICK_READ(ConvTranspose, read_conv_transpose);
WICK_READ(Col2Im, read_col2im);
WICK_READ(DeformConv, read_deform_conv);
WICK_READ(MaxUnpool, read_max_unpool);

WICK_ONNX_ROW(ConvTranspose, [](WriteCtx& c) {
  const auto& a = c.as<ConvTransposeAttrs>();
  NodeProto& n = c.same("ConvTranspose");
  set_conv(n, a.conv);
  set_list(n, "output_padding", a.output_padding);
  set_list(n, "output_shape", a.output_shape);
  if (a.auto_pad == 0) return set_list(n, "pads", a.conv.pads);
  set_string(n, "auto_pad",
             a.auto_pad == static_cast<int64_t>(AutoPad::kSameUpper) ? "SAME_UPPER" : "SAME_LOWER");
});
WICK_ONNX_ROW(Col2Im, [](WriteCtx& c) {
  const auto& a = c.as<Col2ImAttrs>();
  NodeProto& n = c.same("Col2Im");
  set_list(n, "strides", a.strides);
  set_list(n, "dilations", a.dilations);
  set_list(n, "pads", a.pads);
});
WICK_ONNX_ROW(DeformConv, [](WriteCtx& c) {
  const auto& a = c.as<DeformConvAttrs>();
  NodeProto& n = c.same("DeformConv");
  set_conv(n, a.conv);
  set_list(n, "pads", a.conv.pads);
  if (a.offset_group != 1) set_int(n, "offset_group", a.offset_group);
});

}  // namespace wick::onnx
