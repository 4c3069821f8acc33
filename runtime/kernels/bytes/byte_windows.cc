#include "runtime/kernels/bytes/byte_windows.h"

#include <algorithm>
#include <cstring>

namespace wick {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kFewOutputs = 6;  // per vector, on average; with fewer, other kernels are faster

class Filler {
 public:
  Filler(const ByteWindowShape& s, const ByteWindowTables& to) : s_(s), to_(to) {
    for (int64_t x = 0; x < s.w.out; ++x) to.starts[x].kind = -1;
  }

  ByteWindowCounts run() {
    const int64_t outputs = s_.h.out * s_.w.out;
    ByteWindowCounts n;
    ByteWindowBlock block{};
    int64_t x = 0, y = 0;
    for (int64_t at = 0; at < outputs;) {
      ByteWindowStart& start = to_.starts[x];
      if (start.kind < 0 && !begin(x, &start)) return {0, 0, 0, false};
      if (block.vectors == 0) block.y = static_cast<int32_t>(at), block.mask = 0;
      const int64_t some = std::min<int64_t>(start.outputs, outputs - at);
      const int v = block.vectors++;
      block.mask |= ((uint64_t{1} << some) - 1) << (kLanes * v);
      block.x[v] = static_cast<int32_t>((y * s_.h.stride - s_.h.pad) * s_.w.in + start.first);
      block.kind[v] = start.kind;
      ++n.vectors;
      at += some, x += some;
      for (; x >= s_.w.out; x -= s_.w.out) ++y;
      if (block.vectors < 4 && at < outputs) continue;
      add(block, &n);
      block.vectors = 0;
    }
    n.fits = outputs >= n.vectors * std::min(kFewOutputs, outputs);
    return n;
  }

 private:
  // Finds the window of the outputs from column x of a row on.
  bool begin(int64_t x, ByteWindowStart* start) {
    int64_t least = 0, most = -1, lanes = 0;
    bool inside = true;  // one row, no tap outside it
    for (; lanes < kLanes; ++lanes) {
      int64_t low = most < 0 ? INT64_MAX : least, high = most;
      const int64_t row = (x + lanes) / s_.w.out;
      for (int64_t k = 0; k < s_.w.taps; ++k) {
        const int64_t column = column_of(x + lanes, k);
        if (column < 0 || column >= s_.w.in) {
          inside = false;
          continue;
        }
        const int64_t byte = row * s_.h.stride * s_.w.in + column;
        low = std::min(low, byte), high = std::max(high, byte);
      }
      if (high >= 0 && high - low >= kWindow) break;
      inside = inside && row == 0;
      if (high >= 0) least = low, most = high;
    }
    if (lanes == 0) return false;
    start->outputs = static_cast<int16_t>(lanes);
    start->first = static_cast<int32_t>(least);
    if (inside && inside_ >= 0 && lanes == inside_outputs_) {
      start->kind = inside_;
      return true;
    }
    if (kinds_ == kWindowKinds) return false;
    start->kind = static_cast<int16_t>(kinds_++);
    if (inside && inside_ < 0) inside_ = start->kind, inside_outputs_ = lanes;
    if (to_.order != nullptr) describe(x, lanes, least, start->kind);
    return true;
  }

  int64_t column_of(int64_t x, int64_t tap) const {
    return x % s_.w.out * s_.w.stride + tap * s_.w.dilation - s_.w.pad;
  }

  void describe(int64_t x, int64_t lanes, int64_t least, int64_t kind) const {
    uint8_t* order = to_.order + kind * s_.quads() * kWindow;
    uint64_t* valid = to_.valid + kind * s_.quads();
    memset(order, 0, static_cast<size_t>(s_.quads() * kWindow));
    std::fill(valid, valid + s_.quads(), 0);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t row = (x + lane) / s_.w.out * s_.h.stride * s_.w.in;
      for (int64_t k = 0; k < s_.w.taps; ++k) {
        const int64_t column = column_of(x + lane, k);
        if (column < 0 || column >= s_.w.in) continue;
        const int64_t at = lane * 4 + k % 4;
        order[k / 4 * kWindow + at] = static_cast<uint8_t>(row + column - least);
        valid[k / 4] |= uint64_t{1} << at;
      }
    }
  }

  void add(ByteWindowBlock& block, ByteWindowCounts* n) const {
    const int64_t size = s_.h.in * s_.w.in, last = (s_.h.taps - 1) * s_.row_step();
    block.clip = -1;
    for (int v = 0; v < block.vectors; ++v) {
      if (block.x[v] < 0 || block.x[v] + last + kWindow > size)
        block.clip = static_cast<int32_t>(n->clips);
    }
    if (to_.blocks != nullptr) to_.blocks[n->blocks] = block;
    ++n->blocks;
    if (block.clip < 0) return;
    n->clips += 4 * s_.h.taps;
    if (to_.blocks == nullptr) return;
    uint64_t* clips = to_.clips + block.clip;
    for (int v = 0; v < block.vectors; ++v) {
      for (int64_t r = 0; r < s_.h.taps; ++r) {
        const int64_t from = block.x[v] + r * s_.row_step();
        const int64_t lo = std::clamp<int64_t>(-from, 0, kWindow);
        const int64_t hi = std::clamp<int64_t>(size - from, lo, kWindow);
        const int64_t bytes = hi - lo;
        clips[v * s_.h.taps + r] = bytes == 0 ? 0 : ~uint64_t{0} >> (kWindow - bytes) << lo;
      }
    }
  }

  const ByteWindowShape& s_;
  const ByteWindowTables& to_;
  int64_t kinds_ = 0, inside_outputs_ = 0;
  int16_t inside_ = -1;  // the kind of windows inside a row
};

}  // namespace

ByteWindowCounts fill_byte_windows(const ByteWindowShape& s, const ByteWindowTables& to) {
  return Filler(s, to).run();
}

}  // namespace wick
