// dw[o][k] = sum over pixels of x[k at pixel] * dy[o][pixel]: a register tile has the weight's taps
// as rows and output channels as lanes, and walks the pixels by a table of offsets into the padded
// input.
#include <algorithm>
#include <cstring>

#include "runtime/core/int_math.h"
#include "trainer/kernels/depthwise.h"

namespace wick {
namespace {

// The number of pixels of grad_output that are transposed at a time, of one image or of several
// small ones: they and the padded images stay in L2 during the loop over the taps.
constexpr int64_t kPixelChunk = 256;
constexpr int64_t kBlockFloats = int64_t{1} << 17;
// Tiles of sums that are transposed into the result together, so that it is written in whole lines.
constexpr int64_t kTurnedTiles = 8;

class WeightGrad {
 public:
  WeightGrad(const TileKernels& t, const ConvShape& s, const ConvDepth& depth, int threads)
      : t_(t), s_(s), depth_(depth), threads_(threads) {
    const int64_t span_d = (depth.out - 1) * depth.stride + (depth.kernel - 1) * depth.dilation + 1;
    const int64_t span_h = (s.oh - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1;
    const int64_t span_w = (s.ow - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1;
    padded_ = depth.pad != 0 || s.pad_top != 0 || s.pad_left != 0 || span_d > depth.in ||
              span_h > s.h || span_w > s.w;
    planes_ = padded_ ? span_d : depth.in;
    image_.rows = padded_ ? span_h : s.h;
    image_.cols = padded_ ? span_w : s.w;
    channel_floats_ = planes_ * image_.channel_floats();
    taps_ = depth.kernel * s.taps();
    k_ = s.group_in() * taps_;
    panel_cols_ = conv_panel_cols(t, s.group_out());
    panels_ = ceil_div(s.group_out(), panel_cols_);
    wide_ = panels_ * panel_cols_;
    const int64_t plane = map();
    slices_ = conv_weight_grad_slices(s.n, plane, s.oc * k_);
    // Tasks beyond the slices share the taps; each then prepares its own copy of the images.
    const int64_t more = ceil_div(2 * threads, slices_ * s.groups);
    parts_ = threads == 1 ? 1 : std::min(more, ceil_div(k_, int64_t{t.mr}));
    part_rows_ = round_up(ceil_div(k_, parts_), t.mr);
    // An odd number of cache lines, so that the same element of several images falls into different
    // cache sets.
    image_floats_ = padded_ ? round_up(s.group_in() * channel_floats_, 32) + 16 : 0;
    image_step_ = padded_ ? image_floats_ : s.ic * volume();
    const int64_t most =
        std::min(ceil_div(s.n, slices_), kPixelChunk / std::max<int64_t>(plane, 1));
    block_ = std::clamp<int64_t>(kBlockFloats / std::max<int64_t>(image_step_, 1), 1,
                                 std::max<int64_t>(most, 1));
    chunk_ = block_ > 1 ? block_ * plane : std::min<int64_t>(kPixelChunk, plane);
    // With one slice of one block the sums are written directly to the result.
    direct_ = slices_ == 1 && block_ >= s.n && chunk_ >= s.n * plane && s.n > 0;
    partial_floats_ = direct_ ? 0 : round_up(k_ * wide_, 16);
    table_floats_ = round_up(std::max(plane, chunk_), 16);
  }

  size_t scratch_bytes() const {
    return sizeof(float) *
           static_cast<size_t>(table_floats_ + slices_ * s_.groups * partial_floats_ +
                               threads_ * worker_floats());
  }

  void run(const float* x, const float* dy, float* dw, float* scratch, ThreadPool* pool) {
    pixel_ = reinterpret_cast<int32_t*>(scratch);
    partials_ = scratch + table_floats_;
    float* workers = partials_ + slices_ * s_.groups * partial_floats_;
    int32_t* to = pixel_;
    for (int64_t n = 0; n < block_; ++n) {
      for (int64_t d = 0; d < depth_.out; ++d) {
        const int64_t first = n * image_step_ + d * depth_.stride * image_.channel_floats();
        for (int64_t i = 0; i < s_.oh; ++i) {
          for (int64_t j = 0; j < s_.ow; ++j) {
            *to++ = static_cast<int32_t>(first + i * s_.stride_h * image_.cols + j * s_.stride_w);
          }
        }
      }
    }
    dw_ = dw;
    parallel_for(pool, slices_ * s_.groups * parts_, [&](int64_t task, int worker) {
      slice(x, dy, task / parts_ / s_.groups, task / parts_ % s_.groups, task % parts_,
            workers + worker * worker_floats());
    });
    if (direct_) return;
    // Rows of taps are independent: add the slices in order, then transpose [k][o] to [o][k].
    const int64_t rows = std::max<int64_t>(t_.mr, 8192 / wide_);
    const int64_t blocks = ceil_div(k_, rows);
    parallel_for(pool, s_.groups * blocks, [&](int64_t task, int) {
      const int64_t g = task / blocks, k = task % blocks * rows;
      combine(g, k, std::min(k_, k + rows), dw + g * s_.group_out() * k_);
    });
  }

 private:
  // The elements of a channel of the input and of grad_output.
  int64_t volume() const { return depth_.in * s_.h * s_.w; }
  int64_t map() const { return depth_.out * s_.oh * s_.ow; }
  int64_t tile_floats() const {
    return direct_ ? round_up(kTurnedTiles * t_.mr * panel_cols_, 16) : 0;
  }
  int64_t worker_floats() const {
    return block_ * image_floats_ + round_up(chunk_ * wide_, 16) + tile_floats();
  }
  float* partial(int64_t slice, int64_t g) {
    return partials_ + (slice * s_.groups + g) * partial_floats_;
  }

  void slice(const float* x, const float* dy, int64_t slice, int64_t g, int64_t part, float* own) {
    const int64_t k0 = part * part_rows_, k1 = std::min(k_, k0 + part_rows_);
    if (k0 >= k1) return;
    const int64_t c0 = k0 / taps_, c1 = ceil_div(k1, taps_);
    const int64_t plane = map(), end = slice_begin(slice + 1, slices_, s_.n);
    float* sums = partial(slice, g);
    float* turned = own + block_ * image_floats_;
    bool resume = false;
    for (int64_t n = slice_begin(slice, slices_, s_.n); n < end; n += block_) {
      const int64_t images = std::min(block_, end - n);
      const float* image = x + (n * s_.ic + g * s_.group_in()) * volume();
      if (padded_) {
        for (int64_t i = 0; i < images; ++i) {
          const float* from = image + i * s_.ic * volume();
          for (int64_t c = c0; c < c1; ++c)
            pad(from + c * volume(), own + i * image_floats_ + c * channel_floats_);
        }
        image = own;
      }
      const float* grad = dy + (n * s_.oc + g * s_.group_out()) * plane;
      // One image in chunks of pixels, or several whole images.
      for (int64_t p = 0; p < plane; p += std::min(chunk_, plane)) {
        const int64_t pixels = std::min(chunk_, plane - p);
        for (int64_t i = 0; i < images; ++i) {
          for (int64_t o = 0; o < s_.group_out(); o += panel_cols_) {
            t_.transpose(grad + (i * s_.oc + o) * plane + p, plane,
                         turned + o * chunk_ + i * plane * panel_cols_, panel_cols_,
                         std::min(panel_cols_, s_.group_out() - o), pixels);
          }
        }
        tiles(image, turned, p, images * pixels, k0, k1, resume, g,
              direct_ ? turned + round_up(chunk_ * wide_, 16) : sums);
        resume = true;
      }
    }
    if (!resume) {
      for (int64_t k = k0; k < k1; ++k)
        memset(sums + k * wide_, 0, sizeof(float) * static_cast<size_t>(wide_));
    }
  }

  // Copies a channel to its padded form; planes and elements outside are zero.
  void pad(const float* x, float* to) {
    const int64_t floats = image_.channel_floats();
    for (int64_t d = 0; d < planes_; ++d) {
      const int64_t at = d - depth_.pad;
      if (at < 0 || at >= depth_.in) {
        memset(to + d * floats, 0, sizeof(float) * static_cast<size_t>(floats));
      } else {
        pad_channels(t_, image_, x + at * s_.h * s_.w, 1, s_.h, s_.w, s_.pad_top, s_.pad_left,
                     to + d * floats);
      }
    }
  }

  // to: the slice's sums, or with direct_ room for some tiles, which are transposed from there into
  // dw.
  void tiles(const float* image, const float* turned, int64_t pixel, int64_t pixels, int64_t k0,
             int64_t k1, bool resume, int64_t g, float* to) {
    TileArgs args = {};
    args.k = pixels;
    args.row_offset = pixel_ + pixel;
    args.vec_step = panel_cols_;
    args.out_step = direct_ ? panel_cols_ : wide_;
    args.resume = resume;
    for (int64_t o = 0; o < s_.group_out(); o += panel_cols_) {
      args.vec = turned + o * chunk_;
      args.cols = static_cast<int>(std::min(panel_cols_, s_.group_out() - o));
      for (int64_t k = k0; k < k1;) {
        const int64_t first = k, last = direct_ ? std::min(k1, k + kTurnedTiles * t_.mr) : k1;
        for (; k < last; k += t_.mr) {
          args.row_count = static_cast<int>(std::min<int64_t>(t_.mr, last - k));
          int64_t c = k / taps_, tap = k % taps_;
          for (int r = 0; r < args.row_count; ++r) {
            const int64_t d = tap / s_.taps(), at = tap % s_.taps();
            args.rows[r] = image + c * channel_floats_ +
                           d * depth_.dilation * image_.channel_floats() +
                           image_.at(at / s_.kw * s_.dilation_h, at % s_.kw * s_.dilation_w);
            if (++tap == taps_) tap = 0, ++c;
          }
          args.out = direct_ ? to + (k - first) * panel_cols_ : to + k * wide_ + o;
          t_.tile_row_table(args);
        }
        if (direct_) {
          t_.transpose(to, panel_cols_, dw_ + (g * s_.group_out() + o) * k_ + first, k_,
                       last - first, args.cols);
        }
        k = last;
      }
    }
  }

  void combine(int64_t g, int64_t k0, int64_t k1, float* dw) {
    float* sum = partial(0, g) + k0 * wide_;
    for (int64_t slice = 1; slice < slices_; ++slice) {
      const float* more = partial(slice, g) + k0 * wide_;
      for (int64_t k = 0; k < k1 - k0; ++k) {
        for (int64_t o = 0; o < s_.group_out(); ++o) sum[k * wide_ + o] += more[k * wide_ + o];
      }
    }
    t_.transpose(sum, wide_, dw + k0, k_, k1 - k0, s_.group_out());
  }

  const TileKernels& t_;
  const ConvShape& s_;
  const ConvDepth& depth_;
  int threads_;
  bool padded_ = false;
  PaddedImage image_;  // a plane of a channel, which has planes_
  int64_t planes_ = 1, channel_floats_ = 0, taps_ = 1;
  int64_t k_ = 0, panel_cols_ = 0, panels_ = 0, wide_ = 0;
  int64_t slices_ = 1, parts_ = 1, part_rows_ = 0, chunk_ = 1;
  int64_t image_floats_ = 0, partial_floats_ = 0, table_floats_ = 0;
  int64_t image_step_ = 0, block_ = 1;  // images that share a pass over the taps
  bool direct_ = false;
  float* dw_ = nullptr;
  int32_t* pixel_ = nullptr;
  float* partials_ = nullptr;
};

}  // namespace

namespace {
bool is_depthwise(const ConvShape& s, const ConvDepth& depth) {
  return depth.in == 1 && depth.kernel == 1 && depth.pad == 0 && is_depthwise(s);
}
}  // namespace

size_t conv_weight_grad_scratch_bytes(const TileKernels& kernels, const ConvShape& s, int threads,
                                      const ConvDepth& depth) {
  if (is_depthwise(s, depth)) return depthwise_weight_grad_scratch_bytes(s, threads);
  return WeightGrad(kernels, s, depth, threads).scratch_bytes();
}

void conv_weight_grad(const TileKernels& kernels, const ConvShape& s, const float* x,
                      const float* dy, float* dw, float* scratch, int threads, ThreadPool* pool,
                      const ConvDepth& depth) {
  if (is_depthwise(s, depth)) return depthwise_weight_grad(kernels, s, x, dy, dw, scratch, pool);
  WeightGrad(kernels, s, depth, threads).run(x, dy, dw, scratch, pool);
}

}  // namespace wick
