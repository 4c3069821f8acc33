#include "runtime/kernels/bytes/byte_conv.h"
#include "runtime/core/int_math.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace wick {
namespace {

constexpr int64_t kChunkWords = 1 << 18;  // 1 MiB: half of an L2 cache
constexpr int64_t kStage = 4096;          // bytes of a channel that are laid out at a time
constexpr int64_t kFewProducts = 16;      // with fewer products, steps of AMX are mostly empty
constexpr int64_t kMostGathered = 256;    // in words: 64 KiB for a block of pixels
constexpr int64_t kFewOutputs = 8;

struct Sixteen {
  uint64_t v[2];
};
void store(uint8_t* to, int64_t n, Sixteen bytes) {
  for (int64_t i = 0; i < n; i += 16) memcpy(to + i, &bytes, 16);
}

}  // namespace

void ByteAxis::inside(int64_t residue, int64_t n, int64_t* lo, int64_t* hi) const {
  const int64_t first = pad - residue, beyond = in + pad - residue;
  if (stride == 1) {
    *lo = std::clamp<int64_t>(first, 0, n);
    *hi = std::clamp<int64_t>(beyond, *lo, n);
    return;
  }
  *lo = std::clamp<int64_t>(first > 0 ? (first + stride - 1) / stride : 0, 0, n);
  *hi = std::clamp<int64_t>(beyond > 0 ? (beyond + stride - 1) / stride : 0, *lo, n);
}

// Copies whole vectors: bytes written beyond the row are overwritten later, bytes read beyond it
// belong to x.
void stage_byte_rows(const ByteAxis& h, const ByteAxis& w, const ByteLines& l, int64_t slot_h,
                     int64_t slot_w, int64_t first, int64_t rows, uint8_t* to) {
  const uint64_t eight = ~uint64_t{0} / 255 * l.zero;
  const Sixteen zeros = {{eight, eight}};
  const int64_t n = l.columns, residue = h.residue(slot_h) - h.pad;
  int64_t lo = 0, hi = 0;
  w.inside(w.residue(slot_w), n, &lo, &hi);
  const int64_t from_x = lo * w.stride + w.residue(slot_w) - w.pad, count = hi - lo;
  for (int64_t r = 0; r < rows; ++r, to += n) {
    const int64_t y = (first + r) * h.stride + residue;
    if (y < 0 || y >= h.in || count == 0) {
      store(to, n, zeros);
      continue;
    }
    const uint8_t* from = l.plane + y * w.in + from_x;
    uint8_t* out = to + lo;
    if (lo > 0) store(to, lo, zeros);
    if (w.stride == 1) {
      if (l.end - from >= count + 15) {
        for (int64_t i = 0; i < count; i += 16) memcpy(out + i, from + i, 16);
      } else {
        memcpy(out, from, static_cast<size_t>(count));
      }
    } else if (w.stride == 2) {
      for (int64_t i = 0; i < count; ++i) out[i] = from[2 * i];
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = from[i * w.stride];
    }
    if (hi < n) store(to + hi, n - hi, zeros);
  }
}

bool ByteConv::plain() const {
  return taps() == 1 && h.stride == 1 && w.stride == 1 && h.pad == 0 && w.pad == 0 &&
         h.in == h.out && w.in == w.out;
}

int64_t ByteConv::tap_word(int64_t y, int64_t x) const {
  const int64_t slot = h.slot(y) * w.slots() + w.slot(x);
  return (slot * rows_for(band) + h.shift(y)) * row_words() + w.shift(x);
}

size_t ByteConv::weight_bytes() const {
  const int64_t rows = amx ? round_up(outputs, 16) : outputs;
  return 4 * static_cast<size_t>(groups * (rows * words() + outputs));
}
size_t ByteConv::stage_bytes() const {
  const int64_t lines = per_word * (std::max(kStage, row_words()) + kStageSlack);
  const int64_t gathered = gather ? 4 * kByteColumns * words() : 0;
  return static_cast<size_t>(round_up(std::max(lines, gathered), 64));
}

double ByteConv::words_of(double output_rows) const {
  const auto real = [](int64_t v) { return static_cast<double>(v); };
  const double reach_h = real(h.taps - 1) * real(h.dilation) / real(h.stride);
  const double reach_w = real(w.taps - 1) * real(w.dilation) / real(w.stride);
  return real(channel_words()) * real(h.slots() * w.slots()) * (output_rows + reach_h) *
         (real(w.out) + reach_w);
}

ByteConv byte_conv(Span<const TensorView> in, const TensorView& y, const ConvAttrs& a) {
  const Shape &x = in[0].shape, &w = in[3].shape;
  ByteConv s;
  s.images = x[0], s.groups = a.group, s.channels = w[1], s.outputs = w[0] / a.group;
  const int spatial = x.rank() - 2;
  for (int d = 0; d < spatial; ++d) {
    ByteAxis& axis = d + 1 == spatial ? s.w : s.h;
    axis.in = x[2 + d], axis.out = y.dim(2 + d), axis.taps = w[2 + d];
    axis.stride = a.strides.at_or(d, 1), axis.dilation = a.dilations.at_or(d, 1);
    axis.pad = a.pads.at_or(d, 0);
    axis.period = axis.stride / std::gcd(axis.stride, axis.dilation);
  }
  return s;
}

void byte_conv_layout(const ByteKernels& kernels, bool amx, ByteConv* s) {
  s->per_word = kernels.per_word;
  s->amx = amx && s->outputs >= kFewOutputs && s->k() >= kFewProducts;
  if (s->amx) {
    // Estimated cycles per block of pixels: a step over all outputs takes 4 per output, gathering a
    // word takes 6.
    const int64_t words = s->taps() * s->channel_words();
    const int64_t apart = s->taps() * ByteConv::whole_steps(s->channel_words());
    const int64_t saved = (apart - ByteConv::whole_steps(words)) / kStepWords;
    s->gather = words <= kMostGathered && saved * 4 * s->outputs > 6 * words;
  }
  const int64_t slots = s->h.slots() * s->w.slots();
  const auto plane_for = [&](int64_t rows) {
    const int64_t words = round_up(slots * s->rows_for(rows) * s->row_words(), 16);
    return words / 16 % 2 == 0 ? words + 16 : words;  // a power of two would share cache lines
  };
  s->band = s->h.out;
  while (s->band > 1 && s->kept_words() * plane_for(s->band) > kChunkWords)
    s->band = (s->band + 1) / 2;
  s->plane = plane_for(s->band);
  s->parts = s->band < s->h.out
                 ? 1
                 : std::clamp<int64_t>(kChunkWords / s->part_words(), 1, s->images * s->groups);
}

void pack_byte_conv(const ByteKernels& kernels, const ByteConv& s, const TensorView& w, void* to) {
  const auto* bytes = static_cast<const uint8_t*>(w.data);
  const uint8_t flip = w.dtype == DType::kU8 ? 0x80 : 0;
  const int64_t k = s.k(), taps = s.taps(), words = s.words();
  const auto number = [&](int64_t row, int64_t tap, int64_t c) -> int32_t {
    if (c >= s.channels || tap >= taps) return 0;
    return static_cast<int8_t>(bytes[row * k + c * taps + tap] ^ flip);
  };
  const auto word = [&](int64_t row, int64_t tap, int64_t cw) {
    uint32_t v = 0;
    const int bits = 32 / static_cast<int>(s.per_word);
    for (int i = 0; i < s.per_word; ++i) {
      const auto part = static_cast<uint32_t>(number(row, tap, cw * s.per_word + i));
      v |= (part & (bits == 8 ? 0xFFu : 0xFFFFu)) << (bits * i);
    }
    return v;
  };
  auto* out = static_cast<uint32_t*>(to);
  const int64_t kept = s.kept_words();
  for (int64_t g = 0; g < s.groups; ++g) {
    for (int64_t i = 0; i < s.outputs;) {
      const int64_t left = s.outputs - i;
      const int64_t rows =
          s.amx ? std::min<int64_t>(kByteRows, round_up(left, 16)) : byte_rows(kernels, left);
      for (int64_t l = 0; l < words; ++l) {
        const int64_t tap = l / kept, cw = l % kept;
        for (int64_t r = 0; r < rows; ++r) {
          const uint32_t v = r < left ? word(g * s.outputs + i + r, tap, cw) : 0;
          // [step][tile][row][word], or [word][row]
          const int64_t at =
              s.amx ? ((l / 16 * (rows / 16) + r / 16) * 16 + r % 16) * 16 + l % 16 : l * rows + r;
          out[at] = v;
        }
      }
      out += rows * words;
      i += std::min(rows, left);
    }
  }
  for (int64_t row = 0; row < s.groups * s.outputs; ++row) {
    uint32_t sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += static_cast<uint32_t>(static_cast<int8_t>(bytes[row * k + l] ^ flip));
    *out++ = sum;
  }
}

void fill_byte_conv(const ByteKernels& kernels, const ByteConv& s, const ByteFill& f, int64_t word,
                    uint8_t* stage, uint32_t* to) {
  const auto* x = static_cast<const uint8_t*>(f.x->data);
  const uint8_t* end = x + f.x->numel();
  const uint8_t* planes[4];
  for (int64_t i = 0; i < s.per_word; ++i) {
    // The values of a missing channel do not matter: its weights are 0.
    const int64_t c = std::min(word * s.per_word + i, s.channels - 1);
    planes[i] = x + (f.part * s.channels + c) * s.h.in * s.w.in;
  }
  if (s.plain()) {
    for (const uint8_t*& p : planes) p += &p - planes < s.per_word ? f.row0 * s.w.in : 0;
    kernels.zip(planes, f.rows * s.w.in, f.flip, false, to);
    return;
  }
  const int64_t n = s.row_words(), all = s.rows_for(f.rows);
  const int64_t most = std::max<int64_t>(1, kStage / n);
  const int64_t room = std::max(kStage, n) + kStageSlack;
  const uint8_t* staged[4];
  for (int64_t i = 0; i < s.per_word; ++i) staged[i] = stage + i * room;
  for (int64_t slot = 0; slot < s.h.slots() * s.w.slots(); ++slot) {
    uint32_t* out = to + slot * s.rows_for(s.band) * n;
    for (int64_t first = 0; first < all; first += most) {
      const int64_t rows = std::min(most, all - first);
      for (int64_t i = 0; i < s.per_word; ++i) {
        stage_byte_rows(s.h, s.w, {planes[i], end, n, f.zero}, slot / s.w.slots(),
                        slot % s.w.slots(), f.row0 + first, rows, stage + i * room);
      }
      kernels.zip(staged, rows * n, f.flip, false, out + first * n);
    }
  }
}

}  // namespace wick
