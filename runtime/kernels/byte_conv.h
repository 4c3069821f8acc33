// Where QLinearConv's rows find their numbers. x is laid out anew, once: words of a few channels
// side by side, rows with their padding written out, rows and columns of one residue of the stride
// apart. So each tap of consecutive outputs reads consecutive words, and outputs are counted along
// those rows: between two rows of the output lie a few that nobody keeps.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/kernels/byte_tiles.h"
#include "runtime/ops/op_info.h"

namespace wick {

// One spatial dim.
struct ByteAxis {
  int64_t in = 1, out = 1, taps = 1, stride = 1, dilation = 1, pad = 0;
  int64_t period = 1;  // of the residues that taps read

  int64_t slots() const { return taps < period ? taps : period; }
  int64_t slot(int64_t tap) const { return tap % period; }
  int64_t residue(int64_t slot) const { return slot * dilation % stride; }
  int64_t shift(int64_t tap) const { return tap * dilation / stride; }
  int64_t reach() const { return shift(taps - 1); }
  // In a residue's line of n numbers those in [*lo, *hi) lie inside the input.
  void inside(int64_t residue, int64_t n, int64_t* lo, int64_t* hi) const;
};

// Lines of one channel of x as taps of a slot read them, `columns` numbers each: those from `first`
// on, padding written out. Up to kStageSlack bytes behind them are written, too.
constexpr int64_t kStageSlack = 32;
struct ByteLines {
  const uint8_t *plane, *end;  // the channel's, of all of x
  int64_t columns;
  uint8_t zero;
};
void stage_byte_rows(const ByteAxis& h, const ByteAxis& w, const ByteLines& l, int64_t slot_h,
                     int64_t slot_w, int64_t first, int64_t rows, uint8_t* to);

struct ByteConv {
  int64_t images = 1, groups = 1, channels = 1, outputs = 1;  // channels, outputs: of a group
  ByteAxis h, w;
  int64_t per_word = 4;
  bool amx = false;
  bool gather = false;  // with AMX: words of all taps follow each other, and x's are brought so
  // A chunk: some images' groups whole, or a band of output rows of one.
  int64_t parts = 1, band = 1;
  int64_t plane = 0;  // words of one word's channels

  int64_t taps() const { return h.taps * w.taps; }
  int64_t k() const { return channels * taps(); }
  int64_t row_words() const { return w.out + w.reach(); }
  int64_t rows_for(int64_t output_rows) const { return output_rows + h.reach(); }
  // Words of a tap's channels; AMX reads whole steps, where the weights are 0.
  int64_t channel_words() const { return (channels + per_word - 1) / per_word; }
  int64_t kept_words() const {
    const int64_t words = channel_words();
    return amx && !gather ? whole_steps(words) : words;
  }
  int64_t words() const {
    return gather ? whole_steps(taps() * kept_words()) : taps() * kept_words();
  }
  static int64_t whole_steps(int64_t words) {
    return (words + kStepWords - 1) / kStepWords * kStepWords;
  }
  int64_t part_words() const { return kept_words() * plane; }
  // Nothing is added to the input.
  bool plain() const;
  // Where tap (y, x) of the first output lies.
  int64_t tap_word(int64_t y, int64_t x) const;
  size_t weight_bytes() const;  // of all packed, a multiple of 4
  size_t stage_bytes() const;   // of a worker that lays out x or gathers it
  // In double: strides and dilations may be anything.
  double words_of(double output_rows) const;
};

ByteConv byte_conv(Span<const TensorView> in, const TensorView& y, const ConvAttrs& a);
// Decides chunks and the kernel; what comes before it holds for any shape, the rest for those whose
// words_of() are few.
void byte_conv_layout(const ByteKernels& kernels, bool amx, ByteConv* s);

// Weights [groups * outputs, channels, taps] in the order of the words, then each output's sum.
void pack_byte_conv(const ByteKernels& kernels, const ByteConv& s, const TensorView& w, void* to);

struct ByteFill {
  const TensorView* x;
  int64_t part;        // image * groups + group
  int64_t row0, rows;  // of the output
  uint8_t zero, flip;
};
// Word `word` of the part's channels: s.plane words; the rest of them stay.
void fill_byte_conv(const ByteKernels& kernels, const ByteConv& s, const ByteFill& f, int64_t word,
                    uint8_t* stage, uint32_t* to);

}  // namespace wick
