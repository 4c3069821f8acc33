#include "runtime/kernels/bytes/byte_gemm.h"

#include <cstring>

#include "runtime/kernels/bytes/byte_amx.h"

namespace wick {
namespace {

constexpr int64_t kFewRows = 8;             // up to here weights are read at memory speed
constexpr int64_t kTaskProducts = 1 << 16;  // minimum per task
constexpr int64_t kTaskBlocks = 8;          // maximum of row blocks per task

// Fills a row's words from `k` adjacent numbers of x; `step` is the stride between words.
void fill_words(const uint8_t* from, int64_t k, int64_t per_word, uint8_t flip, int64_t step,
                uint32_t* to) {
  if (per_word == 4) {
    const uint32_t flips = 0x01010101u * flip;
    int64_t i = 0;
    for (; i + 4 <= k; i += 4, to += step) {
      uint32_t v = 0;
      memcpy(&v, from + i, 4);
      *to = v ^ flips;
    }
    if (i == k) return;
    uint32_t v = 0;
    for (int64_t at = i; at < k; ++at)
      v |= static_cast<uint32_t>(from[at] ^ flip) << (8 * (at - i));
    *to = v;
    return;
  }
  const auto number = [&](int64_t i) -> uint32_t { return static_cast<uint8_t>(from[i] ^ flip); };
  for (int64_t i = 0; i < k; i += 2, to += step)
    *to = number(i) | (i + 1 < k ? number(i + 1) << 16 : 0);
}

// Fills a panel's column from `k` numbers with stride `step`: kPerWord bytes in every line of the
// panel.
template <int kPerWord>
void fill_column(const uint8_t* from, int64_t step, int64_t k, uint8_t flip, int64_t line,
                 uint8_t* to) {
  int64_t l = 0;
  for (; l + kPerWord <= k; l += kPerWord, to += line) {
    for (int i = 0; i < kPerWord; ++i) to[i] = from[(l + i) * step] ^ flip;
  }
  for (int i = 0; l < k; ++l, ++i) to[i] = from[l * step] ^ flip;
}

void column_sums(const ByteKernels& t, const ByteGemm& g, const uint8_t* panel, int32_t* sums) {
  constexpr int64_t kOnes = 256;
  uint32_t ones[kOnes];
  std::fill(ones, ones + kOnes, g.per_word == 4 ? 0x01010101u : 0x00010001u);
  std::fill(sums, sums + g.nr, 0);
  alignas(64) int32_t some[kByteColumns];
  for (int64_t at = 0; at < g.words(); at += kOnes) {
    t.gemm_tile({ones, panel + at * g.line(), nullptr, g.nr, std::min(kOnes, g.words() - at), some,
                 g.nr, 1});
    for (int64_t c = 0; c < g.nr; ++c)
      sums[c] =
          static_cast<int32_t>(static_cast<uint32_t>(sums[c]) + static_cast<uint32_t>(some[c]));
  }
}

}  // namespace

void choose_byte_form(const ByteKernels& t, bool amx, ByteGemm* g) {
  g->nr = t.nr, g->per_word = t.per_word;
  g->amx = amx && g->m > kFewRows;
}

ByteGemm byte_matrices(const TensorView& a, const TensorView& b, const TensorView& y,
                       const ByteKernels& t, bool amx) {
  const TensorView both[] = {a, b};
  const IntegerProduct p({both, 2}, y);
  ByteGemm g;
  g.m = p.m, g.n = p.n, g.k = p.k, g.batches = p.batches, g.a = p.a, g.b = p.b;
  if (b.rank() <= 2 && g.batches > 1) g.m *= g.batches, g.batches = 1;
  if (g.n == 1) g.b.column = 0;
  choose_byte_form(t, amx, &g);
  return g;
}

void pack_byte_panels(const ByteKernels& t, const ByteGemm& g, const TensorView& w, int64_t at,
                      ThreadPool* pool, void* packed) {
  parallel_for(pool, g.panels(), [&](int64_t panel, int) {
    pack_byte_panel(t, g, static_cast<const uint8_t*>(w.data) + at, w.dtype == DType::kI8, panel,
                    packed);
  });
}

int32_t sum_of_bytes(const uint8_t* bytes, int64_t k, uint8_t flip, bool is_signed) {
  uint32_t sum = 0;
  if (is_signed) {
    for (int64_t l = 0; l < k; ++l)
      sum += static_cast<uint32_t>(static_cast<int8_t>(bytes[l] ^ flip));
  } else {
    for (int64_t l = 0; l < k; ++l) sum += static_cast<uint8_t>(bytes[l] ^ flip);
  }
  return static_cast<int32_t>(sum);
}

void pack_byte_panel(const ByteKernels& t, const ByteGemm& g, const uint8_t* b, bool is_signed,
                     int64_t panel, void* packed) {
  uint8_t* to = static_cast<uint8_t*>(packed) + static_cast<size_t>(panel) * g.panel_bytes();
  const uint8_t flip = is_signed ? 0 : 0x80;
  const int64_t first = panel * g.nr, columns = std::min(g.nr, g.n - first);
  memset(to, 0, g.panel_bytes());
  if (g.b.column == 1) {
    uint8_t nothing[kByteColumns];
    memset(nothing, flip, sizeof(nothing));
    for (int64_t l = 0; l < g.k; l += g.per_word) {
      const uint8_t* rows[4];
      for (int64_t i = 0; i < g.per_word; ++i)
        rows[i] = l + i < g.k ? b + (l + i) * g.b.row + first : nothing;
      t.zip(rows, columns, flip, true, to + l / g.per_word * g.line());
    }
  } else {
    const auto fill = g.per_word == 4 ? &fill_column<4> : &fill_column<2>;
    for (int64_t c = 0; c < columns; ++c)
      fill(b + (first + c) * g.b.column, g.b.row, g.k, flip, g.line(), to + c * g.per_word);
  }
  column_sums(t, g, to, const_cast<int32_t*>(g.sums(packed)) + panel * g.nr);
}

void pack_byte_rows(const ByteGemm& g, const ByteKernels& t, const uint8_t* rows, int64_t step,
                    uint8_t flip, int64_t block, int64_t count, uint32_t* packed) {
  uint32_t* to = packed + block * kByteRows * g.row_words();
  if (g.amx) {
    const int64_t tiles = (count + 15) / 16, steps = g.kept_words() / kStepWords;
    for (int64_t r = 0; r < tiles * 16; ++r) {
      for (int64_t s = 0; s < steps; ++s) {
        uint32_t* line = to + ((s * tiles + r / 16) * 16 + r % 16) * kStepWords;
        const int64_t from = s * 64, n = r < count ? std::min<int64_t>(64, g.k - from) : 0;
        if (n < 64) memset(line, 0, 64);
        auto* bytes = reinterpret_cast<uint8_t*>(line);
        const uint8_t* row = rows + r * step + from;
        for (int64_t i = 0; i < n; ++i) bytes[i] = row[i] ^ flip;
      }
    }
    return;
  }
  for (int64_t i = 0; i < count;) {
    const int some = byte_rows(t, count - i);
    for (int64_t r = 0; r < some; ++r)
      fill_words(rows + (i + r) * step, g.k, g.per_word, flip, some, to + i * g.words() + r);
    i += some;
  }
}

void multiply_bytes(const ByteKernels& t, const ByteGemm& g, const uint32_t* rows,
                    const void* packed, int64_t block, int64_t panel, int64_t count,
                    int32_t* sums) {
  const void* columns =
      static_cast<const char*>(packed) + static_cast<size_t>(panel) * g.panel_bytes();
  const uint32_t* from = rows + block * kByteRows * g.row_words();
  if (g.amx) {
    static constexpr int32_t kNoTap[1] = {0};
    byte_amx_gemm({from, static_cast<const uint32_t*>(columns), kNoTap, 1,
                   g.kept_words() / kStepWords, g.nr, sums, g.nr,
                   static_cast<int>((count + 15) / 16), static_cast<int>(g.nr / 16)});
    return;
  }
  for (int64_t i = 0; i < count;) {
    const int some = byte_rows(t, count - i);
    t.gemm_tile(
        {from + i * g.words(), columns, nullptr, g.nr, g.words(), sums + i * g.nr, g.nr, some});
    i += some;
  }
}

void ByteProduct::run(ThreadPool* pool) const {
  const int64_t row_groups = (g.blocks() + kTaskBlocks - 1) / kTaskBlocks;
  const int64_t products = std::min<int64_t>(g.m, kTaskBlocks * kByteRows) * g.k * g.nr + 1;
  const int64_t each = std::clamp<int64_t>(kTaskProducts / products, 1, g.panels());
  const int64_t panel_groups = (g.panels() + each - 1) / each;
  parallel_for(pool, row_groups * panel_groups, [&](int64_t task, int) {
    const int64_t first = task % panel_groups * each, block0 = task / panel_groups * kTaskBlocks;
    if (g.amx) byte_amx_begin();
    Poll poll;
    for (int64_t panel = first; panel < std::min(g.panels(), first + each); ++panel) {
      if (poll(g.k * std::min(g.m, kTaskBlocks * kByteRows) / 8 + 1)) break;
      for (int64_t b = block0; b < std::min(g.blocks(), block0 + kTaskBlocks); ++b) block(b, panel);
    }
    if (g.amx) byte_amx_end();
  });
}

void ByteProduct::block(int64_t row_block, int64_t panel) const {
  const int64_t row = row_block * kByteRows, column = panel * g.nr;
  const int64_t count = std::min<int64_t>(kByteRows, g.m - row);
  alignas(64) int32_t sums[kByteRows * kByteColumns];
  multiply_bytes(t, g, rows, panels, row_block, panel, count, sums);
  ByteColumnsEnd e = end;
  e.sums = sums, e.sums_step = g.nr;
  e.rows = static_cast<int>(count);
  e.columns = static_cast<int>(std::min(g.nr, g.n - column));
  e.add += column;
  if (e.multiplier != nullptr) e.multiplier += column;
  if (e.factor != nullptr) e.factor += column, e.row_factor += row;
  if (e.row_scale != nullptr) e.row_scale += row;
  if (e.bias != nullptr) e.bias += column;
  e.y = static_cast<char*>(e.y) + static_cast<size_t>(row * g.n + column) * y_bytes;
  e.y_step = g.n;
  t.end_columns(e);
}

}  // namespace wick
