#include "runtime/kernels/gemm/transposed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/conv/conv.h"

namespace wick {
namespace {

constexpr int64_t kSlack = 64;  // in floats: no vector is longer

int64_t remainder(int64_t a, int64_t b) { return (a % b + b) % b; }

// The kernel positions of a phase: first, first + step, ...
struct Taps {
  int64_t first, step;
  Taps(const PhaseAxis& a, int64_t phase)
      : first(0), step(a.stride / std::gcd(a.stride, a.dilation)) {
    while (first < a.kernel && first < step && !a.reaches(phase, first)) ++first;
    if (first == step) first = a.kernel;
  }
};

uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

}  // namespace

int64_t PhaseAxis::taps(int64_t phase) const {
  int64_t n = 0;
  for (int64_t t = 0; t < kernel; ++t) n += reaches(phase, t) ? 1 : 0;
  return n;
}

int64_t PhaseAxis::taps_before(int64_t phase) const {
  int64_t n = 0;
  for (int64_t t = 0; t < kernel; ++t) n += remainder(t * dilation - pad, stride) < phase ? 1 : 0;
  return n;
}

bool PhaseAxis::inside(int64_t at) const {
  const Taps taps(*this, at % stride);
  for (int64_t t = taps.first; t < kernel; t += taps.step) {
    const int64_t q = at + pad - t * dilation;
    if (q < 0 || q / stride >= from) return false;
  }
  return true;
}

void PhaseAxis::margins(int64_t* before, int64_t* after) const {
  int64_t lo = 0, hi = from;
  for (int64_t t = 0; t < kernel; ++t) {
    const int64_t phase = remainder(t * dilation - pad, stride);
    if (phase >= phases()) continue;
    lo = std::min(lo, shift(phase, t));
    hi = std::max(hi, shift(phase, t) + count(phase));
  }
  *before = -lo, *after = hi - from;
}

bool TransposedConv::fits(const TransposedShape& s) {
  constexpr double kMost = 2e9;
  double image = 1, pixels = 1, window = 1, phases = 1;
  for (const PhaseAxis& a : s.axis) {
    if (a.size < 1 || a.from < 1 || a.stride > 1 << 24 || a.dilation > 1 << 24 ||
        a.kernel > 1 << 16)
      return false;
    int64_t before, after;
    a.margins(&before, &after);
    image *= static_cast<double>(before + a.from + after), pixels *= static_cast<double>(a.size);
    window *= static_cast<double>(a.kernel), phases *= static_cast<double>(a.phases());
  }
  const auto reads = static_cast<double>(s.reads), writes = static_cast<double>(s.writes),
             groups = static_cast<double>(s.groups);
  // Refuses margins out of proportion to the work, like conv_supported().
  const double read = groups * reads * static_cast<double>(s.plane());
  if (groups * reads * image >
      8 * (read * (1 + writes * window) + groups * writes * pixels) + 65536)
    return false;
  return s.reads > 0 && s.writes > 0 && phases <= 4096 && groups * reads * image < kMost &&
         groups * writes * pixels < kMost && groups * reads * writes * window < kMost;
}

TransposedConv::TransposedConv(const TileKernels& t, const TransposedShape& s, int threads)
    : t_(t), s_(s), threads_(threads) {
  bool margins = false;
  int64_t most = s.reads;  // k of the phase that has most
  for (int d = 0; d < 3; ++d) {
    int64_t after, most_taps = 0;
    s.axis[d].margins(&before_[d], &after);
    image_[d] = before_[d] + s.axis[d].from + after;
    margins = margins || before_[d] + after > 0;
    const int64_t phases = s.axis[d].phases();
    all_taps_[d] = s.axis[d].taps_before(phases);
    for (int64_t t = 0; phases <= kTable && t < s.axis[d].kernel; ++t) {
      const int64_t phase = remainder(t * s.axis[d].dilation - s.axis[d].pad, s.axis[d].stride);
      if (phase < phases) ++taps_[d][phase];
    }
    for (int64_t p = 0; p < phases && p < kTable; ++p)
      taps_before_[d][p + 1] = taps_before_[d][p] + taps_[d][p];
    for (int64_t p = 0; p < phases; ++p) most_taps = std::max(most_taps, taps(d, p));
    most *= most_taps;
  }
  padded_ = margins;
  channel_floats_ = image_[0] * image_[1] * image_[2];
  image_floats_ = s.groups * s.reads * channel_floats_;
  if (padded_) image_floats_ = round_up(image_floats_ + kSlack, 16);
  ConvTiles c;
  c.kernels = &t;
  c.channels = s.writes, c.k = most, c.x_row = image_[2];
  c.rows = s.axis[1].count(0), c.cols = s.axis[2].count(0);
  by_channel_ = c.by_channel = conv_prefers_channels(t, c.channels, c.k, c.rows, c.cols, c.x_row);
  unit_ = by_channel_ ? conv_panel_cols(t, s.writes) : t.mr;
  tile_floats_ = static_cast<int64_t>(conv_tile_scratch_floats(c));
  block_ = conv_image_block(s.n, s.pixels(), image_floats_);
  by_image_ = ceil_div(s.n, block_) >= threads;
}

int64_t TransposedConv::taps(int d, int64_t phase) const {
  const PhaseAxis& a = s_.axis[d];
  return a.phases() <= kTable ? taps_[d][phase] : a.taps(phase);
}
int64_t TransposedConv::taps_before(int d, int64_t phase) const {
  const PhaseAxis& a = s_.axis[d];
  return a.phases() <= kTable ? taps_before_[d][phase] : a.taps_before(phase);
}

TransposedConv::Phase TransposedConv::phase_of(int64_t d, int64_t h, int64_t w) const {
  Phase p{{d, h, w}, 1, 0};
  for (int i = 0; i < 3; ++i) {
    // taps of this dim's earlier phases, and taps of the inner dims over all phases
    p.taps_before = p.taps_before * all_taps_[i] + p.taps * taps_before(i, p.at[i]);
    p.taps *= taps(i, p.at[i]);
  }
  return p;
}

size_t TransposedConv::packed_bytes() const {
  const int64_t floats = s_.groups * round_up(s_.writes, unit_) * s_.reads * all_taps();
  return byte_count(sizeof(float) * static_cast<uint64_t>(round_up(floats, 16)));
}

size_t TransposedConv::scratch_bytes() const {
  const int64_t images = padded_ ? block_ * image_floats_ : 0;
  const int64_t workers = threads_ * (tile_floats_ + (by_image_ ? images : 0));
  return byte_count(sizeof(float) * static_cast<uint64_t>(round_up(s_.reads * all_taps(), 16) +
                                                          workers + (by_image_ ? 0 : images)));
}

// Each kernel position belongs to one phase. A panel's channels are transposed some positions at a
// time and copied to their phases row by row.
void TransposedConv::pack(const float* w, float* packed, ThreadPool* pool) const {
  constexpr int64_t kTaps = 16, kLanes = 64;
  const PhaseAxis* a = s_.axis;
  const int64_t window = s_.window(), panels = ceil_div(s_.writes, unit_);
  const int64_t rows = s_.groups * panels * unit_;
  parallel_for(pool, s_.groups * panels, [&](int64_t task, int) {
    const int64_t g = task / panels, channel = task % panels * unit_;
    const int64_t n = std::min(unit_, s_.writes - channel);
    float turned[kTaps * kLanes];
    for (int64_t first = 0; first < window; first += kTaps) {
      const int64_t some = std::min(kTaps, window - first);
      float* to[kTaps];
      int64_t step[kTaps];
      for (int64_t i = 0; i < some; ++i) {
        const int64_t k = first + i;
        const int64_t tap[3] = {k / (a[1].kernel * a[2].kernel), k / a[2].kernel % a[1].kernel,
                                k % a[2].kernel};
        int64_t at[3], rank = 0;
        bool any = true;
        for (int d = 0; d < 3; ++d) {
          at[d] = remainder(tap[d] * a[d].dilation - a[d].pad, a[d].stride);
          any = any && at[d] < a[d].phases();
          int64_t before = 0;  // earlier positions of the same phase
          for (int64_t t = 0; t < tap[d]; ++t) before += a[d].reaches(at[d], t) ? 1 : 0;
          rank = any ? rank * taps(d, at[d]) + before : 0;
        }
        to[i] = nullptr;
        if (!any) continue;
        const Phase p = phase_of(at[0], at[1], at[2]);
        to[i] = packed +
                s_.reads * (rows * p.taps_before + (g * panels * unit_ + channel) * p.taps) +
                rank * unit_;
        step[i] = p.taps * unit_;
      }
      const float* from = w + (g * s_.reads * s_.writes + channel) * window + first;
      for (int64_t r = 0; r < s_.reads; ++r, from += s_.writes * window) {
        t_.transpose(from, window, turned, unit_, n, some);
        for (int64_t i = 0; i < some; ++i) {
          if (to[i] == nullptr) continue;
          float* out = to[i] + r * step[i];
          memcpy(out, turned + i * unit_, sizeof(float) * static_cast<size_t>(n));
          for (int64_t lane = n; lane < unit_; ++lane) out[lane] = 0;
        }
      }
    }
  });
}

// Computes the offsets that the taps of each phase read, relative to the image of the group.
void TransposedConv::fill_table(int32_t* offset) const {
  const PhaseAxis* a = s_.axis;
  for (int64_t d = 0; d < a[0].phases(); ++d) {
    for (int64_t h = 0; h < a[1].phases(); ++h) {
      for (int64_t w = 0; w < a[2].phases(); ++w) {
        const int32_t* first = offset;
        for (int64_t i = 0; i < a[0].kernel; ++i) {
          if (!a[0].reaches(d, i)) continue;
          const int64_t deep = (a[0].shift(d, i) + before_[0]) * image_[1];
          for (int64_t j = 0; j < a[1].kernel; ++j) {
            if (!a[1].reaches(h, j)) continue;
            const int64_t row = (deep + a[1].shift(h, j) + before_[1]) * image_[2] + before_[2];
            for (int64_t k = 0; k < a[2].kernel; ++k) {
              if (a[2].reaches(w, k)) *offset++ = static_cast<int32_t>(row + a[2].shift(w, k));
            }
          }
        }
        const int64_t taps = offset - first;
        for (int64_t i = taps; i < s_.reads * taps; ++i, ++offset)
          *offset = offset[-taps] + static_cast<int32_t>(channel_floats_);
      }
    }
  }
}

void TransposedConv::pad(const float* x, float* image) const {
  const PhaseAxis* a = s_.axis;
  PaddedImage plane;
  plane.rows = image_[1], plane.cols = image_[2];
  const int64_t channels = s_.groups * s_.reads;
  if (image_[0] == 1) {
    pad_channels(t_, plane, x, channels, a[1].from, a[2].from, before_[1], before_[2], image);
    return;
  }
  const int64_t floats = plane.channel_floats();
  const auto zero = [&](float* at, int64_t planes) {
    memset(at, 0, sizeof(float) * static_cast<size_t>(planes * floats));
  };
  for (int64_t c = 0; c < channels; ++c, image += channel_floats_) {
    zero(image, before_[0]);
    pad_channels(t_, plane, x + c * s_.plane(), a[0].from, a[1].from, a[2].from, before_[1],
                 before_[2], image + before_[0] * floats);
    zero(image + (before_[0] + a[0].from) * floats, image_[0] - before_[0] - a[0].from);
  }
}

// A unit is one depth, one phase of rows and columns, one group.
ConvTiles TransposedConv::tiles(int64_t unit, const float* image, const int32_t* offset,
                                const float* packed, const float* bias, float* y) const {
  const PhaseAxis* a = s_.axis;
  const int64_t g = unit % s_.groups, phase = unit / s_.groups % phases();
  const int64_t d = unit / s_.groups / phases(), h = phase / a[2].phases(),
                w = phase % a[2].phases();
  const Phase p = phase_of(d % a[0].stride, h, w);
  const int64_t panels = round_up(s_.writes, unit_);
  ConvTiles c;
  c.kernels = &t_;
  c.by_channel = by_channel_;
  c.channels = s_.writes;
  c.k = s_.reads * p.taps;
  c.rows = a[1].count(h);
  c.cols = a[2].count(w);
  c.x_image = image_floats_;
  c.x_has_slack = padded_;
  c.x_row = image_[2];
  c.x_col = 1;
  c.x = image + g * s_.reads * channel_floats_ + d / a[0].stride * image_[1] * image_[2];
  c.offset = offset + s_.reads * p.taps_before;
  c.weights = packed + panels * s_.reads * (s_.groups * p.taps_before + g * p.taps);
  c.out_channel = s_.pixels();
  c.out_image = s_.groups * s_.writes * c.out_channel;
  c.out_row = a[1].stride * a[2].size;
  c.out_col = a[2].stride;
  c.out = y + g * s_.writes * c.out_channel + (d * a[1].size + h) * a[2].size + w;
  if (bias != nullptr) c.epilogue.bias = bias + g * s_.writes;
  return c;
}

void TransposedConv::run(const float* x, const float* packed, const float* bias, float* y,
                         float* scratch, ThreadPool* pool) const {
  if (s_.n == 0) return;
  auto* offset = reinterpret_cast<int32_t*>(scratch);
  fill_table(offset);
  scratch += round_up(s_.reads * all_taps(), 16);
  const int64_t in = s_.groups * s_.reads * s_.plane(),
                images = padded_ ? block_ * image_floats_ : 0;
  const auto work = [&](int64_t n, int64_t unit, const float* image) {
    ConvTiles c = tiles(unit, padded_ ? image : x + n * in, offset, packed, bias,
                        y + n * s_.groups * s_.writes * s_.pixels());
    c.images = std::min(block_, s_.n - n);
    return c;
  };
  if (by_image_) {
    parallel_for(pool, ceil_div(s_.n, block_), [&](int64_t block, int worker) {
      const int64_t n = block * block_;
      float* image = scratch + worker * (tile_floats_ + images);
      for (int64_t i = 0; padded_ && i < std::min(block_, s_.n - n); ++i)
        pad(x + (n + i) * in, image + i * image_floats_);
      for (int64_t u = 0; u < units(); ++u) {
        const ConvTiles c = work(n, u, image);
        const int64_t tasks = conv_tile_tasks(c, 1);
        for (int64_t i = 0; i < tasks && !stopped(); ++i) conv_tile_run(c, 1, i, image + images);
      }
    });
    return;
  }
  for (int64_t n = 0; n < s_.n && !stopped(); n += block_) {
    if (padded_) {
      parallel_for(pool, std::min(block_, s_.n - n),
                   [&](int64_t i, int) { pad(x + (n + i) * in, scratch + i * image_floats_); });
    }
    // All units together: phases differ by a row or a column, so they have nearly the same tasks.
    const int wanted = static_cast<int>(ceil_div(threads_, units()));
    int64_t most = 0;
    for (int64_t p = 0; p < phases(); ++p)
      most = std::max(most, conv_tile_tasks(work(n, p * s_.groups, scratch), wanted));
    parallel_for(pool, units() * most, [&](int64_t task, int worker) {
      const ConvTiles c = work(n, task / most, scratch);
      if (task % most >= conv_tile_tasks(c, wanted)) return;
      conv_tile_run(c, wanted, task % most, scratch + images + worker * tile_floats_);
    });
  }
}

// Computes one output from the inputs that reach it.
float TransposedConv::output(const float* x, const float* packed, const float* bias,
                             int64_t channel, const int64_t* at) const {
  const PhaseAxis* a = s_.axis;
  const int64_t g = channel / s_.writes, c = channel % s_.writes;
  const Phase p = phase_of(at[0] % a[0].stride, at[1] % a[1].stride, at[2] % a[2].stride);
  const Taps taps[3] = {{a[0], p.at[0]}, {a[1], p.at[1]}, {a[2], p.at[2]}};
  const float* w =
      packed + round_up(s_.writes, unit_) * s_.reads * (s_.groups * p.taps_before + g * p.taps);
  w += c / unit_ * unit_ * s_.reads * p.taps + c % unit_;
  x += g * s_.reads * s_.plane();
  const auto input = [&](int d, int64_t tap) {
    const int64_t q = at[d] + a[d].pad - tap * a[d].dilation;
    return q < 0 || q / a[d].stride >= a[d].from ? -1 : q / a[d].stride;
  };
  float sum = 0;
  for (int64_t r = 0; r < s_.reads; ++r, x += s_.plane()) {
    for (int64_t i = taps[0].first; i < a[0].kernel; i += taps[0].step) {
      for (int64_t j = taps[1].first; j < a[1].kernel; j += taps[1].step) {
        for (int64_t k = taps[2].first; k < a[2].kernel; k += taps[2].step, w += unit_) {
          const int64_t d = input(0, i), h = input(1, j), q = input(2, k);
          if (d >= 0 && h >= 0 && q >= 0)
            sum = std::fma(*w, x[(d * a[1].from + h) * a[2].from + q], sum);
        }
      }
    }
  }
  return bias == nullptr ? sum : sum + bias[channel];
}

void TransposedConv::leave_out_padding(const float* x, const float* packed, const float* bias,
                                       float* y, ThreadPool* pool) const {
  if (!padded_ || stopped()) return;
  const PhaseAxis* a = s_.axis;
  int64_t lo[3], hi[3];  // outputs in [lo, hi) have all their taps
  for (int d = 0; d < 3; ++d) {
    lo[d] = std::clamp<int64_t>((a[d].kernel - 1) * a[d].dilation - a[d].pad, 0, a[d].size);
    hi[d] = std::clamp<int64_t>(a[d].from * a[d].stride - a[d].pad, lo[d], a[d].size);
    while (lo[d] > 0 && a[d].inside(lo[d] - 1)) --lo[d];
    while (hi[d] < a[d].size && a[d].inside(hi[d])) ++hi[d];
  }
  const int64_t channels = s_.groups * s_.writes, total = s_.n * channels;
  const int64_t tasks = std::min<int64_t>(total, pool == nullptr ? 1 : 4 * pool->threads());
  parallel_for(pool, tasks, [&](int64_t task, int) {
    Poll poll;
    for (int64_t m = task * total / tasks; m < (task + 1) * total / tasks; ++m) {
      const int64_t channel = m % channels;
      // Any bias but -0 turns both zeros into +0 or another number.
      const bool zeros = bias == nullptr || bits_of(bias[channel]) == 0x80000000u;
      float* row = y + m * s_.pixels();
      int64_t at[3];
      const auto look = [&](int64_t from, int64_t to) {
        for (at[2] = from; at[2] < to && !poll(); ++at[2]) {
          const uint32_t bits = bits_of(row[at[2]]);
          if ((bits & 0x7fffffffu) > 0x7f800000u || (zeros && bits == 0)) {
            if (poll(4 * s_.reads * s_.window())) return;
            row[at[2]] = output(x + m / channels * s_.groups * s_.reads * s_.plane(), packed, bias,
                                channel, at);
          }
        }
      };
      for (at[0] = 0; at[0] < a[0].size; ++at[0]) {
        for (at[1] = 0; at[1] < a[1].size; ++at[1], row += a[2].size) {
          const bool whole = at[0] >= lo[0] && at[0] < hi[0] && at[1] >= lo[1] && at[1] < hi[1];
          look(0, whole ? lo[2] : a[2].size);
          if (whole) look(hi[2], a[2].size);
        }
      }
    }
  });
}

}  // namespace wick
