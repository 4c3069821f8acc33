// The gradient of the input is itself a convolution: of grad_output, with the weights' input
// channels as outputs. A stride cuts the input into phases that each see a subset of the taps at
// stride 1.
#include <algorithm>
#include <cstring>

#include "runtime/core/int_math.h"
#include "trainer/kernels/depthwise.h"

namespace wick {
namespace {

constexpr int64_t kSlack = 64;

struct Axis : InputGradAxis {
  int64_t taps(int64_t phase) const {
    int64_t n = 0;
    for (int64_t t = 0; t < kernel; ++t) n += reaches(phase, t) ? 1 : 0;
    return n;
  }
};

class InputGrad {
 public:
  InputGrad(const TileKernels& t, const ConvShape& s, int threads)
      : t_(t),
        s_(s),
        threads_(threads),
        rows_{{s.h, s.oh, s.kh, s.stride_h, s.dilation_h, s.pad_top}},
        cols_{{s.w, s.ow, s.kw, s.stride_w, s.dilation_w, s.pad_left}} {
    extent(rows_, &image_.rows, &top_);
    extent(cols_, &image_.cols, &left_);
    for (int64_t p = 0; p < phases(); ++p) {
      const ConvTiles c = tiles(p);
      table_ += round_up(c.k, 16);
      weights_ += s.groups * weight_floats(c);
      tile_ = std::max(tile_, static_cast<int64_t>(conv_tile_scratch_floats(c)));
    }
    image_floats_ = round_up(s.oc * image_.channel_floats() + kSlack, 16);
    block_ = conv_image_block(s.n, s.h * s.w, image_floats_);
    by_image_ = ceil_div(s.n, block_) >= threads;
  }

  size_t scratch_bytes() const {
    const int64_t images = block_ * image_floats_;
    const int64_t workers = threads_ * (tile_ + (by_image_ ? images : 0));
    return sizeof(float) *
           static_cast<size_t>(2 * table_ + weights_ + workers + (by_image_ ? 0 : images));
  }

  void run(const float* dy, const float* w, float* dx, float* scratch, ThreadPool* pool) {
    offset_ = reinterpret_cast<int32_t*>(scratch);
    tap_ = offset_ + table_;
    packed_ = scratch + 2 * table_;
    scratch = packed_ + weights_;
    fill_tables();
    pack(w, pool);
    const auto pad = [&](int64_t n, float* image) {
      const int64_t plane = s_.oh * s_.ow;
      for (int64_t c = 0; c < s_.oc; ++c) {
        pad_channels(t_, image_, dy + (n * s_.oc + c) * plane, 1, s_.oh, s_.ow, top_, left_,
                     image + c * image_.channel_floats());
      }
    };
    const auto work = [&](int64_t n, int64_t unit, const float* image, int wanted, int64_t task,
                          float* own) {
      ConvTiles c = tiles(unit / s_.groups, unit % s_.groups, image, dx + n * s_.ic * s_.h * s_.w);
      c.images = std::min(block_, s_.n - n);
      conv_tile_run(c, wanted, task, own);
    };
    const auto tasks = [&](int64_t n, int64_t unit, int wanted) {
      ConvTiles c = tiles(unit / s_.groups);
      c.images = std::min(block_, s_.n - n);
      return conv_tile_tasks(c, wanted);
    };
    const int64_t images = block_ * image_floats_;
    if (by_image_) {
      parallel_for(pool, ceil_div(s_.n, block_), [&](int64_t block, int worker) {
        const int64_t n = block * block_;
        float* image = scratch + worker * (tile_ + images);
        for (int64_t i = 0; i < std::min(block_, s_.n - n); ++i)
          pad(n + i, image + i * image_floats_);
        for (int64_t u = 0; u < phases() * s_.groups; ++u) {
          const int64_t count = tasks(n, u, 1);
          for (int64_t i = 0; i < count; ++i) work(n, u, image, 1, i, image + images);
        }
      });
      return;
    }
    for (int64_t n = 0; n < s_.n; n += block_) {
      parallel_for(pool, std::min(block_, s_.n - n),
                   [&](int64_t i, int) { pad(n + i, scratch + i * image_floats_); });
      for (int64_t u = 0; u < phases() * s_.groups; ++u) {
        parallel_for(pool, tasks(n, u, threads_), [&](int64_t i, int worker) {
          work(n, u, scratch, threads_, i, scratch + images + worker * tile_);
        });
      }
    }
  }

 private:
  int64_t phases() const { return rows_.phases() * cols_.phases(); }
  int64_t row_phase(int64_t p) const { return p / cols_.phases(); }
  int64_t col_phase(int64_t p) const { return p % cols_.phases(); }

  // Margin before grad_output, and its padded size, so that every tap of every phase lies inside.
  static void extent(const Axis& a, int64_t* size, int64_t* before) {
    int64_t lo = 0, hi = a.out;
    for (int64_t p = 0; p < a.phases(); ++p) {
      for (int64_t t = 0; t < a.kernel; ++t) {
        if (!a.reaches(p, t)) continue;
        lo = std::min(lo, a.shift(p, t));
        hi = std::max(hi, a.shift(p, t) + a.count(p));
      }
    }
    *before = -lo;
    *size = hi - lo;
  }

  int64_t weight_floats(const ConvTiles& c) const {
    return static_cast<int64_t>(conv_weight_floats(t_, c.by_channel, c.channels, c.k));
  }

  ConvTiles tiles(int64_t p, int64_t g = 0, const float* image = nullptr,
                  float* dx = nullptr) const {
    ConvTiles c;
    c.kernels = &t_;
    c.channels = s_.group_in();
    c.k = s_.group_out() * rows_.taps(row_phase(p)) * cols_.taps(col_phase(p));
    c.rows = rows_.count(row_phase(p));
    c.cols = cols_.count(col_phase(p));
    c.x_row = image_.cols;
    c.x_col = 1;
    c.x_has_slack = true;
    c.by_channel = conv_prefers_channels(t_, c.channels, c.k, c.rows, c.cols, c.x_row);
    c.x_image = image_floats_;
    c.out_image = s_.ic * s_.h * s_.w;
    c.out_channel = s_.h * s_.w;
    c.out_row = s_.stride_h * s_.w;
    c.out_col = s_.stride_w;
    if (image == nullptr) return c;
    c.x = image + g * s_.group_out() * image_.channel_floats();
    c.out = dx + g * s_.group_in() * c.out_channel + row_phase(p) * s_.w + col_phase(p);
    int64_t table = 0, weights = 0;
    for (int64_t before = 0; before < p; ++before) {
      const ConvTiles b = tiles(before);
      table += round_up(b.k, 16);
      weights += s_.groups * weight_floats(b);
    }
    c.offset = offset_ + table;
    c.weights = packed_ + weights + g * weight_floats(c);
    return c;
  }

  void fill_tables() {
    int64_t at = 0;
    for (int64_t p = 0; p < phases(); ++p) {
      int64_t i = at;
      for (int64_t o = 0; o < s_.group_out(); ++o) {
        for (int64_t a = 0; a < s_.kh; ++a) {
          if (!rows_.reaches(row_phase(p), a)) continue;
          for (int64_t b = 0; b < s_.kw; ++b) {
            if (!cols_.reaches(col_phase(p), b)) continue;
            const int64_t r = rows_.shift(row_phase(p), a) + top_;
            const int64_t q = cols_.shift(col_phase(p), b) + left_;
            offset_[i] = static_cast<int32_t>((o * image_.rows + r) * image_.cols + q);
            tap_[i++] = static_cast<int32_t>(o * s_.group_in() * s_.taps() + a * s_.kw + b);
          }
        }
      }
      at += round_up(i - at, 16);
    }
  }

  void pack(const float* w, ThreadPool* pool) {
    const int64_t taps = s_.taps();
    int64_t table = 0;
    float* to = packed_;
    for (int64_t p = 0; p < phases(); ++p) {
      const ConvTiles c = tiles(p);
      const int64_t unit = c.by_channel ? conv_panel_cols(t_, c.channels) : t_.mr;
      const int64_t panels = ceil_div(c.channels, unit);
      parallel_for(pool, s_.groups * panels, [&](int64_t task, int) {
        const int64_t g = task / panels, channel = task % panels * unit;
        const int64_t n = std::min(unit, c.channels - channel);
        const float* from = w + (g * s_.group_out() * s_.group_in() + channel) * taps;
        float* panel = to + g * weight_floats(c) + channel * c.k;
        if (c.k == s_.group_out() * taps) {
          pack_all_taps(from, n, unit, panel);
        } else {
          conv_pack_weights(t_, c.by_channel, from, taps, tap_ + table, n, c.k, panel, unit);
        }
      });
      to += s_.groups * weight_floats(c);
      table += round_up(c.k, 16);
    }
  }

  // A panel of a phase that every tap reaches: of one output channel, the input channels' taps are
  // a matrix to turn.
  void pack_all_taps(const float* w, int64_t channels, int64_t unit, float* to) const {
    const int64_t taps = s_.taps(), step = s_.group_in() * taps;
    for (int64_t o = 0; o < s_.group_out(); ++o, w += step, to += taps * unit) {
      t_.transpose(w, taps, to, unit, channels, taps);
      for (int64_t k = 0; channels < unit && k < taps; ++k)
        memset(to + k * unit + channels, 0, sizeof(float) * static_cast<size_t>(unit - channels));
    }
  }

  const TileKernels& t_;
  const ConvShape& s_;
  int threads_;
  Axis rows_, cols_;
  PaddedImage image_;
  int64_t top_ = 0, left_ = 0;
  int64_t table_ = 0, weights_ = 0, tile_ = 0, image_floats_ = 0, block_ = 1;
  bool by_image_ = false;
  int32_t* offset_ = nullptr;
  int32_t* tap_ = nullptr;
  float* packed_ = nullptr;
};

}  // namespace

size_t conv_input_grad_scratch_bytes(const TileKernels& kernels, const ConvShape& s, int threads) {
  if (is_depthwise(s)) return depthwise_input_grad_scratch_bytes(s, threads);
  return InputGrad(kernels, s, threads).scratch_bytes();
}

void conv_input_grad(const TileKernels& kernels, const ConvShape& s, const float* dy,
                     const float* w, float* dx, float* scratch, int threads, ThreadPool* pool) {
  if (s.n * s.ic * s.h * s.w == 0) return;
  if (is_depthwise(s)) return depthwise_input_grad(kernels, s, dy, w, dx, scratch, pool);
  InputGrad(kernels, s, threads).run(dy, w, dx, scratch, pool);
}

}  // namespace wick
