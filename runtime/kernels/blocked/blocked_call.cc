#include "runtime/kernels/blocked/blocked_call.h"

#include <algorithm>

#include "runtime/kernels/activation.h"

namespace wick {
namespace {

constexpr int64_t kMarkFloats = 16;  // a line of the cache

// Scratch: a mark, tables of taps, and room for input and sums.
int64_t worker_floats(const BlockedCut& c) {
  return kMarkFloats + c.all_table_floats() + c.x_floats() + c.y_floats();
}

}  // namespace

void finish_blocks(const TileKernels& tiles, int64_t block, const Epilogue& e, int64_t channel,
                   int64_t channels, int vectors, float* y, int64_t y_vector, int64_t count) {
  if (in_registers(e)) {
    if (!has_loop(e.act)) return;
    Epilogue later;
    later.channel = Epilogue::Channel::kWhole;
    later.act = e.act, later.alpha = e.alpha, later.beta = e.beta;
    later.loop = e.loop;
    return tiles.finish(later, 0, y, y_vector, y, y_vector, vectors, count * block);
  }
  Epilogue all = e;
  all.channel = Epilogue::Channel::kColumn;
  all.residual_step = block;
  for (int v = 0; v < vectors; ++v, channel += block, y += y_vector) {
    tiles.finish(all, channel, y, block, y, block, count, std::min(block, channels - channel));
    if (all.residual != nullptr) all.residual += y_vector;
  }
}

struct BlockedCall::Band {
  int64_t image, group, first, count;  // rows, or pixels if there is only one row
  const float* x;                      // the group's planes of the image
  int32_t* tables;
  float* copy;  // their rows that the band reads, with padding
  bool copied = false;
};

// Returns the input of the band's first output at offset 0.
const float* BlockedCall::source(Band& b, const BlockedPlanes& planes) const {
  const int64_t pixel = c.pixel(), col = c.flat() ? b.first * c.s.stride_w * pixel : 0;
  const int64_t row = c.flat() ? 0 : b.first * c.s.stride_h;
  if (!c.padded || &planes == &c.image) return b.x + row * planes.cols * pixel + col;
  if (!b.copied) copy_blocked_band(c, b.x, row - c.s.pad_top, b.copy);
  b.copied = true;
  return b.copy + col;
}

// Calls f(i, area, end, table) for the band's outputs that each table but the first, number i,
// serves; `r` and `end` are those of the band's first output.
template <class F>
void BlockedCall::each_area(const Band& b, BlockedArea r, Epilogue end, F f) const {
  const int64_t row0 = c.flat() ? 0 : b.first, rows = c.flat() ? 1 : b.count;
  const int64_t col0 = c.flat() ? b.first : 0, cols = r.y_cols;
  const BlockedArea first = r;
  const float* residual = end.residual;
  int which = -1;
  each_tap_table(
      c, b.tables,
      [&](const TapTable& table, const TapRun& down, const TapRun& across, const BlockedPlanes&) {
        if (which++ < 0) return;
        const int64_t top = std::max(row0, down.begin), left = std::max(col0, across.begin);
        r.rows = std::min(row0 + rows, down.end) - top;
        r.cols = std::min(col0 + cols, across.end) - left;
        if (r.rows <= 0 || r.cols <= 0) return;
        const int64_t out = ((top - row0) * r.y_cols + left - col0) * c.block;
        r.x = first.x + (top - row0) * r.x_row + (left - col0) * r.x_step;
        r.y = first.y + out;
        if (residual != nullptr && c.y_blocked) end.residual = residual + out;
        f(which, r, end, table);
      });
}

// Computes panel `at`; where `third`, also the first vector of the next panel.
//
// Products of padding are left out where all weights are finite. They are 0 then, which changes no
// sum but -0, and a sum becomes -0 only where it underflows. Where a sum is -0, the area is
// computed again with all products.
void BlockedCall::panel(Band& b, int64_t at, bool third, float* sums) const {
  const ConvShape& s = c.s;
  const int64_t plane = s.oh * s.ow, channel = at * c.unit();
  const int64_t first = b.group * s.group_out() + channel;
  BlockedArea whole = {};
  int64_t plane_floats = 0;
  const auto read = [&](Band& band, const BlockedPlanes& planes) {
    whole.x = source(band, planes);
    whole.x_row = s.stride_h * planes.cols * c.pixel();
    plane_floats = planes.floats(c.pixel());
  };
  whole.x_step = s.stride_w * c.pixel();
  whole.vectors = third ? 3 : s.group_out() - channel > c.block ? 2 : 1;
  whole.half = 2 * (s.group_out() - channel - (whole.vectors - 1) * c.block) <= c.block;
  whole.channel = first;
  whole.channels = s.oc;
  // Blocks are whole: a group's blocks begin at its first channel.
  const int64_t pixel = (c.flat() ? b.first : b.first * c.cols) * c.block;
  const int64_t place =
      (b.image * ceil_div(s.oc, c.block) + first / c.block) * plane * c.block + pixel;
  whole.y = c.y_blocked ? y + place : sums;
  whole.y_vector = c.y_blocked ? plane * c.block : c.band_pixels() * c.block;
  whole.y_cols = c.flat() ? b.count : c.cols;
  Epilogue end = epilogue;
  if (epilogue.residual != nullptr && c.y_blocked) end.residual = epilogue.residual + place;

  const bool finish = c.y_blocked && in_registers(epilogue);
  const float* panel_weights = weights + b.group * c.group_weights() + at * c.k * c.unit();
  const int64_t parts = c.parts(), part_floats = c.part_taps() * c.unit();
  const int64_t part_planes = c.x_blocked ? c.part_channels / c.block : c.part_channels;
  const auto compute = [&](BlockedArea r, const Epilogue* e, const TapTable& table, int64_t part) {
    const bool last = part + 1 == parts;
    r.taps = table.taps(part);
    r.x += part * part_planes * plane_floats;
    r.weights = panel_weights + part * part_floats;
    r.third = r.weights + c.k * c.unit();
    r.next_panel = last ? c.k * c.unit() - part * part_floats : part_floats;
    r.resume = part > 0;
    r.end = last && finish ? e : nullptr;
    t.area(r);
  };
  // Of an area whose sums lack products: returns false where one is -0, else finishes them.
  const auto complete = [&](const BlockedArea& r, Epilogue e) {
    const auto each_row = [&](auto f) {
      bool all = true;
      for (int64_t v = 0; v < r.vectors; ++v) {
        for (int64_t row = 0; row < r.rows; ++row)
          all = all && f(v * c.block, v * r.y_vector + row * r.y_cols * c.block);
      }
      return all;
    };
    if (!each_row([&](int64_t, int64_t at) { return !t.minus_zero(r.y + at, r.cols * c.block); }))
      return false;
    e.channel = Epilogue::Channel::kColumn;
    e.residual_step = c.block;
    if (has_loop(e.act)) e.act = Activation::kNone;
    const float* residual = e.residual;
    return !finish || each_row([&](int64_t lane, int64_t at) {
      if (residual != nullptr) e.residual = residual + at;
      tiles.finish(e, first + lane, r.y + at, c.block, r.y + at, c.block, r.cols,
                   std::min(c.block, s.oc - first - lane));
      return true;
    });
  };
  const TapTable all(c, all_taps(s.kh), all_taps(s.kw), b.tables);
  if (!leaves_out && !c.in_place) {
    read(b, c.all);
    whole.rows = c.flat() ? 1 : b.count, whole.cols = whole.y_cols;
    for (int64_t part = 0; part < parts && !stopped(); ++part) compute(whole, &end, all, part);
  }
  uint64_t again = leaves_out || !c.in_place ? 0 : ~uint64_t{0};  // areas, by their number
  if (leaves_out) read(b, c.planes());
  for (int64_t part = 0; part < parts && leaves_out && !stopped(); ++part) {
    // Those with all products come first: then the weights are in the cache for the others.
    for (bool cut : {false, true}) {
      each_area(b, whole, end,
                [&](int i, const BlockedArea& r, const Epilogue& e, const TapTable& table) {
                  if (table.whole() == cut) return;
                  compute(r, cut ? nullptr : &e, table, part);
                  if (cut && part + 1 == parts && !complete(r, e)) again |= uint64_t{1} << i;
                });
    }
  }
  float* const band_y = whole.y;
  for (int64_t from = 0; again != 0 && from < b.count && !stopped(); from += c.copied) {
    Band some = b;
    some.first += from, some.count = std::min(c.copied, b.count - from), some.copied = false;
    read(some, c.all);
    const int64_t out = from * (c.flat() ? 1 : c.cols) * c.block;
    whole.y = band_y + out;
    if (c.flat()) whole.y_cols = some.count;
    Epilogue e = end;
    if (e.residual != nullptr && c.y_blocked) e.residual += out;
    for (int64_t part = 0; part < parts && !stopped(); ++part) {
      each_area(some, whole, e,
                [&](int i, const BlockedArea& r, const Epilogue& of_area, const TapTable&) {
                  if ((again >> i & 1) != 0) compute(r, &of_area, all, part);
                });
    }
  }
  if (c.y_blocked) {
    finish_blocks(tiles, c.block, end, first, s.oc, whole.vectors, band_y, whole.y_vector,
                  c.flat() ? b.count : b.count * c.cols);
  }
}

// Transposes a panel's sums to their place in a plain output.
void BlockedCall::turn(const Band& b, int64_t at, int64_t panels, float* sums) const {
  const ConvShape& s = c.s;
  const int64_t plane = s.oh * s.ow, channel = b.group * s.group_out() + at * c.unit();
  const int64_t left = std::min(panels * c.unit(), s.group_out() - at * c.unit());
  const int64_t pixels = c.flat() ? b.count : b.count * c.cols;
  const int64_t begin = c.flat() ? b.first : b.first * c.cols;
  if (take != nullptr) {
    return (*take)({b.image, begin, pixels, channel, left, sums, c.band_pixels() * c.block});
  }
  const int64_t place = (b.image * s.oc + channel) * plane + begin;
  float* out = y + place;
  for (int64_t v = 0; v * c.block < left; ++v) {
    tiles.transpose(sums + v * c.band_pixels() * c.block, c.block, out + v * c.block * plane, plane,
                    pixels, std::min(c.block, left - v * c.block));
  }
  if (epilogue.empty()) return;
  Epilogue e = epilogue;
  e.channel = Epilogue::Channel::kRow;
  e.residual_step = plane;
  if (e.residual != nullptr) e.residual += place;
  tiles.finish(e, channel, out, plane, out, plane, left, pixels);
}

// The scratch is the worker's, whose first number is 0 before its first task: each worker makes
// tables of its own, which is sooner done than read from another core's cache.
void BlockedCall::task(int64_t task, float* scratch) const {
  const ConvShape& s = c.s;
  auto* const made = reinterpret_cast<int32_t*>(scratch);
  int32_t* const tables = made + kMarkFloats;
  if (*made == 0) {
    each_tap_table(c, tables,
                   [](const TapTable& table, const TapRun& rows, const TapRun& cols,
                      const BlockedPlanes& planes) { table.fill(rows, cols, planes); });
    *made = 1;
  }
  scratch += kMarkFloats + c.all_table_floats();
  const int64_t split = task % c.splits, rest = task / c.splits;
  const int64_t band = rest % c.bands, which = rest / c.bands;
  Band b;
  b.group = which % s.groups, b.image = which / s.groups;
  b.first = band * c.band;
  b.count = std::min(c.band, (c.flat() ? c.cols : c.rows) - b.first);
  const int64_t channels = c.x_blocked ? ceil_div(s.ic, c.block) * c.block : s.ic;
  b.x = x + (b.image * channels + b.group * s.group_in()) * s.h * s.w;
  b.tables = tables;
  b.copy = scratch;
  float* sums = scratch + c.x_floats();
  const int64_t end = c.panels * (split + 1) / c.splits;
  for (int64_t p = c.panels * split / c.splits, n; p < end && !stopped(); p += n) {
    // A single vector would leave registers unused, so it is computed with the panel before.
    const bool third = p + 2 == end && end == c.panels && c.vectors() % 2 != 0;
    n = third ? 2 : 1;
    panel(b, p, third, sums);
    if (!c.y_blocked) turn(b, p, n, sums);
  }
}

int64_t BlockedCall::scratch_floats(const BlockedCut& c, int threads) {
  return threads * worker_floats(c);
}

void BlockedCall::run(ThreadPool* pool, int threads, float* scratch) const {
  const int64_t each = worker_floats(c);
  for (int w = 0; w < (pool == nullptr ? 1 : threads); ++w)
    *reinterpret_cast<int32_t*>(scratch + w * each) = 0;
  parallel_for(pool, c.tasks(), [&](int64_t i, int worker) { task(i, scratch + worker * each); });
}

}  // namespace wick
