// The input layout of QLinearConv. x is laid out anew once: words of a few channels, rows with
// explicit padding, and rows and columns of each residue of the stride stored apart. So each tap of
// consecutive outputs reads consecutive words. Outputs are counted along those rows, so a few
// positions between two output rows are computed and dropped.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/kernels/bytes/byte_tiles.h"
#include "runtime/ops/op_info.h"

namespace wick {

// One spatial dim.
struct ByteAxis {
  int64_t in = 1, out = 1, taps = 1, stride = 1, dilation = 1, pad = 0;
  int64_t period = 1;  // number of residues that taps read

  int64_t slots() const { return taps < period ? taps : period; }
  int64_t slot(int64_t tap) const { return tap % period; }
  int64_t residue(int64_t slot) const { return slot * dilation % stride; }
  int64_t shift(int64_t tap) const { return tap * dilation / stride; }
  int64_t reach() const { return shift(taps - 1); }
  // Finds the range [*lo, *hi) of a residue's line of n numbers that is inside the input.
  void inside(int64_t residue, int64_t n, int64_t* lo, int64_t* hi) const;
};

// Describes lines of one channel of x as the taps of a slot read them, `columns` numbers each, with
// explicit padding; stage_byte_rows() writes `rows` of them from `first` on, and up to kStageSlack
// bytes beyond.
constexpr int64_t kStageSlack = 32;
struct ByteLines {
  const uint8_t *plane, *end;  // of the channel; of all of x
  int64_t columns;
  uint8_t zero;
};
void stage_byte_rows(const ByteAxis& h, const ByteAxis& w, const ByteLines& l, int64_t slot_h,
                     int64_t slot_w, int64_t first, int64_t rows, uint8_t* to);

struct ByteConv {
  int64_t images = 1, groups = 1, channels = 1, outputs = 1;  // channels, outputs: per group
  ByteAxis h, w;
  int64_t per_word = 4;
  bool amx = false;
  bool gather = false;  // with AMX: the words of all taps are contiguous, and x's are gathered
  // A chunk: whole groups of some images, or a band of output rows of one.
  int64_t parts = 1, band = 1;
  int64_t plane = 0;  // words of one word of channels

  int64_t taps() const { return h.taps * w.taps; }
  int64_t k() const { return channels * taps(); }
  int64_t row_words() const { return w.out + w.reach(); }
  int64_t rows_for(int64_t output_rows) const { return output_rows + h.reach(); }
  // Words per tap for its channels; AMX reads whole steps, with zero weights beyond.
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
  // Returns whether the input needs neither padding nor reordering.
  bool plain() const;
  // Returns the word of tap (y, x) for the first output.
  int64_t tap_word(int64_t y, int64_t x) const;
  size_t weight_bytes() const;  // all packed weights, a multiple of 4
  size_t stage_bytes() const;   // per worker that lays out or gathers x
  // Computed in double: strides and dilations may be anything.
  double words_of(double output_rows) const;
};

ByteConv byte_conv(Span<const TensorView> in, const TensorView& y, const ConvAttrs& a);
// Chooses chunks and the kernel. Members set before are valid for any shape, the rest only where
// words_of() is small.
void byte_conv_layout(const ByteKernels& kernels, bool amx, ByteConv* s);

// Packs weights [groups * outputs, channels, taps] in the order of the words, followed by each
// output's sum.
void pack_byte_conv(const ByteKernels& kernels, const ByteConv& s, const TensorView& w, void* to);

struct ByteFill {
  const TensorView* x;
  int64_t part;        // image * groups + group
  int64_t row0, rows;  // output rows
  uint8_t zero, flip;
};
// Writes word `word` of the part's channels for all of s.plane; positions beyond the rows stay
// unchanged.
void fill_byte_conv(const ByteKernels& kernels, const ByteConv& s, const ByteFill& f, int64_t word,
                    uint8_t* stage, uint32_t* to);

}  // namespace wick
