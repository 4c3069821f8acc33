#include <algorithm>
#include <cstring>

#include "runtime/core/int_math.h"
#include "runtime/kernels/gemm/transposed.h"
#include "trainer/kernels/depthwise.h"

namespace wick {
namespace {

constexpr int64_t kMapFloats = 48 << 10;  // floats of a transposed image at a time: they stay in L2

// Channels [c, c + count) of images of h x w.
struct Block {
  const TileKernels& t;
  int64_t lanes, count;

  // Transposes rows [row, row + rows) of the image, with `top` rows and `left` columns of zeros
  // before it, into rows of `cols` vectors. Lanes beyond `count` are not written: their results are
  // not used.
  void turn(const float* x, int64_t h, int64_t w, int64_t row, int64_t rows, int64_t top,
            int64_t left, int64_t cols, float* to) const {
    const int64_t inside = std::clamp<int64_t>(cols - left, 0, w);
    const auto zero = [&](float* at, int64_t vectors) {
      if (vectors > 0) memset(at, 0, sizeof(float) * static_cast<size_t>(vectors * lanes));
    };
    for (int64_t r = row - top; r < row - top + rows; ++r, to += cols * lanes) {
      if (r < 0 || r >= h || inside == 0) {
        zero(to, cols);
        continue;
      }
      zero(to, left);
      t.transpose(x + r * w, h * w, to + left * lanes, lanes, count, inside);
      zero(to + (left + inside) * lanes, cols - left - inside);
    }
  }
};

// The margins are those of runtime/kernels/gemm/transposed.cc.
struct Axis : PhaseAxis {
  int64_t before = 0, span = 0;  // zeros before grad_output; extent that the taps reach

  Axis(int64_t size_of, int64_t out_of, int64_t taps, int64_t step, int64_t apart, int64_t zeros)
      : PhaseAxis{size_of, out_of, taps, step, apart, zeros} {
    int64_t lo = 0, hi = 0;
    for (int64_t p = 0; p < phases(); ++p) {
      for (int64_t k = 0; k < kernel; ++k) {
        if (!reaches(p, k)) continue;
        lo = std::min(lo, shift(p, k));
        hi = std::max(hi, shift(p, k));
      }
    }
    before = -lo;
    span = hi - lo + 1;
  }
  int64_t steps() const { return ceil_div(size, stride); }  // positions of phase 0 (the most)
};

class InputGrad {
 public:
  explicit InputGrad(const ConvShape& s)
      : s_(s),
        lanes_(depthwise_kernels().lanes),
        rows_(s.h, s.oh, s.kh, s.stride_h, s.dilation_h, s.pad_top),
        cols_(s.w, s.ow, s.kw, s.stride_w, s.dilation_w, s.pad_left) {
    map_cols_ = std::max<int64_t>(cols_.steps(), 1) + cols_.span - 1;
    chunk_ = std::clamp<int64_t>(kMapFloats / (map_cols_ * lanes_), 1,
                                 std::max<int64_t>(rows_.steps(), 1));
    map_floats_ = (chunk_ + rows_.span - 1) * map_cols_ * lanes_;
    out_floats_ = std::min(chunk_ * s.stride_h, s.h) * s.w * lanes_;
    blocks_ = ceil_div(s.groups, lanes_);
    weight_floats_ = round_up(s.taps() * lanes_, 16);
  }

  size_t scratch_bytes(int threads) const {
    return sizeof(float) *
           static_cast<size_t>(tables() + blocks_ * weight_floats_ + threads * worker());
  }

  void run(const TileKernels& t, const float* dy, const float* w, float* dx, float* scratch,
           ThreadPool* pool) const {
    const DepthwiseKernels& kernels = depthwise_kernels();
    auto* tap = reinterpret_cast<int32_t*>(scratch);
    int32_t* offset = tap + round_up(s_.taps(), 16);
    float* packed = scratch + tables();
    pack(w, tap, fill_tables(tap, offset), packed);
    float* workers = packed + blocks_ * weight_floats_;
    parallel_for(pool, blocks_ * s_.n, [&](int64_t task, int at) {
      const int64_t n = task / blocks_, c = task % blocks_ * lanes_;
      const Block block{t, lanes_, std::min(lanes_, s_.groups - c)};
      const float* weights = packed + task % blocks_ * weight_floats_;
      float* map = workers + at * worker();
      float* out = map + round_up(map_floats_, 16);
      const float* grad = dy + (n * s_.oc + c) * s_.oh * s_.ow;
      float* to = dx + (n * s_.ic + c) * s_.h * s_.w;
      for (int64_t i = 0; i < rows_.steps(); i += chunk_) {
        const int64_t steps = std::min(chunk_, rows_.steps() - i);
        block.turn(grad, s_.oh, s_.ow, i, steps + rows_.span - 1, rows_.before, cols_.before,
                   map_cols_, map);
        phases(kernels, i, steps, map, offset, weights, out);
        const int64_t row = i * s_.stride_h, rows = std::min(steps * s_.stride_h, s_.h - row);
        t.transpose(out, lanes_, to + row * s_.w, s_.h * s_.w, rows * s_.w, block.count);
      }
    });
  }

 private:
  int64_t tables() const { return 2 * round_up(s_.taps(), 16); }
  int64_t worker() const { return round_up(map_floats_, 16) + round_up(out_floats_, 16); }

  // Calls f for each phase of the rows and columns. A tap belongs to one phase of each axis.
  template <class Fn>
  void each_phase(Fn f) const {
    for (int64_t p = 0; p < rows_.phases(); ++p) {
      for (int64_t q = 0; q < cols_.phases(); ++q) f(p, q);
    }
  }

  // Returns the number of taps in the tables. A phase beyond the image's size has none of its own.
  int64_t fill_tables(int32_t* tap, int32_t* offset) const {
    const int32_t* first = tap;
    each_phase([&](int64_t p, int64_t q) {
      for (int64_t a = 0; a < s_.kh; ++a) {
        for (int64_t b = 0; b < s_.kw; ++b) {
          if (!rows_.reaches(p, a) || !cols_.reaches(q, b)) continue;
          *tap++ = static_cast<int32_t>(a * s_.kw + b);
          *offset++ = static_cast<int32_t>(
              ((rows_.shift(p, a) + rows_.before) * map_cols_ + cols_.shift(q, b) + cols_.before) *
              lanes_);
        }
      }
    });
    return tap - first;
  }

  void pack(const float* w, const int32_t* tap, int64_t taps, float* to) const {
    for (int64_t c = 0; c < s_.groups; c += lanes_, to += weight_floats_) {
      const int64_t count = std::min(lanes_, s_.groups - c);
      for (int64_t k = 0; k < taps; ++k) {
        for (int64_t i = 0; i < count; ++i) to[k * lanes_ + i] = w[(c + i) * s_.taps() + tap[k]];
      }
    }
  }

  void phases(const DepthwiseKernels& kernels, int64_t step, int64_t steps, const float* map,
              const int32_t* offset, const float* weights, float* out) const {
    each_phase([&](int64_t p, int64_t q) {
      DepthwiseMap m{map, map_cols_ * lanes_, lanes_, offset, 0, 0, cols_.count(q)};
      m.rows = std::min(steps, rows_.count(p) - step);
      int64_t taps_h = 0, taps_w = 0;
      for (int64_t a = 0; a < s_.kh; ++a) taps_h += rows_.reaches(p, a) ? 1 : 0;
      for (int64_t b = 0; b < s_.kw; ++b) taps_w += cols_.reaches(q, b) ? 1 : 0;
      m.taps = taps_h * taps_w;
      kernels.outputs(m, weights, out + (p * s_.w + q) * lanes_, s_.stride_h * s_.w * lanes_,
                      s_.stride_w * lanes_);
      offset += m.taps;
      weights += m.taps * lanes_;
    });
  }

  const ConvShape& s_;
  int64_t lanes_;
  Axis rows_, cols_;
  int64_t map_cols_ = 0, chunk_ = 1, map_floats_ = 0, out_floats_ = 0;
  int64_t blocks_ = 1, weight_floats_ = 0;
};

class WeightGrad {
 public:
  explicit WeightGrad(const ConvShape& s) : s_(s), lanes_(depthwise_kernels().lanes) {
    reach_ = (s.kh - 1) * s.dilation_h;
    map_cols_ = (std::max<int64_t>(s.ow, 1) - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1;
    chunk_ = std::clamp<int64_t>(kMapFloats / (map_cols_ * s.stride_h * lanes_), 1,
                                 std::max<int64_t>(s.oh, 1));
    map_floats_ = round_up(((chunk_ - 1) * s.stride_h + reach_ + 1) * map_cols_ * lanes_, 16);
    grad_floats_ = round_up(chunk_ * s.ow * lanes_, 16);
    slices_ = conv_weight_grad_slices(s.n, s.oh * s.ow, s.oc * s.taps());
    blocks_ = ceil_div(s.groups, lanes_);
    partial_floats_ = round_up(s.taps() * lanes_, 16);
  }

  size_t scratch_bytes(int threads) const {
    return sizeof(float) *
           static_cast<size_t>(table() + slices_ * blocks_ * partial_floats_ + threads * worker());
  }

  void run(const TileKernels& t, const float* x, const float* dy, float* dw, float* scratch,
           ThreadPool* pool) const {
    const DepthwiseKernels& kernels = depthwise_kernels();
    auto* offset = reinterpret_cast<int32_t*>(scratch);
    for (int64_t k = 0; k < s_.taps(); ++k) {
      offset[k] = static_cast<int32_t>(
          (k / s_.kw * s_.dilation_h * map_cols_ + k % s_.kw * s_.dilation_w) * lanes_);
    }
    float* partials = scratch + table();
    float* workers = partials + slices_ * blocks_ * partial_floats_;
    parallel_for(pool, slices_ * blocks_, [&](int64_t task, int at) {
      float* sums = partials + task * partial_floats_;
      memset(sums, 0, sizeof(float) * static_cast<size_t>(partial_floats_));
      const int64_t slice = task / blocks_;
      for (int64_t n = slice_begin(slice, slices_, s_.n); n < slice_begin(slice + 1, slices_, s_.n);
           ++n) {
        image(t, kernels, n, task % blocks_ * lanes_, x, dy, offset, workers + at * worker(), sums);
      }
    });
    for (int64_t c = 0; c < s_.groups; ++c) {
      for (int64_t k = 0; k < s_.taps(); ++k) {
        const float* sum = partials + c / lanes_ * partial_floats_ + k * lanes_ + c % lanes_;
        float total = *sum;
        for (int64_t i = 1; i < slices_; ++i) total += sum[i * blocks_ * partial_floats_];
        dw[c * s_.taps() + k] = total;
      }
    }
  }

 private:
  int64_t table() const { return round_up(s_.taps(), 16); }
  int64_t worker() const { return map_floats_ + grad_floats_; }

  void image(const TileKernels& t, const DepthwiseKernels& kernels, int64_t n, int64_t c,
             const float* x, const float* dy, const int32_t* offset, float* map,
             float* sums) const {
    const Block block{t, lanes_, std::min(lanes_, s_.groups - c)};
    const int64_t plane = s_.oh * s_.ow;
    float* turned = map + map_floats_;
    for (int64_t i = 0; i < s_.oh; i += chunk_) {
      const int64_t rows = std::min(chunk_, s_.oh - i);
      block.turn(x + (n * s_.ic + c) * s_.h * s_.w, s_.h, s_.w, i * s_.stride_h,
                 (rows - 1) * s_.stride_h + reach_ + 1, s_.pad_top, s_.pad_left, map_cols_, map);
      t.transpose(dy + (n * s_.oc + c) * plane + i * s_.ow, plane, turned, lanes_, block.count,
                  rows * s_.ow);
      const DepthwiseMap m{
          map,  s_.stride_h * map_cols_ * lanes_, s_.stride_w * lanes_, offset, s_.taps(), rows,
          s_.ow};
      kernels.weights(m, turned, sums);
    }
  }

  const ConvShape& s_;
  int64_t lanes_;
  int64_t reach_ = 0, map_cols_ = 0, chunk_ = 1, map_floats_ = 0, grad_floats_ = 0;
  int64_t slices_ = 1, blocks_ = 1, partial_floats_ = 0;
};

}  // namespace

size_t depthwise_input_grad_scratch_bytes(const ConvShape& s, int threads) {
  return InputGrad(s).scratch_bytes(threads);
}
void depthwise_input_grad(const TileKernels& kernels, const ConvShape& s, const float* dy,
                          const float* w, float* dx, float* scratch, ThreadPool* pool) {
  InputGrad(s).run(kernels, dy, w, dx, scratch, pool);
}

size_t depthwise_weight_grad_scratch_bytes(const ConvShape& s, int threads) {
  return WeightGrad(s).scratch_bytes(threads);
}
void depthwise_weight_grad(const TileKernels& kernels, const ConvShape& s, const float* x,
                           const float* dy, float* dw, float* scratch, ThreadPool* pool) {
  WeightGrad(s).run(kernels, x, dy, dw, scratch, pool);
}

}  // namespace wick
