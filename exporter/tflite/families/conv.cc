// Convolutions, transposed ones and linear layers.
#include <algorithm>

#include "exporter/tflite/families/hybrid.h"
#include "exporter/tflite/families/window.h"
#include "runtime/ops/attrs/window.h"

namespace wick::tflite {

int64_t same_padding(int64_t size, const Reach& r) {
  const int64_t windows = (size + r.stride - 1) / r.stride;
  const int64_t span = (windows - 1) * r.stride + (r.kernel - 1) * r.dilation + 1;
  return std::max<int64_t>(span - size, 0);
}

IntList<6> window_pads(const ReadCtx& c, fbs::Padding padding, int64_t height, int64_t width,
                       const Reach& h, const Reach& w) {
  const auto fits = [](int64_t v, int64_t least) { return v >= least && v <= INT32_MAX; };
  for (const Reach& r : {h, w}) {
    if (!fits(r.kernel, 1) || !fits(r.stride, 1) || !fits(r.dilation, 1))
      c.fail("its kernel, strides and dilations must be 1 or more, and below 2^31");
  }
  if (!fits(height, 0) || !fits(width, 0)) c.fail("its height and width must be below 2^31");
  if (padding == fbs::Padding::Valid) return {};
  if (padding != fbs::Padding::Same) c.fail("its padding is neither SAME nor VALID");
  const int64_t high = same_padding(height, h), wide = same_padding(width, w);
  return {high / 2, wide / 2, high - high / 2, wide - wide / 2};
}

namespace {

// Adds a bias of [channels] to planes.
ValueId with_bias(ReadCtx& c, ValueId planes, ValueId bias) {
  if (bias == kNoValue) return planes;
  return c.emit(OpId::kAdd, {planes, c.emit(OpId::kUnsqueeze, AxesAttrs{{1, 2}}, {bias})});
}

// Convolves input 0 as planes. `perm` makes the weight one whose outputs are first.
template <class Options>
void convolve(ReadCtx& c, const Options& o, const std::vector<int64_t>& perm,
              const std::vector<int64_t>& kernel, int64_t group) {
  const std::vector<int64_t> x = c.sizes(0);
  const Reach h{kernel[1], o.stride_h(), o.dilation_h()},
      w{kernel[2], o.stride_w(), o.dilation_w()};
  c.need_scales_along(1, perm[0]);
  ConvAttrs a;
  a.strides = {h.stride, w.stride};
  a.dilations = {h.dilation, w.dilation};
  a.pads = window_pads(c, o.padding(), x[1], x[2], h, w);
  a.group = group;
  const ValueId x_planes = c.in(0, Layout::kPlanes), bias = c.bias(2, 0, 1);
  ValueId y = kNoValue;
  if (is_hybrid(c, 0, 1)) {
    const bool each = c.input(1).how.scales.size() > 1;
    const AtRun at = quantized_at_run(c, x_planes, each ? Range::kAsymmetric : Range::kSymmetric);
    const ValueId sums = c.emit(OpId::kConv, a, {at.whole, whole_weight(c, 1, perm)});
    y = with_bias(c, scaled(c, sums, at, 1, 1, 4), bias);
  } else {
    y = c.emit(OpId::kConv, a, {x_planes, c.weight(1, perm), bias});
  }
  c.set(0, c.activated(y, o.activation()), Layout::kPlanes);
}

// The weight is [outputs, height, width, channels of a group].
void read_conv(ReadCtx& c) {
  c.need_rank(0, 4), c.need_rank(1, 4);
  const std::vector<int64_t> w = c.sizes(1), x = c.sizes(0);
  if (w[3] < 1 || x[3] % w[3] != 0)
    c.fail("its input has " + std::to_string(x[3]) + " channels, its weight " +
           std::to_string(w[3]));
  convolve(c, c.options<fbs::Conv2DOptions>(), {0, 3, 1, 2}, w, x[3] / w[3]);
}

// The weight is [1, height, width, outputs], those of the first channel first.
void read_depthwise(ReadCtx& c) {
  c.need_rank(0, 4), c.need_rank(1, 4);
  const std::vector<int64_t> w = c.sizes(1), x = c.sizes(0);
  if (w[0] != 1) c.fail("the first dim of its weight must be 1, is " + std::to_string(w[0]));
  convolve(c, c.options<fbs::DepthwiseConv2DOptions>(), {3, 0, 1, 2}, w, x[3]);
}

// Inputs: the result's shape, the weight [outputs, height, width, inputs], x, a bias. The pads are
// those with which a convolution of the result gives x; what no tap reaches is 0 and the bias.
void read_transposed(ReadCtx& c) {
  const auto& o = c.options<fbs::TransposeConvOptions>();
  c.need_rank(1, 4), c.need_rank(2, 4);
  c.need_scales_along(1, 0);
  const std::vector<int64_t> to = c.ints(0, 4, "sizes"), w = c.sizes(1), x = c.sizes(2);
  const Reach reach[] = {{w[1], o.stride_h(), 1}, {w[2], o.stride_w(), 1}};
  const IntList<6> same = window_pads(c, o.padding(), to[1], to[2], reach[0], reach[1]);
  if (x[1] > INT32_MAX || x[2] > INT32_MAX) c.fail("its input's sizes must be below 2^31");
  ConvTransposeAttrs a;
  a.conv.strides = {reach[0].stride, reach[1].stride};
  a.conv.pads = {0, 0, 0, 0};
  a.output_padding = {0, 0};
  for (int64_t d = 0; d < 2; ++d) {
    const Reach& r = reach[d];
    const int64_t size = to[static_cast<size_t>(1 + d)], before = same.at_or(d, 0);
    const int64_t whole = (x[static_cast<size_t>(1 + d)] - 1) * r.stride + r.kernel - before;
    a.conv.pads.values[d] = before;
    a.conv.pads.values[2 + d] = std::max<int64_t>(whole - size, 0);
    a.output_padding.values[d] = std::max<int64_t>(size - whole, 0);
  }
  const ValueId weight = c.weight(1, {3, 0, 1, 2}), bias = c.bias(3, 2, 1);
  const ValueId y = c.emit(OpId::kConvTranspose, a, {c.in(2, Layout::kPlanes), weight, bias});
  c.set(0, c.activated(y, o.activation()), Layout::kPlanes);
}

std::vector<int64_t> sizes_of(const ReadCtx& c, ValueId v) {
  const SymShape& s = c.g.value(v).shape;
  if (!c.g.value(v).ranked || !is_static(s)) c.fail("the sizes of its input must be known");
  const Shape known = to_static(s);
  return {known.begin(), known.end()};
}

// The weight is [outputs, inputs]; x is rows of so many inputs, whatever its dims are.
void read_fully_connected(ReadCtx& c) {
  const auto& o = c.options<fbs::FullyConnectedOptions>();
  if (o.weights_format() != 0) c.fail("its weight is shuffled, which cannot be read");
  c.need_rank(1, 2);
  c.need_scales_along(1, 0);
  const ValueId bias = c.bias(2, 0, 1);
  const std::vector<int64_t> x = c.sizes(0);
  if (x.empty()) c.fail("its input must have a dim");
  const int64_t inputs = c.sizes(1)[1];
  ValueId rows = c.in(0);
  if (!o.keep_num_dims() && (x.size() != 2 || x[1] != inputs)) rows = c.reshape(rows, {-1, inputs});
  if (!is_hybrid(c, 0, 1)) {
    const ValueId y = c.emit(OpId::kLinear, {rows, c.weight(1, {0, 1}), bias});
    return c.set(0, c.activated(y, o.activation()));
  }
  // Each row is a batch of its own.
  const std::vector<int64_t> kept = sizes_of(c, rows);
  const ValueId flat = kept.size() == 2 ? rows : c.reshape(rows, {-1, inputs});
  const bool whole_range = o.asymmetric_quantize_inputs();
  const AtRun at = quantized_at_run(c, flat, whole_range ? Range::kAsymmetric : Range::kSymmetric);
  const ValueId sums = c.emit(OpId::kLinear, {at.whole, whole_weight(c, 1, {0, 1})});
  ValueId y = scaled(c, sums, at, 1, 1, 2);
  if (bias != kNoValue) y = c.emit(OpId::kAdd, {y, bias});
  if (kept.size() != 2) {
    std::vector<int64_t> shape = kept;
    shape.back() = c.sizes(1)[0];
    y = c.reshape(y, shape);
  }
  c.set(0, c.activated(y, o.activation()));
}

void read_batch_matmul(ReadCtx& c) {
  const auto& o = c.options<fbs::BatchMatMulOptions>();
  const auto operand = [&](int i, bool turned) {
    const int rank = c.rank(i);
    if (rank < 2) c.fail("its operands must have 2 dims or more");
    std::vector<int64_t> perm;
    for (int d = 0; d < rank; ++d) perm.push_back(d);
    if (turned) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return c.transpose(c.in(i), perm);
  };
  const ValueId a = operand(0, o.adj_x()), b = operand(1, o.adj_y());
  c.set(0, c.emit(OpId::kMatMul, {a, b}));
}

}  // namespace

WICK_TFLITE_READ(CONV_2D, read_conv);
WICK_TFLITE_READ(DEPTHWISE_CONV_2D, read_depthwise);
WICK_TFLITE_READ(TRANSPOSE_CONV, read_transposed);
WICK_TFLITE_READ(FULLY_CONNECTED, read_fully_connected);
WICK_TFLITE_READ(BATCH_MATMUL, read_batch_matmul);

}  // namespace wick::tflite
