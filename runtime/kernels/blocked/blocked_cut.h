// How a convolution in blocked layout is divided: bands of outputs, panels of channels, and which
// products of padding the sums of some outputs leave out.
#pragma once

#include <algorithm>

#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/conv/conv_shape.h"

namespace wick {

constexpr int64_t kTableTaps = 4096;  // of a table, at least where there are as many

// Rows (or columns) [begin, end) of outputs, for which taps [first, last) of the kernel
// reach the input, and the others padding. A run without such taps has one all the same.
struct TapRun {
  int64_t begin, end, first, last;
};
struct TapRuns {
  static constexpr int kMost = 7;  // pairs of them have numbers of 6 bits
  int count = 0;
  TapRun run[kMost];

  // Returns the taps of all outputs together.
  double kept() const {
    double n = 0;
    for (int i = 0; i < count; ++i)
      n += static_cast<double>((run[i].end - run[i].begin) * (run[i].last - run[i].first));
    return n;
  }
};

// The planes of a convolution's input that tiles read: the image itself, or a band's copy with
// explicit padding.
struct BlockedPlanes {
  int64_t rows = 1, cols = 1;
  int64_t row_step = 1, col_step = 1;  // between the taps of a kernel
  int64_t top = 0, left = 0;           // rows and columns from the first output's first tap

  // Returns the floats of a plane.
  int64_t floats(int64_t pixel) const { return rows * cols * pixel; }
};

// The division of the work. The output is `rows` by `cols`; for a 1x1 kernel that reads every pixel
// it is treated as one row.
struct BlockedCut {
  ConvShape s;
  int64_t block = 0;
  bool x_blocked = false, y_blocked = false;
  bool padded = false;  // bands of x are copied with explicit padding
  int64_t rows = 1, cols = 1;
  BlockedPlanes image;
  // Those that hold every tap. Where taps lie farther apart than a band reads for one of them, a
  // copied band holds only what is read, and its steps are less than the dilations.
  BlockedPlanes all;
  int64_t band = 1, bands = 1;     // in rows; if there is only one row, in pixels
  int64_t copied = 1;              // of a band, at a time
  int64_t panels = 1, splits = 1;  // of a group's output channels
  int64_t k = 1, part_channels = 1;
  TapRuns row_runs, col_runs;
  bool leaves_out = false;  // whether some outputs have sums without some products of padding
  // Then, where no tap that is left is padding, the image is read in place: rows of it are copied
  // only for sums that must be computed again.
  bool in_place = false;

  bool flat() const { return rows == 1; }
  // What a copy has for one tap.
  int64_t tap_rows() const { return flat() ? 1 : (copied - 1) * s.stride_h + 1; }
  int64_t tap_cols() const { return (s.ow - 1) * s.stride_w + 1; }
  int64_t pixel() const { return x_blocked ? block : 1; }
  const BlockedPlanes& planes() const { return in_place ? image : all; }  // of the runs' tables
  int64_t unit() const { return kBlockedVectors * block; }
  int64_t in_planes() const { return x_blocked ? ceil_div(s.group_in(), block) : s.group_in(); }
  int64_t band_pixels() const { return flat() ? band : band * cols; }
  int64_t group_weights() const { return panels * unit() * k; }
  // Sums are computed in parts, each with its input channels, for which the tables of taps are the
  // same.
  int64_t parts() const { return ceil_div(s.group_in(), part_channels); }
  int64_t part_taps() const { return part_channels * s.taps(); }
  // All taps, and those of every pair of a row's and a column's run.
  int64_t tables() const { return leaves_out ? 1 + row_runs.count * col_runs.count : 1; }
  // A row of a kernel has a piece of taps that a run has.
  int64_t table_floats() const { return part_taps() + 2 * part_channels * s.kh; }
  int64_t all_table_floats() const { return round_up(tables() * table_floats(), 16); }
  int64_t x_floats() const {
    return padded ? round_up(in_planes() * all.floats(pixel()) + 16, 16) : 0;
  }
  int64_t vectors() const { return ceil_div(s.group_out(), block); }  // of a group
  int64_t y_floats() const { return y_blocked ? 0 : 3 * block * band_pixels(); }
  int64_t tasks() const { return s.n * s.groups * bands * splits; }
};

BlockedCut blocked_cut(const BlockedKernels& t, const ConvShape& s, bool x_blocked, bool y_blocked,
                       int threads);

// The taps of some channels that a row's and a column's run have.
class TapTable {
 public:
  TapTable(const BlockedCut& c, const TapRun& rows, const TapRun& cols, int32_t* memory)
      : c_(c),
        kept_((rows.last - rows.first) * (cols.last - cols.first)),
        x_(memory),
        piece_(reinterpret_cast<BlockedPiece*>(memory + c.part_taps())) {}

  void fill(const TapRun& rows, const TapRun& cols, const BlockedPlanes& planes) const;
  bool whole() const { return kept_ == c_.s.taps(); }
  // Those of a part.
  BlockedTaps taps(int64_t part) const {
    const int64_t count =
        kept_ * std::min(c_.part_channels, c_.s.group_in() - part * c_.part_channels);
    BlockedTaps t = {x_, count, *piece_, piece_ + 1};
    t.first.count = static_cast<int32_t>(std::min<int64_t>(t.first.count, count));
    return t;
  }

 private:
  const BlockedCut& c_;
  int64_t kept_;  // taps of a channel
  int32_t* x_;
  BlockedPiece* piece_;
};

inline TapRun all_taps(int64_t taps) { return {0, 0, 0, taps}; }

// Calls f(table, rows, cols, planes) for the table of all taps, and then for that of each pair of
// runs.
template <class F>
void each_tap_table(const BlockedCut& c, int32_t* memory, F f) {
  const auto next = [&](const TapRun& rows, const TapRun& cols, const BlockedPlanes& planes) {
    f(TapTable(c, rows, cols, memory), rows, cols, planes);
    memory += c.table_floats();
  };
  next(all_taps(c.s.kh), all_taps(c.s.kw), c.all);
  for (int r = 0; r < c.row_runs.count && c.leaves_out; ++r) {
    for (int q = 0; q < c.col_runs.count; ++q)
      next(c.row_runs.run[r], c.col_runs.run[q], c.planes());
  }
}

// Copies what a band reads of every plane, with zeros outside the image: the rows from `first` on,
// the columns from -pad_left on.
void copy_blocked_band(const BlockedCut& c, const float* x, int64_t first, float* to);

}  // namespace wick
