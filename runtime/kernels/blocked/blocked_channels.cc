// Kernel rows of ops that move whole channels, where some value is in blocked layout: Concat,
// Split, Slice and Gather along the channels, from and to blocks and plain maps, at any channel;
// and Transpose to and from channels that are last.
#include <algorithm>
#include <cstring>

#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/indices.h"

namespace wick {
namespace {

struct Kept {
  const TileKernels* tiles;
  const BlockedKernels* kernels;
  int64_t start, step;  // of Slice
};

// A channel of an input.
struct Channel {
  size_t input;
  int64_t at;
};

// Returns where channel `c` of output `o` comes from.
Channel source_of(OpId op, const Kept& kept, Span<const TensorView> in, Span<const TensorView> out,
                  size_t o, int64_t c) {
  size_t input = 0;
  if (op == OpId::kConcat) {
    for (; c >= in[input].shape[1]; ++input) c -= in[input].shape[1];
  } else if (op == OpId::kSplit) {
    for (size_t i = 0; i < o; ++i) c += out[i].shape[1];
  } else if (op == OpId::kSlice) {
    c = kept.start + c * kept.step;
  } else {
    c = int_at(in[1], c);
    if (c < 0) c += in[0].shape[1];
  }
  return {input, c};
}

// Moves the channels of some image that one block of an output has, or would have; some of their
// pixels.
class Mover {
 public:
  Mover(OpId op, const Kept& kept, Span<const TensorView> in, Span<const TensorView> out)
      : op_(op), kept_(kept), in_(in), out_(out) {
    const Shape& s = in[0].shape;
    pixels_ = s[2] * s[3], lanes_ = kept.kernels->lanes;
  }

  void run(size_t o, int64_t image, int64_t block, int64_t begin, int64_t end) {
    const TensorView& y = out_[o];
    begin_ = begin, some_ = end - begin;
    const int64_t first = block * lanes_, count = std::min(lanes_, y.shape[1] - first);
    Channel from[kMostBlock];
    for (int64_t l = 0; l < count; ++l) from[l] = source_of(op_, kept_, in_, out_, o, first + l);
    if (y.block == 0) {
      const int64_t place = (image * y.shape[1] + first) * pixels_ + begin;
      return to_plain({from, static_cast<size_t>(count)}, image, y.as<float>() + place);
    }
    const int64_t place = ((image * blocks_of(y) + block) * pixels_ + begin) * lanes_;
    to_block({from, static_cast<size_t>(count)}, image, y.as<float>() + place);
  }

 private:
  const float* block_at(const Channel& c, int64_t image) const {
    const TensorView& x = in_[c.input];
    return x.as<float>() + ((image * blocks_of(x) + c.at / lanes_) * pixels_ + begin_) * lanes_;
  }
  const float* plain_at(const Channel& c, int64_t image) const {
    const TensorView& x = in_[c.input];
    return x.as<float>() + (image * x.shape[1] + c.at) * pixels_ + begin_;
  }
  bool blocked(const Channel& c) const { return in_[c.input].block != 0; }

  // Returns how many channels from the first on lie one after the other in a block or in plain
  // maps.
  int64_t run_of(Span<const Channel> from) const {
    int64_t n = 1;
    for (; n < static_cast<int64_t>(from.size()); ++n) {
      const Channel& next = from[static_cast<size_t>(n)];
      if (next.input != from[0].input || next.at != from[0].at + n) break;
      if (blocked(next) && next.at % lanes_ == 0) break;
    }
    return n;
  }

  void to_plain(Span<const Channel> from, int64_t image, float* y) const {
    for (size_t c = 0; c < from.size() && !stopped();) {
      const int64_t n = run_of(from.subspan(c));
      if (blocked(from[c])) {
        kept_.tiles->transpose(block_at(from[c], image) + from[c].at % lanes_, lanes_, y, pixels_,
                               some_, n);
      } else {
        const float* x = plain_at(from[c], image);
        for (int64_t i = 0; i < n; ++i)
          memcpy(y + i * pixels_, x + i * pixels_, sizeof(float) * static_cast<size_t>(some_));
      }
      c += static_cast<size_t>(n), y += n * pixels_;
    }
  }

  void to_block(Span<const Channel> from, int64_t image, float* y) const {
    BlockedPick p;
    p.y = y, p.pixels = some_;
    bool same = true;  // the block is one of x
    for (size_t l = 0; l < from.size(); ++l) {
      if (!blocked(from[l])) continue;
      const float* x = block_at(from[l], image);
      int s = 0;
      while (s < p.sources && p.x[s] != x) ++s;
      if (s == p.sources) {
        p.x[p.sources++] = x;
        std::fill_n(p.lane[s], kMostBlock, -1);
      }
      p.lane[s][l] = static_cast<int32_t>(from[l].at % lanes_);
      same = same && p.lane[s][l] == static_cast<int32_t>(l);
    }
    if (p.sources == 1 && same) {
      if (p.x[0] == y) return;  // kPartsInPlace
      memcpy(y, p.x[0], sizeof(float) * static_cast<size_t>(some_ * lanes_));
    } else if (p.sources != 0) {
      kept_.kernels->pick(p);
    }
    for (size_t l = 0; l < from.size() && !stopped();) {
      const int64_t n = blocked(from[l]) ? 1 : run_of(from.subspan(l));
      if (!blocked(from[l]))
        kept_.tiles->transpose(plain_at(from[l], image), pixels_, y + l, lanes_, n, some_);
      l += static_cast<size_t>(n);
    }
  }

  OpId op_;
  const Kept& kept_;
  Span<const TensorView> in_, out_;
  int64_t pixels_, lanes_;
  int64_t begin_ = 0, some_ = 0;  // of the pixels
};

bool is_map(const BlockedKernels& t, const TensorView& v) {
  return v.dtype == DType::kF32 && v.rank() == 4 && (v.block == 0 || v.block == t.lanes);
}
bool are_maps(Span<const TensorView> list) {
  const BlockedKernels& t = blocked_kernels();
  return t.lanes != 0 &&
         std::all_of(list.begin(), list.end(), [&](const TensorView& v) { return is_map(t, v); });
}
bool any_blocked(Span<const TensorView> list) {
  return std::any_of(list.begin(), list.end(), [](const TensorView& v) { return v.block != 0; });
}

// Blocks are made of plain inputs only where another input has them already: to begin with them is
// worthwhile for convolutions alone.
bool concat_fits(const KernelQuery& q) {
  return axis_of(q.as<AxisAttrs>().axis, 4) == 1 && are_maps(q.in) && are_maps(q.out) &&
         any_blocked(q.in);
}
bool split_fits(const KernelQuery& q) {
  return axis_of(q.as<SplitAttrs>().axis, 4) == 1 && are_maps(q.in.subspan(0, 1)) &&
         are_maps(q.out) && q.in[0].block != 0;
}
bool slice_fits(const KernelQuery& q) {
  const TensorView &x = q.in[0], &y = q.out[0];
  if (q.args == nullptr || x.block == 0 || !are_maps(q.in.subspan(0, 1)) || !are_maps(q.out))
    return false;
  const SliceRanges& s = q.args->slice;
  for (const int d : {0, 2, 3}) {
    if (x.shape[d] != y.shape[d] || (s.step[d] != 1 && y.shape[d] != 1)) return false;
  }
  return true;
}
bool gather_fits(const KernelQuery& q) {
  return axis_of(q.as<AxisAttrs>().axis, 4) == 1 && are_maps(q.in.subspan(0, 1)) &&
         are_maps(q.out) && q.in[0].block != 0 && q.in[1].rank() == 1;
}

Status plan_move(const KernelQuery& q, KernelPlan* p) {
  Kept kept = {&tile_kernels(), &blocked_kernels(), 0, 1};
  if (q.op == OpId::kSlice) kept.start = q.args->slice.start[1], kept.step = q.args->slice.step[1];
  p->keep(kept);
  return {};
}

// Returns whether all parts stand one after the other in the whole already (kPartsInPlace).
bool stand_in(Span<const TensorView> parts, const TensorView& whole) {
  const auto* at = whole.as<char>();
  return std::all_of(parts.begin(), parts.end(), [&](const TensorView& part) {
    const bool here = part.data == at;
    at += part.nbytes();
    return here;
  });
}

template <OpId op>
Status run_move(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void*) {
  if (op == OpId::kConcat && stand_in(in, out[0])) return {};
  if (op == OpId::kSplit && stand_in({out.data(), out.size()}, in[0])) return {};
  const auto& kept = ctx.plan->kept<Kept>();
  if (op == OpId::kGather) {
    WICK_TRY(reference::check_indices(in[1], 1, in[0].shape[1]));
    if (stopped()) return {};  // indices were not checked
  }
  const int64_t lanes = kept.kernels->lanes, images = in[0].shape[0];
  const int64_t width = in[0].shape[3];
  for (size_t o = 0; o < out.size() && !stopped(); ++o) {
    const int64_t blocks = ceil_div(out[o].shape[1], lanes);
    parallel_bands(ctx.pool, images, blocks, in[0].shape[2], width * lanes,
                   [&](int64_t i, int64_t begin, int64_t end) {
                     Mover mover(op, kept, in, {out.data(), out.size()});
                     if (!stopped())
                       mover.run(o, i / blocks, i % blocks, begin * width, end * width);
                   });
  }
  return {};
}

// Channels first to channels last: each pixel's channels become one row; or back.
bool is_perm(const TransposeAttrs& a, std::initializer_list<int64_t> perm) {
  return std::equal(a.perm.span().begin(), a.perm.span().end(), perm.begin(), perm.end());
}
bool transpose_fits(const KernelQuery& q) {
  const auto& a = q.as<TransposeAttrs>();
  if (!are_maps(q.in) || !are_maps(q.out)) return false;
  if (is_perm(a, {0, 2, 3, 1})) return q.in[0].block != 0 && q.out[0].block == 0;
  return is_perm(a, {0, 3, 1, 2}) && q.in[0].block == 0 && q.out[0].block != 0;
}

Status run_transpose(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                     const void*) {
  const bool back = out[0].block != 0;
  const TensorView &maps = back ? out[0] : in[0], &rows = back ? in[0] : out[0];
  const int64_t lanes = maps.block, channels = maps.shape[1], blocks = blocks_of(maps);
  const int64_t pixels = maps.shape[2] * maps.shape[3];
  parallel_items(ctx.pool, maps.shape[0] * pixels, channels, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t i = begin; i < end && !poll(channels / 4 + 1); ++i) {
      const int64_t image = i / pixels, pixel = i % pixels;
      float* row = rows.as<float>() + i * channels;
      for (int64_t b = 0; b < blocks; ++b, row += lanes) {
        float* block = maps.as<float>() + ((image * blocks + b) * pixels + pixel) * lanes;
        const auto n = static_cast<size_t>(std::min(lanes, channels - b * lanes));
        memcpy(back ? block : row, back ? row : block, sizeof(float) * n);
      }
    }
  });
  return {};
}

constexpr KernelRow kConcat = {
    "concat.f32.blocked",   kBlocked | kPartsInPlace, concat_fits, plan_move, nullptr,
    run_move<OpId::kConcat>};
constexpr KernelRow kSplit = {
    "split.f32.blocked",   kBlocked | kPartsInPlace, split_fits, plan_move, nullptr,
    run_move<OpId::kSplit>};
constexpr KernelRow kSlice = {"slice.f32.blocked", kBlocked, slice_fits,
                              plan_move,           nullptr,  run_move<OpId::kSlice>};
constexpr KernelRow kGather = {"gather.f32.blocked",   kBlocked, gather_fits, plan_move, nullptr,
                               run_move<OpId::kGather>};
constexpr KernelRow kTranspose = {
    "transpose.f32.blocked", kBlocked, transpose_fits, nullptr, nullptr, run_transpose};

}  // namespace

WICK_BLOCKED_ROWS(Concat, kConcat);
WICK_BLOCKED_ROWS(Split, kSplit);
WICK_BLOCKED_ROWS(Slice, kSlice);
WICK_BLOCKED_ROWS(Gather, kGather);
WICK_BLOCKED_ROWS(Transpose, kTranspose);

}  // namespace wick
