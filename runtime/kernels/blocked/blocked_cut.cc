#include "runtime/kernels/blocked/blocked_cut.h"

#include <cstring>

#include "runtime/core/stop.h"

namespace wick {
namespace {

constexpr int64_t kBandFloats = 1 << 15;  // of x, which stay in L2 during the pass over the panels
constexpr int64_t kBandPixels = 64;       // at least, so that a panel is read only a few times
constexpr int64_t kMostK = 1024;          // of a panel, which stays in L2 while the pixels pass
constexpr int64_t kReadPixels = 1024;     // of a band that is read in place
constexpr int64_t kFewCols = 4;  // a tile of fewer pixels costs more than the taps left out
constexpr double kMostKept = 0.7, kMostKeptRows = 0.985;  // of all products: else all are computed

// A run has at least `least` outputs; else, or where there would be too many, there is one with all
// taps. `inside` becomes false where a tap of a run is padding.
TapRuns runs_of(int64_t out, int64_t taps, int64_t size, int64_t stride, int64_t dilation,
                int64_t pad, int64_t least, bool* inside) {
  const TapRuns whole = {1, {{0, out, 0, taps}}};
  const auto give_up = [&] {
    *inside = false;
    return whole;
  };
  TapRuns r;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t at = o * stride - pad;  // of the first tap
    int64_t first = at >= 0 ? 0 : std::min(ceil_div(-at, dilation), taps);
    int64_t last = at >= size ? 0 : std::min(ceil_div(size - at, dilation), taps);
    if (first >= last) first = 0, last = 1, *inside = false;
    TapRun* run = r.run + r.count - 1;
    if (r.count > 0 && run->first == first && run->last == last) {
      run->end = o + 1;
      continue;
    }
    if (r.count == TapRuns::kMost || (r.count > 0 && run->end - run->begin < least))
      return give_up();
    r.run[r.count++] = {o, o + 1, first, last};
  }
  return r.count > 0 && out - r.run[r.count - 1].begin < least ? give_up() : r;
}

}  // namespace

BlockedCut blocked_cut(const BlockedKernels& t, const ConvShape& s, bool x_blocked, bool y_blocked,
                       int threads) {
  BlockedCut c;
  c.s = s;
  c.block = t.lanes;
  c.x_blocked = x_blocked, c.y_blocked = y_blocked;
  c.k = s.group_in() * s.taps();
  const int64_t blocks = ceil_div(s.group_in(), c.block);
  const int64_t some = std::max<int64_t>(kMostK / (c.block * s.taps()), 1);
  c.part_channels = std::min(ceil_div(blocks, ceil_div(blocks, some)) * c.block, s.group_in());
  const int64_t span_h = (s.oh - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1;
  const int64_t span_w = (s.ow - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1;
  c.padded = s.pad_top != 0 || s.pad_left != 0 || span_h > s.h || span_w > s.w;
  const bool each = s.taps() == 1 && s.stride_h == 1 && s.stride_w == 1 && !c.padded;
  c.rows = each ? 1 : s.oh;
  c.cols = each ? s.oh * s.ow : s.ow;
  const int64_t pixels = c.rows * c.cols;
  c.in_place = c.padded;
  c.row_runs = runs_of(s.oh, s.kh, s.h, s.stride_h, s.dilation_h, s.pad_top, 1, &c.in_place);
  c.col_runs =
      runs_of(s.ow, s.kw, s.w, s.stride_w, s.dilation_w, s.pad_left, kFewCols, &c.in_place);
  // Small borders save less than their areas cost. Columns cost more than rows: their tiles are
  // short, and their taps stand apart in the weights.
  const auto keeps = [&](double share) {
    return c.row_runs.kept() * c.col_runs.kept() > share * static_cast<double>(pixels * s.taps());
  };
  if (each || keeps(kMostKept)) {
    c.in_place = false;
    c.col_runs = {1, {{0, c.cols, 0, s.kw}}};
  }
  c.leaves_out = !each && !keeps(kMostKeptRows);
  if (!c.leaves_out) c.row_runs = {1, {{0, c.rows, 0, s.kh}}};
  const int64_t read = s.group_in() * s.stride_h * s.stride_w;  // floats of x per pixel
  const int64_t copied = std::max(kBandPixels, kBandFloats / std::max<int64_t>(read, 1));
  // Few taps are soon done, so that weights are read for more pixels.
  const int64_t wanted = c.in_place ? std::max(copied, kReadPixels) : copied;
  const int64_t apart = s.n * s.groups;
  c.panels = ceil_div(s.group_out(), c.unit());
  const int64_t length = c.flat() ? c.cols : c.rows, most = ceil_div(pixels, kBandPixels);
  int64_t bands = ceil_div(pixels, wanted);
  if (threads > 1 && apart * bands * c.panels < 2 * threads)  // too few panels to divide instead
    bands = std::max(bands, std::min(ceil_div(2 * threads, apart), most));
  c.band = ceil_div(length, std::min(bands, length));
  // What the busiest thread computes of each panel.
  const auto busiest = [&](int64_t band) {
    return ceil_div(apart * ceil_div(length, band), threads) * band;
  };
  for (int64_t more = bands + 1; more <= std::min({length, most, bands + 2 * threads}); ++more) {
    const int64_t band = ceil_div(length, more);
    if (threads > 1 && busiest(band) < busiest(c.band)) c.band = band;
  }
  c.bands = ceil_div(length, c.band);
  if (threads > 1 && apart * c.bands < 2 * threads)
    c.splits = std::min<int64_t>(c.panels, ceil_div(2 * threads, apart * c.bands));
  c.copied = c.in_place && !c.flat() ? std::clamp<int64_t>(copied / c.cols, 1, c.band) : c.band;
  c.image = {s.h, s.w, s.dilation_h, s.dilation_w, s.pad_top, s.pad_left};
  c.all = c.image;
  if (c.padded) {
    const int64_t row_step = std::min(s.dilation_h, c.tap_rows());
    const int64_t col_step = std::min(s.dilation_w, c.tap_cols());
    c.all = {(s.kh - 1) * row_step + c.tap_rows(), (s.kw - 1) * col_step + c.tap_cols(), row_step,
             col_step};
  }
  return c;
}

void TapTable::fill(const TapRun& rows, const TapRun& cols, const BlockedPlanes& planes) const {
  const ConvShape& s = c_.s;
  const int64_t pixel = c_.pixel(), plane = planes.floats(pixel);
  int32_t* x = x_;
  BlockedPiece* last = piece_ - 1;
  int64_t weights = 0, next = -1;  // next: where the last piece goes on
  for (int64_t i = 0; i < c_.part_channels; ++i) {
    const int64_t at = c_.x_blocked ? i / c_.block * plane + i % c_.block : i * plane;
    for (int64_t h = 0; h < s.kh; ++h) {
      for (int64_t w = 0; w < s.kw; ++w, weights += c_.unit()) {
        if (h < rows.first || h >= rows.last || w < cols.first || w >= cols.last) continue;
        if (next != weights) *++last = {0, static_cast<int32_t>(weights)};
        ++last->count;
        next = weights + c_.unit();
        const int64_t row = h * planes.row_step - planes.top;
        const int64_t col = w * planes.col_step - planes.left;
        *x++ = static_cast<int32_t>(at + (row * planes.cols + col) * pixel);
      }
    }
  }
}

void copy_blocked_band(const BlockedCut& c, const float* x, int64_t first, float* to) {
  const ConvShape& s = c.s;
  const BlockedPlanes& all = c.all;
  const int64_t pixel = c.pixel();
  const bool rows_apart = all.row_step < s.dilation_h, cols_apart = all.col_step < s.dilation_w;
  const int64_t runs = cols_apart ? s.kw : 1, length = all.cols / runs;
  const auto bytes = [&](int64_t n) { return sizeof(float) * static_cast<size_t>(n * pixel); };
  Poll poll;
  for (int64_t p = 0; p < c.in_planes(); ++p, x += s.h * s.w * pixel) {
    for (int64_t r = 0; r < all.rows; ++r) {
      if (poll(all.cols * pixel / 4 + 1)) return;
      const int64_t from =
          first + (rows_apart ? r / all.row_step * s.dilation_h + r % all.row_step : r);
      for (int64_t run = 0; run < runs; ++run, to += length * pixel) {
        const int64_t left = run * s.dilation_w - s.pad_left;
        const bool inside = from >= 0 && from < s.h;
        const int64_t lo = inside ? std::clamp<int64_t>(-left, 0, length) : length;
        const int64_t hi = std::clamp(s.w - left, lo, length);
        memset(to, 0, bytes(lo));
        if (hi > lo) memcpy(to + lo * pixel, x + (from * s.w + left + lo) * pixel, bytes(hi - lo));
        memset(to + hi * pixel, 0, bytes(length - hi));
      }
    }
  }
}

}  // namespace wick
