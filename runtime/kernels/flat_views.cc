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

bool splits_channels(OpId op, const void* attrs) {
  int64_t axis = 0;
  if (op == OpId::kConcat) axis = static_cast<const AxisAttrs*>(attrs)->axis;
  if (op == OpId::kSplit) axis = static_cast<const SplitAttrs*>(attrs)->axis;
  return axis == 1 || axis == -3;
}

int64_t blocks_in(const TensorView& v) { return (v.shape[1] + v.block - 1) / v.block; }
TensorView in_blocks(const TensorView& v) {
  return TensorView(v.data, v.dtype, {v.shape[0], blocks_in(v), v.shape[2] * v.shape[3], v.block});
}
// Views a row of pixels as one dimension.
TensorView in_rows(const TensorView& v) {
  return TensorView(v.data, v.dtype, {v.shape[0], blocks_in(v), v.shape[2], v.shape[3] * v.block});
}

// Returns whether the slice cuts out whole blocks, and whole pixels that follow each other.
bool slices_whole(const SliceRanges& s, const TensorView& x, const TensorView& y) {
  for (const int d : {1, 3}) {
    if (s.step[d] != 1 && y.shape[d] > 1) return false;
  }
  const int64_t end = s.start[1] + y.shape[1];
  return s.start[1] % x.block == 0 && (y.shape[1] % x.block == 0 || end == x.shape[1]);
}

// Returns whether constants are added around the pixels: other modes read which pixel is beside
// another.
bool pads_pixels(const PadSizes& s, const PadAttrs& a, const TensorView& x, const TensorView& y) {
  return a.mode == static_cast<int64_t>(PadMode::kConstant) && s.before[1] == 0 &&
         y.shape[1] == x.shape[1];
}

}  // namespace

// Elementwise ops, whose operands may have one number per channel: whole blocks of these are as in
// the plain layout.
bool FlatViews::elements(const TensorView& y) {
  const int64_t lanes = y.block;
  const auto is_one = [](const TensorView& v) { return v.numel() == 1 && v.block == 0; };
  bool by_channel = false;
  for (const TensorView& v : Span<const TensorView>(in_, ins_)) {
    if (!v.present() || is_one(v)) continue;
    if (v.shape != y.shape) {
      if (v.rank() != 4 || v.shape[1] != y.shape[1] || v.shape[2] != 1 || v.shape[3] != 1 ||
          (v.shape[0] != 1 && v.shape[0] != y.shape[0]) || v.shape[1] % lanes != 0 ||
          (v.block != 0 && v.block != lanes))
        return false;
      by_channel = true;
    } else if (v.block != lanes) {
      return false;
    }
  }
  const auto view = [&](const TensorView& v) {
    return by_channel ? in_blocks(v) : TensorView(v.data, v.dtype, {v.stored()});
  };
  for (TensorView& v : Span<TensorView>(in_, ins_)) {
    if (!v.present() || is_one(v)) continue;
    v = v.shape == y.shape
            ? view(v)
            : TensorView(v.data, v.dtype, {v.shape[0], v.shape[1] / lanes, 1, lanes});
  }
  out_[0] = view(y);
  return true;
}

// Concat and Split: whole blocks, but for the last part.
bool FlatViews::parts(bool joins) {
  const Span<TensorView> parts = joins ? Span<TensorView>(in_, ins_) : out();
  TensorView& whole = joins ? out_[0] : in_[0];
  const int64_t lanes = whole.block;
  if (lanes == 0 || whole.rank() != 4) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const TensorView& v = parts[i];
    if (v.block != lanes || (i + 1 < parts.size() && v.shape[1] % lanes != 0)) return false;
  }
  for (TensorView& v : parts) v = in_blocks(v);
  whole = in_blocks(whole);
  return true;
}

bool FlatViews::rows() {
  if (in_[0].block == 0 || in_[0].block != out_[0].block || in_[0].rank() != 4) return false;
  in_[0] = in_rows(in_[0]), out_[0] = in_rows(out_[0]);
  return true;
}

bool FlatViews::make(OpId op, const void* attrs, Span<const TensorView> in,
                     Span<const TensorView> out) {
  if (in.size() > kMostIn || out.size() > kMostOut || in.empty() || out.empty()) return false;
  ins_ = in.size(), outs_ = out.size();
  for (size_t i = 0; i < ins_; ++i) in_[i] = in[i];
  for (size_t i = 0; i < outs_; ++i) out_[i] = out[i];
  if (op == OpId::kSlice || op == OpId::kPad) return rows();
  if (op == OpId::kConcat || op == OpId::kSplit)
    return splits_channels(op, attrs) && parts(op == OpId::kConcat);
  const TensorView y = out[0];
  return outs_ == 1 && y.block != 0 && y.rank() == 4 && is_elementwise(op, attrs) && elements(y);
}

bool FlatViews::make(KernelQuery* q) {
  if (q->in.empty() || q->out.empty()) return false;
  const TensorView &x = q->in[0], &y = q->out[0];
  const bool slices = q->op == OpId::kSlice, pads = q->op == OpId::kPad;
  if (slices || pads) {
    if (q->args == nullptr || x.block == 0 || x.rank() != 4) return false;
    args_ = *q->args;
    if (slices ? !slices_whole(args_.slice, x, y)
               : !pads_pixels(args_.pad, q->as<PadAttrs>(), x, y))
      return false;
    if (slices) {
      args_.slice.start[1] /= x.block;
      args_.slice.start[3] *= x.block;
      args_.slice.step[1] = args_.slice.step[3] = 1;
    } else {
      args_.pad.before[3] *= x.block;
    }
    q->args = &args_;
  }
  if (!make(q->op, q->attrs, q->in, q->out)) return false;
  q->in = in(), q->out = out();
  return true;
}

}  // namespace wick
