#include "runtime/kernels/flat_views.h"

#include <algorithm>

#include "runtime/core/int_math.h"
#include "runtime/core/stop.h"
#include "runtime/kernels/elementwise/elementwise.h"

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

// Views a row of pixels as one dimension.
TensorView in_rows(const TensorView& v) {
  return TensorView(v.data, v.dtype, {v.shape[0], blocks_of(v), v.shape[2], v.shape[3] * v.block});
}
TensorView in_pixels(const TensorView& v) {
  return TensorView(v.data, v.dtype, {v.shape[0], blocks_of(v), v.shape[2], v.shape[3], v.block});
}

// Returns the shape with dims of 1 in front, as it is broadcast.
Shape four_dims(const Shape& s) {
  Shape all;
  for (int i = s.rank(); i < 4; ++i) all.push_back(1);
  for (const int64_t d : s) all.push_back(d);
  return all;
}

// Copies a plain value, of four dims or fewer, to blocks of `lanes` channels.
void to_blocks(const TensorView& plain, int64_t lanes, float* to, ThreadPool* pool) {
  constexpr int64_t kPixels = 16;  // that every channel's cache line is read for
  const Shape s = four_dims(plain.shape);
  const int64_t channels = s[1], pixels = s[2] * s[3], blocks = ceil_div(channels, lanes);
  parallel_items(pool, s[0] * blocks, pixels * lanes, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * lanes, count = std::min(lanes, channels - first);
      const float* x = plain.as<float>() + (i / blocks * channels + first) * pixels;
      float* y = to + i * pixels * lanes;
      for (int64_t p = 0; p < pixels && !poll(kPixels * lanes); p += kPixels) {
        const int64_t stop = std::min(pixels, p + kPixels);
        for (int64_t c = 0; c < count; ++c) {
          for (int64_t q = p; q < stop; ++q) y[q * lanes + c] = x[c * pixels + q];
        }
      }
    }
  });
}

// Returns whether the slice cuts out whole blocks, and whole pixels that follow each other.
bool slices_whole(const SliceRanges& s, const TensorView& x, const TensorView& y) {
  for (const int d : {1, 3}) {
    if (s.step[d] != 1 && y.shape[d] > 1) return false;
  }
  const int64_t end = s.start[1] + y.shape[1];
  return s.start[1] % x.block == 0 && (y.shape[1] % x.block == 0 || end == x.shape[1]);
}

bool pads_pixels(const PadSizes& s, const TensorView& x, const TensorView& y) {
  return s.before[1] == 0 && y.shape[1] == x.shape[1];
}
// Returns whether the pad reads which pixel is beside another; constants are around whole rows.
bool pads_by_pixels(const PadAttrs& a) {
  return a.mode != static_cast<int64_t>(PadMode::kConstant);
}

}  // namespace

// Elementwise ops. An operand is one number, or has extent 1 in some dims: a number for each
// channel, or a map for all of them. What has channels and is plain is turned into blocks, unless
// its numbers lie as they would in blocks; at least one operand must be in blocks and whole.
bool FlatViews::elements(const TensorView& y) {
  const int64_t lanes = y.block, channels = y.shape[1];
  lanes_ = lanes;
  const auto is_one = [](const TensorView& v) { return v.numel() == 1 && v.block == 0; };
  bool whole = true, blocked = false;
  for (const TensorView& v : Span<const TensorView>(in_, ins_)) {
    if (!v.present() || is_one(v)) continue;
    if (v.rank() > 4 || (v.block != 0 && v.block != lanes)) return false;
    whole = whole && v.shape == y.shape;
    blocked = blocked || (v.shape == y.shape && v.block == lanes);
  }
  if (!blocked) return false;
  for (size_t i = 0; i < ins_; ++i) {
    TensorView& v = in_[i];
    if (!v.present() || is_one(v)) continue;
    const Shape s = four_dims(v.shape);
    const bool of_channels = s[1] == channels;
    if (!of_channels && v.block != 0) return false;
    const int64_t pixels = s[2] * s[3];
    const Shape view = of_channels ? Shape{s[0], ceil_div(channels, lanes), s[2], s[3], lanes}
                                   : Shape{s[0], 1, s[2], s[3], 1};
    turned_[i] = of_channels && v.block == 0 && (pixels != 1 || channels % lanes != 0);
    if (turned_[i] && v.dtype != DType::kF32) return false;
    v = TensorView(turned_[i] ? nullptr : v.data, v.dtype, whole ? Shape{numel(view)} : view);
    if (turned_[i]) turned_bytes_ += rounded(v.nbytes());
  }
  const Shape all = {y.shape[0], ceil_div(channels, lanes), y.shape[2], y.shape[3], lanes};
  out_[0] = TensorView(y.data, y.dtype, whole ? Shape{numel(all)} : all);
  return true;
}

void FlatViews::turn(void* scratch, ThreadPool* pool) {
  auto* to = static_cast<char*>(scratch);
  for (size_t i = 0; i < ins_; ++i) {
    if (!turned_[i]) continue;
    in_[i].data = to;
    to_blocks(given_[i], lanes_, reinterpret_cast<float*>(to), pool);
    to += rounded(in_[i].nbytes());
  }
}

bool FlatViews::moves(TensorView (*view)(const TensorView&)) {
  if (in_[0].block == 0 || in_[0].block != out_[0].block || in_[0].rank() != 4) return false;
  in_[0] = view(in_[0]), out_[0] = view(out_[0]);
  return true;
}

bool FlatViews::make(OpId op, const void* attrs, Span<const TensorView> in,
                     Span<const TensorView> out) {
  if (in.size() > kMostIn || out.size() > kMostOut || in.empty() || out.empty()) return false;
  ins_ = in.size(), outs_ = out.size();
  given_ = in;
  for (size_t i = 0; i < ins_; ++i) in_[i] = in[i];
  for (size_t i = 0; i < outs_; ++i) out_[i] = out[i];
  if (op == OpId::kSlice) return moves(in_rows);
  if (op == OpId::kPad) {
    return moves(pads_by_pixels(*static_cast<const PadAttrs*>(attrs)) ? in_pixels : in_rows);
  }
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
    if (slices ? !slices_whole(args_.slice, x, y) : !pads_pixels(args_.pad, x, y)) return false;
    if (slices) {
      args_.slice.start[1] /= x.block;
      args_.slice.start[3] *= x.block;
      args_.slice.step[1] = args_.slice.step[3] = 1;
    } else if (pads_by_pixels(q->as<PadAttrs>())) {
      args_.pad.before[4] = 0;
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
