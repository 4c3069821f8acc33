// The SIMD row of ConvInteger over one or two spatial dims. A task is a band of output rows of one
// image and group: its input rows are widened to int16 with explicit padding, with every stride-th
// column adjacent; then, nr output pixels at a time, the taps of these pixels are zipped in pairs
// and multiplied by all output channels. The weights keep their zero points: these contribute the
// sum of a pixel's taps times the zero point.
#include <algorithm>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/bytes/integer.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

constexpr int64_t kBandElements = 1 << 18;  // int16 elements: a band's share of the caches
constexpr int64_t kMaxK = 1 << 20;

struct ByteConv {
  int64_t images = 1, groups = 1, channels = 1, outputs = 1;  // channels, outputs: per group
  int64_t h = 1, w = 1, oh = 1, ow = 1, kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, top = 0, left = 0;
  int64_t phase = 0;      // columns of one residue of the stride
  int64_t band = 1;       // output rows per task
  int64_t band_rows = 1;  // input rows that they read

  // Computed in double: strides and dilations may be anything.
  double elements_for(int64_t rows) const {
    const double read = static_cast<double>(rows - 1) * static_cast<double>(stride_h) +
                        static_cast<double>(kh - 1) * static_cast<double>(dilation_h) + 1;
    return static_cast<double>(channels) * read * static_cast<double>(phase) *
           static_cast<double>(stride_w);
  }
  int64_t k() const { return channels * kh * kw; }
  int64_t pairs() const { return (k() + 1) / 2; }
  int64_t row_elements() const { return phase * stride_w; }
  int64_t rows_for(int64_t rows) const { return (rows - 1) * stride_h + (kh - 1) * dilation_h + 1; }
  int64_t band_elements() const { return channels * band_rows * row_elements(); }
  int64_t bands() const { return (oh + band - 1) / band; }
};

ByteConv byte_conv(Span<const TensorView> in, const TensorView& y, const ConvAttrs& a, int nr) {
  const Shape &x = in[0].shape, &w = in[1].shape;
  const int spatial = x.rank() - 2;
  ByteConv s;
  s.images = x[0], s.groups = a.group, s.channels = w[1], s.outputs = w[0] / a.group;
  const int last = spatial - 1;
  s.w = x[2 + last], s.ow = y.dim(2 + last), s.kw = w[2 + last];
  s.stride_w = a.strides.at_or(last, 1), s.dilation_w = a.dilations.at_or(last, 1);
  s.left = a.pads.at_or(last, 0);
  if (spatial == 2) {
    s.h = x[2], s.oh = y.dim(2), s.kh = w[2];
    s.stride_h = a.strides.at_or(0, 1), s.dilation_h = a.dilations.at_or(0, 1);
    s.top = a.pads.at_or(0, 0);
  }
  s.phase = (s.ow - 1) + ((s.kw - 1) * s.dilation_w) / s.stride_w + 1;
  const int64_t full = (2 * nr + s.ow - 1) / std::max<int64_t>(1, s.ow);
  int64_t most = std::max<int64_t>(full, (s.oh + 7) / 8);
  s.band = 1;
  while (s.band < std::min(most, s.oh) && s.elements_for(s.band + 1) <= kBandElements) ++s.band;
  s.band_rows = s.rows_for(s.band);
  return s;
}

struct Scratch {
  size_t offsets, weights, band, panel, each;  // in bytes; `each`: per worker
};
size_t weight_bytes(const ByteConv& s) { return rounded(s.groups * s.outputs * s.pairs() * 4); }
Scratch scratch_of(const ByteConv& s, int nr) {
  Scratch b;
  b.offsets = rounded(s.k() * 4);
  b.weights = weight_bytes(s);
  b.band = rounded(s.band_elements() * 2);
  b.panel = rounded((s.pairs() + 1) * nr * 4);  // and the sums
  b.each = b.band + b.panel;
  return b;
}

template <class T>
void pack_weights(const IntegerKernels& t, const ByteConv& s, const T* w, int32_t* packed) {
  const int64_t k = s.k(), pairs = s.pairs();
  for (int64_t g = 0; g < s.groups; ++g) {
    for (int64_t i = 0; i < s.outputs;) {
      const int rows = integer_rows(t, s.outputs - i);
      int32_t* out = packed + (g * s.outputs + i) * pairs;
      for (int r = 0; r < rows; ++r, ++i) {
        const T* from = w + (g * s.outputs + i) * k;
        for (int64_t p = 0; p < pairs; ++p)
          out[p * rows + r] = integer_pair(from[2 * p], 2 * p + 1 < k ? from[2 * p + 1] : 0);
      }
    }
  }
}
void pack_weights(const IntegerKernels& t, const ByteConv& s, const TensorView& w, void* packed) {
  auto* to = static_cast<int32_t*>(packed);
  if (w.dtype == DType::kI8) return pack_weights(t, s, w.as<int8_t>(), to);
  pack_weights(t, s, w.as<uint8_t>(), to);
}

// Fills a band with the input rows of output rows [row0, row0 + band).
void fill_band(const IntegerKernels& t, const ByteConv& s, const TensorView& x, int64_t plane0,
               int64_t row0, int32_t zero, int16_t* to) {
  const bool is_signed = x.dtype == DType::kI8;
  const auto* bytes = static_cast<const uint8_t*>(x.data);
  for (int64_t c = 0; c < s.channels; ++c) {
    for (int64_t r = 0; r < s.band_rows; ++r, to += s.row_elements()) {
      const int64_t at = row0 * s.stride_h + r - s.top;
      if (at < 0 || at >= s.h) {
        std::fill(to, to + s.row_elements(), int16_t{0});
        continue;
      }
      const uint8_t* from = bytes + (plane0 + c) * s.h * s.w + at * s.w;
      for (int64_t f = 0; f < s.stride_w; ++f) {
        int16_t* out = to + f * s.phase;
        // columns i * stride + f - left of the image; those in [lo, hi) are inside
        const int64_t first = s.left - f, beyond = s.w + s.left - f;
        const int64_t lo =
            std::clamp<int64_t>(first > 0 ? (first + s.stride_w - 1) / s.stride_w : 0, 0, s.phase);
        const int64_t hi = std::clamp<int64_t>(
            beyond > 0 ? (beyond + s.stride_w - 1) / s.stride_w : 0, lo, s.phase);
        std::fill(out, out + lo, int16_t{0});
        std::fill(out + hi, out + s.phase, int16_t{0});
        if (s.stride_w == 1) {
          t.widen(from + lo - s.left, is_signed, zero, hi - lo, out + lo);
          continue;
        }
        for (int64_t i = lo; i < hi; ++i) {
          const uint8_t v = from[i * s.stride_w + f - s.left];
          out[i] = static_cast<int16_t>((is_signed ? static_cast<int8_t>(v) : v) - zero);
        }
      }
    }
  }
}

// Computes the offset of each tap for the band's first pixel.
void fill_offsets(const ByteConv& s, int32_t* offset) {
  for (int64_t c = 0; c < s.channels; ++c) {
    for (int64_t y = 0; y < s.kh; ++y) {
      for (int64_t x = 0; x < s.kw; ++x) {
        const int64_t column = x * s.dilation_w;
        *offset++ = static_cast<int32_t>((c * s.band_rows + y * s.dilation_h) * s.row_elements() +
                                         column % s.stride_w * s.phase + column / s.stride_w);
      }
    }
  }
}

// Fills a panel with all taps of pixels [pixel, pixel + cols) of the band; other columns are
// unchanged.
void fill_panel(const IntegerKernels& t, const ByteConv& s, const int16_t* band,
                const int32_t* offset, const int16_t* zeros, int64_t pixel, int64_t cols,
                int32_t* panel) {
  const int64_t k = s.k(), step = s.stride_h * s.row_elements();
  for (int64_t done = 0; done < cols;) {
    const int64_t row = (pixel + done) / s.ow, column = (pixel + done) % s.ow;
    const int64_t n = std::min(cols - done, s.ow - column);
    const int16_t* from = band + row * step + column;
    int32_t* to = panel + done;
    for (int64_t l = 0; l < k; l += 2, to += t.nr)
      t.zip(from + offset[l], l + 1 < k ? from + offset[l + 1] : zeros, n, to);
    done += n;
  }
}

bool match(const KernelQuery& q) {
  const int rank = q.in[0].rank();
  if (rank != 3 && rank != 4) return false;
  if (q.in[0].dtype != DType::kI8 && q.in[0].dtype != DType::kU8) return false;
  for (int i = 2; i < 4; ++i) {
    if (has_input(q.in, static_cast<size_t>(i)) && q.in[static_cast<size_t>(i)].rank() > 1)
      return false;
  }
  if (q.out[0].numel() == 0 || q.in[0].numel() == 0) return false;
  const ByteConv s = byte_conv(q.in, q.out[0], q.as<ConvAttrs>(), integer_kernels().nr);
  // Keeps a band in proportion to the tensors, however far its taps are apart.
  const double most =
      8.0 * (static_cast<double>(q.in[0].numel()) + static_cast<double>(q.out[0].numel()));
  return s.k() <= kMaxK && s.elements_for(1) <= std::max<double>(kBandElements, most) &&
         s.elements_for(1) < INT32_MAX / 2;
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const IntegerKernels& t = integer_kernels();
  const ByteConv s = byte_conv(q.in, q.out[0], q.as<ConvAttrs>(), t.nr);
  const Scratch b = scratch_of(s, t.nr);
  p->keep(&t);
  p->scratch_bytes = byte_count(uint64_t{b.offsets} + b.weights +
                                uint64_t{b.each} * static_cast<uint64_t>(q.threads));
  p->packs[0] = {1, packed_layout(PackedKind::kIntegerRows, t.mr), b.weights, s.groups - 1};
  return {};
}

Status pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& t = *p.kept<const IntegerKernels*>();
  pack_weights(t, byte_conv(q.in, q.out[0], q.as<ConvAttrs>(), t.nr), q.in[1], dst);
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& t = *ctx.plan->kept<const IntegerKernels*>();
  const ByteConv s = byte_conv(in, out[0], *static_cast<const ConvAttrs*>(attrs), t.nr);
  const Scratch b = scratch_of(s, t.nr);
  auto* scratch = static_cast<char*>(ctx.scratch);
  auto* offset = reinterpret_cast<int32_t*>(scratch);
  fill_offsets(s, offset);
  const auto* weights = static_cast<const int32_t*>(ctx.packed[0]);
  if (ctx.packed[0] == nullptr) {
    weights = reinterpret_cast<const int32_t*>(scratch + b.offsets);
    pack_weights(t, s, in[1], scratch + b.offsets);
  }
  const int64_t pairs = s.pairs(), plane = s.oh * s.ow;
  const int32_t x_zero = zero_point(in, 2);
  bool w_zeros = false;
  for (int64_t i = 0; has_input(in, 3) && i < in[3].numel(); ++i)
    w_zeros = w_zeros || byte_at(in[3], i) != 0;
  static constexpr int16_t kZeros[256] = {};
  parallel_for(ctx.pool, s.images * s.groups * s.bands(), [&](int64_t task, int worker) {
    char* own = scratch + b.offsets + b.weights + static_cast<size_t>(worker) * b.each;
    auto* band = reinterpret_cast<int16_t*>(own);
    auto* panel = reinterpret_cast<int32_t*>(own + b.band);
    int32_t* sums = panel + pairs * t.nr;
    const int64_t row0 = task % s.bands() * s.band, part = task / s.bands();
    const int64_t image = part / s.groups, g = part % s.groups;
    fill_band(t, s, in[0], (image * s.groups + g) * s.channels, row0, x_zero, band);
    const int64_t pixels = std::min(s.band, s.oh - row0) * s.ow;
    int32_t* y = out[0].as<int32_t>() + (image * s.groups + g) * s.outputs * plane + row0 * s.ow;
    Poll poll;
    for (int64_t pixel = 0; pixel < pixels; pixel += t.nr) {
      if (poll(pairs)) return;
      const auto cols = std::min<int64_t>(t.nr, pixels - pixel);
      if (cols < t.nr) memset(panel, 0, static_cast<size_t>(pairs * t.nr) * sizeof(int32_t));
      fill_panel(t, s, band, offset, kZeros, pixel, cols, panel);
      for (int64_t i = 0; i < s.outputs;) {
        const int rows = integer_rows(t, s.outputs - i);
        if (poll(2 * pairs)) return;
        t.tile({weights + (g * s.outputs + i) * pairs, panel, pairs, y + i * plane + pixel, plane,
                rows, static_cast<int>(cols)});
        i += rows;
      }
      if (!w_zeros) continue;
      std::fill(sums, sums + t.nr, 0);
      for (int64_t p = 0; p < pairs; ++p) {
        for (int64_t j = 0; j < cols; ++j) {
          const auto pair = static_cast<uint32_t>(panel[p * t.nr + j]);
          sums[j] =
              static_cast<int32_t>(static_cast<uint32_t>(sums[j]) +
                                   static_cast<uint32_t>(static_cast<int16_t>(pair & 0xFFFF)) +
                                   static_cast<uint32_t>(static_cast<int16_t>(pair >> 16)));
        }
      }
      for (int64_t i = 0; i < s.outputs; ++i) {
        const int64_t o = g * s.outputs + i;
        const auto zero = static_cast<uint32_t>(byte_at(in[3], in[3].numel() == 1 ? 0 : o));
        if (zero == 0) continue;
        int32_t* row = y + i * plane + pixel;
        for (int64_t j = 0; j < cols; ++j)
          row[j] = static_cast<int32_t>(static_cast<uint32_t>(row[j]) -
                                        static_cast<uint32_t>(sums[j]) * zero);
      }
    }
  });
  return {};
}

}  // namespace

WICK_CPU_ROWS(ConvInteger, {"conv_integer.bytes.simd", kContiguous, match, plan, pack, run});

}  // namespace wick
