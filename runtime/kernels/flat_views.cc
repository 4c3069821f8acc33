#include "runtime/kernels/flat_views.h"

namespace wick {
namespace {

bool is_elementwise(OpId op, const void* attrs) {
  switch (kind_of(op)) {
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kSelect: return true;
    case OpKind::kChain: return static_cast<const ChainAttrs*>(attrs)->row_dims == 0;
    default: return false;
  }
}

// Views a blocked value as [N, blocks, pixels, lanes].
TensorView in_blocks(const TensorView& v) {
  const int64_t blocks = (v.shape[1] + v.block - 1) / v.block;
  return TensorView(v.data, v.dtype, {v.shape[0], blocks, v.shape[2] * v.shape[3], v.block});
}

}  // namespace

bool FlatViews::make(OpId op, const void* attrs, Span<const TensorView> in,
                     Span<const TensorView> out) {
  if (in.size() > kMost || out.size() != 1 || out[0].block == 0 || out[0].rank() != 4) return false;
  const TensorView& y = out[0];
  const int64_t lanes = y.block;
  const bool joins = op == OpId::kConcat;
  if (joins) {
    const int64_t axis = static_cast<const AxisAttrs*>(attrs)->axis;
    if (axis != 1 && axis != -3) return false;
  } else if (!is_elementwise(op, attrs)) {
    return false;
  }
  bool by_channel = joins;
  count_ = in.size();
  for (size_t i = 0; i < in.size(); ++i) {
    const TensorView& v = in[i];
    in_[i] = v;
    if (!v.present() || (!joins && v.numel() == 1 && v.block == 0)) continue;
    if (joins) {  // all inputs but the last must have whole blocks
      if (v.block != lanes || (i + 1 < in.size() && v.shape[1] % lanes != 0)) return false;
    } else if (v.shape != y.shape) {  // per channel: whole blocks are as in plain layout
      if (v.rank() != 4 || v.shape[1] != y.shape[1] || v.shape[2] != 1 || v.shape[3] != 1 ||
          (v.shape[0] != 1 && v.shape[0] != y.shape[0]) || v.shape[1] % lanes != 0 ||
          (v.block != 0 && v.block != lanes))
        return false;
      by_channel = true;
    } else if (v.block != lanes) {
      return false;
    }
  }
  for (size_t i = 0; i < in.size(); ++i) {
    TensorView& v = in_[i];
    if (!v.present()) continue;
    if (v.block == 0 && v.numel() == 1 && !joins) continue;
    if (joins || v.shape == y.shape) {
      v = by_channel ? in_blocks(v) : TensorView(v.data, v.dtype, {v.stored()});
    } else {
      v = TensorView(v.data, v.dtype, {v.shape[0], v.shape[1] / lanes, 1, lanes});
    }
  }
  out_ = by_channel ? in_blocks(y) : TensorView(y.data, y.dtype, {y.stored()});
  return true;
}

}  // namespace wick
