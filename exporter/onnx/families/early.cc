// Operators that ONNX tried out in its default domain and removed again with opset 10, which
// converters of that time wrote. Those that ONNX Runtime runs are read here, with its semantics.
#include "exporter/onnx/read/compose.h"

namespace wick::onnx {
namespace {

void until_9(ReadCtx& c) {
  if (c.opset > 9)
    c.fail("was an experiment of ONNX's until opset 9, this is opset " + std::to_string(c.opset));
}

ValueId scaled(ReadCtx& c, ValueId x, const char* name, double fallback) {
  const double by = c.attr_float(name, fallback);
  return by == 1 ? x : c.emit(OpId::kMul, {x, c.scalar(x, by, name)});
}

void affine(ReadCtx& c) {  // alpha x + beta
  until_9(c);
  ValueId y = scaled(c, c.in(0), "alpha", 1);
  c.set(0, c.emit(OpId::kAdd, {y, c.scalar(y, c.attr_float("beta", 0), "beta")}));
}
void scale(ReadCtx& c) {
  until_9(c);
  ValueId x = c.in(0);
  c.set(0, c.emit(OpId::kMul, {x, c.scalar(x, c.attr_float("scale", 1), "scale")}));
}
template <OpId op>  // alpha f(beta x)
void scaled_function(ReadCtx& c) {
  until_9(c);
  c.set(0, scaled(c, c.emit(op, {scaled(c, c.in(0), "beta", 1)}), "alpha", 1));
}

void image_scaler(ReadCtx& c) {  // scale x + bias, one of each channel
  until_9(c);
  ValueId x = c.in(0);
  if (rank_or(c, x, 4) != 4) c.fail("needs [N, C, H, W], got " + shape_text(shape(c, x)));
  const AttributeProto* bias = c.attr("bias");
  if (bias == nullptr) c.fail("attribute 'bias' is required");
  const HostTensor values = HostTensor::of<float>(Shape{bias->floats_size(), 1, 1},
                                                  {bias->floats().begin(), bias->floats().end()});
  ValueId added = cast(c, c.constant(values), c.dtype(x));
  c.set(0, c.emit(OpId::kAdd, {scaled(c, x, "scale", 1), added}));
}

// `border` is left, top, right, bottom; `scale`, if given, is the height and width of the result.
void crop(ReadCtx& c) {
  until_9(c);
  ValueId x = c.in(0);
  if (rank_or(c, x, 4) != 4) c.fail("needs [N, C, H, W], got " + shape_text(shape(c, x)));
  const std::vector<int64_t> border = c.attr_ints("border"), size = c.attr_ints("scale");
  if (border.size() != 4) c.fail("border needs 4 numbers: left, top, right, bottom");
  if (!size.empty() && size.size() != 2) c.fail("scale needs 2 numbers: height, width");
  SliceAttrs a;
  a.axes = {2, 3};
  for (int i = 0; i < 2; ++i) {  // height, width
    const int64_t before = border[static_cast<size_t>(1 - i)],
                  after = border[static_cast<size_t>(3 - i)];
    const SymDim extent = shape(c, x)[2 + i];
    const int64_t kept = size.empty() ? 0 : size[static_cast<size_t>(i)];
    if (before < 0 || after < 0 || kept < 0 || before > INT32_MAX || after > INT32_MAX ||
        kept > INT32_MAX)
      c.fail("border and scale must be sizes");
    const int64_t needs = size.empty() ? before + after : before + kept;
    if (extent.known() && extent.constant() < needs)
      c.fail("its input has " + std::to_string(extent.constant()) + " along axis " +
             std::to_string(2 + i) + ", needs " + std::to_string(needs));
    a.starts.values[a.starts.count++] = before;
    a.ends.values[a.ends.count++] = !size.empty() ? before + kept : after == 0 ? INT64_MAX : -after;
  }
  c.set(0, c.emit(OpId::kSlice, a, {x}));
}

void dynamic_slice(ReadCtx& c) {  // reads it as Slice of opset 10 without steps
  until_9(c);
  c.set(0, c.emit(OpId::kSlice, SliceAttrs{}, {c.in(0), c.in(1), c.in(2), c.optional(3)}));
}

}  // namespace

WICK_READ(Affine, affine);
WICK_READ(Crop, crop);
WICK_READ(DynamicSlice, dynamic_slice);
WICK_READ(ImageScaler, image_scaler);
WICK_READ(ParametricSoftplus, scaled_function<OpId::kSoftplus>);
WICK_READ(Scale, scale);
WICK_READ(ScaledTanh, scaled_function<OpId::kTanh>);

}  // namespace wick::onnx
