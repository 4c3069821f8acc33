#include "runtime/backend/vulkan/graph/cuts.h"

#include "runtime/backend/vulkan/graph/broadcast.h"
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/kernels/reduce/reduce.h"

namespace wick::vulkan {
namespace {

Cut& add_cut(Cuts& cuts, int64_t extent) {
  Cut& cut = cuts.cut[cuts.count++];
  cut.extent = extent;
  for (int k = 0; k < kMostOperands; ++k) cut.dim[k] = -1, cut.unit[k] = 0;
  return cut;
}
void move(Cut& cut, int operand, int dim, int64_t unit = 1) {
  cut.dim[operand] = dim;
  cut.unit[operand] = unit;
}

// Dims that all operands step through as one are merged, which gives fewer, larger parts.
Status cut_broadcast(Cuts& cuts) {
  const int out = cuts.operands - 1;
  if (out > kMaxOperands) return unsupported("too many inputs to be cut");
  const Shape* shapes[kMaxOperands] = {};
  for (int k = 0; k < out; ++k) shapes[k] = &cuts.operand[k].shape;
  const BroadcastDims dims =
      broadcast_dims(cuts.operand[out].shape, {shapes, static_cast<size_t>(out)});
  for (int d = 0; d < dims.rank; ++d) {
    Cut& cut = add_cut(cuts, dims.dims[d]);
    for (int k = 0; k < out; ++k) {
      if (dims.strides[k][d] != 0) move(cut, k, d);
    }
    move(cut, out, d);
  }
  for (int k = 0; k <= out; ++k) {
    Shape merged;
    for (int d = 0; d < dims.rank; ++d)
      merged.push_back(k == out || dims.strides[k][d] != 0 ? dims.dims[d] : 1);
    cuts.operand[k].shape = merged;
  }
  return {};
}

// The first `dims` dims of input 0 and the output are equal and are cut together.
Status cut_leading(Cuts& cuts, int dims) {
  const int out = cuts.operands - 1;
  const Shape &x = cuts.operand[0].shape, &y = cuts.operand[out].shape;
  for (int d = 0; d < dims && d < y.rank() && x[d] == y[d]; ++d) {
    Cut& cut = add_cut(cuts, y[d]);
    move(cut, 0, d);
    move(cut, out, d);
  }
  return {};
}

// The epilogue of a product: inputs 2 to 4 have an entry per column (or channel), input 5 has the
// output's layout.
void move_epilogue(const Cuts& cuts, Cut& cut, int64_t per_step) {
  for (int k = 2; k < cuts.operands - 1 && k < 5; ++k) {
    if (cuts.operand[k].seen) move(cut, k, 0, per_step);
  }
}
void move_residual(const Cuts& cuts, Cut& cut, int dim, int64_t unit = 1) {
  if (cuts.operands == 7 && cuts.operand[5].seen) move(cut, 5, dim, unit);
}

Status cut_product(Cuts& cuts) {
  const Shape &a = cuts.operand[0].shape, &b = cuts.operand[1].shape, &y = cuts.operand[2].shape;
  if (a.rank() < 2 || b.rank() < 2) return unsupported("a matmul with a vector");
  for (int d = 0; d + 1 < y.rank(); ++d) {
    const bool row = d + 2 == y.rank();
    const int left = d - (y.rank() - a.rank()), right = d - (y.rank() - b.rank());
    Cut& cut = add_cut(cuts, y[d]);
    if (left >= 0 && a[left] == y[d]) move(cut, 0, left);
    if (!row && right >= 0 && b[right] == y[d]) move(cut, 1, right);
    move(cut, 2, d);
  }
  return {};
}

// x [rows, depth]; with Linear the weight's rows are columns of the output.
Status cut_rows(Cuts& cuts, bool weight_rows) {
  const int out = cuts.operands - 1;
  Shape &x = cuts.operand[0].shape, &y = cuts.operand[out].shape;
  if (x.rank() < 1 || y.rank() < 1) return unsupported("a scalar operand");
  const int64_t columns = y[y.rank() - 1], rows = numel(y) / columns;
  x = Shape{rows, x[x.rank() - 1]};
  y = Shape{rows, columns};
  if (out == 6 && cuts.operand[5].seen) {
    if (numel(cuts.operand[5].shape) != rows * columns) return unsupported("a broadcast residual");
    cuts.operand[5].shape = y;
  }
  Cut& by_row = add_cut(cuts, rows);
  move(by_row, 0, 0);
  move_residual(cuts, by_row, 0);
  move(by_row, out, 0);
  if (!weight_rows) return {};
  for (int k = 2; k < out && k < 5; ++k) {
    if (cuts.operand[k].seen && !(cuts.operand[k].shape == Shape{columns})) return {};
  }
  Cut& by_column = add_cut(cuts, columns);
  move(by_column, 1, 0);
  move_epilogue(cuts, by_column, 1);
  move_residual(cuts, by_column, 1);
  move(by_column, out, 1);
  return {};
}

// Cuts images first, then channels of the output, or groups.
Status cut_images(const ConvAttrs& conv, Cuts& cuts) {
  const int out = cuts.operands - 1;
  const Shape &x = cuts.operand[0].shape, &w = cuts.operand[1].shape, &y = cuts.operand[out].shape;
  Cut& image = add_cut(cuts, y[0]);
  move(image, 0, 0);
  move_residual(cuts, image, 0);
  move(image, out, 0);
  for (int k = 2; k < out && k < 5; ++k) {
    if (cuts.operand[k].seen && !(cuts.operand[k].shape == Shape{w[0]})) return {};
  }
  cuts.by_groups = conv.group > 1;
  const int64_t each = w[0] / conv.group;
  Cut& channel = add_cut(cuts, conv.group > 1 ? conv.group : w[0]);
  const int64_t unit = conv.group > 1 ? each : 1;
  if (conv.group > 1) move(channel, 0, 1, x[1] / conv.group);
  move(channel, 1, 0, unit);
  move_epilogue(cuts, channel, unit);
  move_residual(cuts, channel, 1, unit);
  move(channel, out, 1, unit);
  return {};
}

// A single scale is broadcast; otherwise the dims before its axis are cut, then the axis.
Status cut_quantized(Cuts& cuts, int64_t axis, bool blocks) {
  const int out = cuts.operands - 1, rank = cuts.operand[out].shape.rank();
  bool one = true;
  for (int k = 1; k < out; ++k) {
    if (!cuts.operand[k].seen) continue;
    one = one && numel(cuts.operand[k].shape) == 1;
    if (one) cuts.operand[k].shape = Shape{1};
  }
  if (one) return cut_broadcast(cuts);
  const int at = static_cast<int>(axis < 0 ? axis + rank : axis);
  if (at < 0 || at >= rank) return unsupported("an axis out of range");
  WICK_TRY(cut_leading(cuts, blocks ? at : at + 1));
  for (int k = 1; k < out; ++k) {
    if (!cuts.operand[k].seen || numel(cuts.operand[k].shape) == 1) continue;
    for (int d = 0; d < cuts.count; ++d) {
      if (blocks || d == at) move(cuts.cut[d], k, blocks ? d : 0);
    }
  }
  return {};
}

int axis_of(const OpCall& call) {
  const int64_t axis = static_cast<const AxisAttrs*>(call.attrs)->axis;
  const int rank = call.in[0].rank();
  const int64_t at = axis < 0 ? axis + rank : axis;
  return at < 0 || at >= rank ? 0 : static_cast<int>(at);
}

}  // namespace

Status cut_elementwise(const OpCall&, Cuts& cuts) { return cut_broadcast(cuts); }
Status cut_matmul(const OpCall&, Cuts& cuts) { return cut_product(cuts); }
Status cut_linear(const OpCall&, Cuts& cuts) { return cut_rows(cuts, true); }
Status cut_fused_matmul(const OpCall&, Cuts& cuts) { return cut_rows(cuts, false); }

Status cut_conv(const OpCall& call, Cuts& cuts) {
  return cut_images(*static_cast<const ConvAttrs*>(call.attrs), cuts);
}
Status cut_fused_conv(const OpCall& call, Cuts& cuts) {
  return cut_images(static_cast<const FusedConvAttrs*>(call.attrs)->conv, cuts);
}
Status cut_planes(const OpCall&, Cuts& cuts) { return cut_leading(cuts, 2); }

Status cut_quantize(const OpCall& call, Cuts& cuts) {
  const auto& a = *static_cast<const QuantizeAttrs*>(call.attrs);
  return cut_quantized(cuts, a.axis, a.block_size > 0);
}
Status cut_dequantize(const OpCall& call, Cuts& cuts) {
  const auto& a = *static_cast<const DequantizeAttrs*>(call.attrs);
  return cut_quantized(cuts, a.axis, a.block_size > 0);
}

Status cut_before_axis(const OpCall& call, Cuts& cuts) { return cut_leading(cuts, axis_of(call)); }

Status cut_batch_norm(const OpCall&, Cuts& cuts) {
  WICK_TRY(cut_leading(cuts, 1));
  Cut& channel = add_cut(cuts, cuts.operand[0].shape[1]);
  move(channel, 0, 1);
  for (int k = 1; k < 5; ++k) move(channel, k, 0);
  move(channel, 5, 1);
  return {};
}

// Cuts the dims before the axis, then those of the indices.
Status cut_gather(const OpCall& call, Cuts& cuts) {
  const int axis = axis_of(call);
  WICK_TRY(cut_leading(cuts, axis));
  if (cuts.count < axis) return {};
  const Shape& i = cuts.operand[1].shape;
  for (int d = 0; d < i.rank() && cuts.count < kMaxRank; ++d) {
    Cut& cut = add_cut(cuts, i[d]);
    move(cut, 1, d);
    move(cut, 2, axis + d);
  }
  return {};
}

// A dim that is indexed only in part cannot be cut: a part would read other rows.
Status cut_gather_elements(const OpCall& call, Cuts& cuts) {
  const int axis = axis_of(call);
  WICK_TRY(cut_leading(cuts, axis));
  const Shape &x = cuts.operand[0].shape, &i = cuts.operand[1].shape;
  for (int d = 0; d < axis; ++d) {
    if (x[d] == i[d] && d < cuts.count) {
      move(cuts.cut[d], 1, d);
    } else if (d < cuts.count) {
      cuts.count = d;
    }
  }
  return {};
}

Status cut_kept_in_front(const OpCall& call, Cuts& cuts) {
  int first = 0;
  while (first < call.in[0].rank() && !call.args->reduce.set[first]) ++first;
  return cut_leading(cuts, first);
}

Status cuts_of(const OpCall& asked, Cuts& cuts) {
  ShapeArgs args;
  OpCall call = asked;
  WICK_TRY(resolve(call, args));
  cuts.count = cuts.operands = 0;
  cuts.by_groups = false;
  if (call.out.size() != 1 || call.in.size() + 1 > kMostOperands)
    return unsupported("a call of many tensors that are larger than a shader of this device sees");
  auto add = [&](const TensorView& v, bool seen) {
    CutOperand& o = cuts.operand[cuts.operands++];
    o = {seen && v.present(), v.shape, static_cast<uint32_t>(dtype_bits(v.dtype))};
  };
  for (size_t i = 0; i < call.in.size(); ++i) add(call.in[i], reads_input(call.op, i));
  add(call.out[0], true);
  for (int k = 0; k < cuts.operands; ++k) {
    if (cuts.operand[k].seen && cuts.operand[k].element_bits == 0)
      return unsupported("a tensor larger than a shader sees, of no numbers");
  }
  if (const auto cut = vulkan_row(call.op).cut; cut != nullptr) return cut(call, cuts);
  return unsupported("a tensor larger than a shader of this device sees, which this op cannot cut");
}

}  // namespace wick::vulkan
