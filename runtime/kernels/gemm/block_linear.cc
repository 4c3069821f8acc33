// The SIMD row of BlockLinear: f32 by 4- or 8-bit weights with one scale per block. With a few rows
// of x the packed weights are read once and dequantized in registers; more rows share a panel of
// weights that was dequantized to f32 into a buffer that stays in L2. The results are bit-identical
// to DequantizeLinear and Linear.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/block_linear.cc"
#include "runtime/kernels/gemm/block_linear.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/bytes/integer.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/gemm/tile.h"
#include "runtime/kernels/kernel_set.h"

#include "runtime/kernels/gemm/block_linear-inl.h"

#if HWY_ONCE
#include <algorithm>
#include <cstring>

namespace wick {
namespace {

HWY_EXPORT(block_set);

// Rows of x up to which weights are dequantized for each row tile.
constexpr int64_t kFewRows = 8;
constexpr int64_t kDepth = 512;     // of a dequantized panel; a multiple of every block size
constexpr int64_t kMostRows = 256;  // of x, packed beside the panel

// The layout of packed weights: panels of nr rows of W each, the last one in whole vectors.
struct Panels {
  const BlockSizes& s;
  int64_t nr, lanes;

  int64_t count() const { return ceil_div(s.n, nr); }
  int64_t columns() const { return round_up(s.n, lanes); }
  int64_t width(int64_t p) const { return std::min(nr, columns() - p * nr); }
  int64_t words() const { return ceil_div(s.k, 32 / s.bits); }
  size_t word_bytes() const { return byte_count(4 * static_cast<uint64_t>(columns() * words())); }
  size_t block_bytes(size_t one) const {
    return byte_count(one * static_cast<uint64_t>(columns() * s.blocks));
  }
};

// Returns the offset that maps numbers to 0 .. 2^bits - 1 in the same order.
int offset_of(DType t, int bits) {
  return t == DType::kI4 || t == DType::kI8 ? 1 << (bits - 1) : 0;
}

bool match(const KernelQuery& q) { return q.in[0].dtype == DType::kF32; }

struct Kernels {
  const TileKernels* tiles;
  const BlockKernels* blocks;
};

Status plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  const BlockSizes s(q.in, q.as<BlockLinearAttrs>());
  const Panels panels{s, t.nr, t.lanes};
  p->keep(Kernels{&t, HWY_DYNAMIC_DISPATCH(block_set)()});
  const int64_t rows = round_up(std::min(s.m, kMostRows), t.mr), depth = std::min(s.k, kDepth);
  p->scratch_bytes =
      byte_count(sizeof(float) * static_cast<uint64_t>(round_up(rows * depth, 16) +
                                                       q.threads * round_up(t.nr * depth, 16)));
  // All inputs are packed or none: run() reads either only packed or only plain forms.
  for (size_t i : {size_t{1}, size_t{2}, size_t{3}}) {
    if (has_input(q.in, i) && q.in[i].data == nullptr) return {};
  }
  p->packs[0] = {1, packed_layout(PackedKind::kBlockWords, t.nr), panels.word_bytes()};
  p->packs[1] = {2, packed_layout(PackedKind::kBlockScales, t.nr),
                 panels.block_bytes(q.in[2].dtype == DType::kF16 ? 2 : 4)};
  if (has_input(q.in, 3))
    p->packs[2] = {3, packed_layout(PackedKind::kBlockZeros, t.nr), panels.block_bytes(1)};
  return {};
}

void pack_words(const Panels& panels, const TensorView& w, uint32_t* to) {
  const BlockSizes& s = panels.s;
  const int64_t of_word = 32 / s.bits;
  const int flip = offset_of(w.dtype, s.bits);
  for (int64_t p = 0; p < panels.count(); ++p) {
    for (int64_t word = 0; word < panels.words(); ++word) {
      for (int64_t c = 0; c < panels.width(p); ++c, ++to) {
        const int64_t row = p * panels.nr + c, k = word * of_word;
        uint32_t bits = 0;
        for (int64_t i = 0; row < s.n && i < std::min(of_word, s.k - k); ++i) {
          const auto v = static_cast<uint32_t>(block_number(w, row * s.k + k + i) + flip);
          bits |= v << (i * s.bits);
        }
        *to = bits;
      }
    }
  }
}
// For rows whose k fill whole words of the file, as most do: words are copied unchanged.
void pack_whole_words(const Panels& panels, const TensorView& w, uint32_t* to) {
  const BlockSizes& s = panels.s;
  const uint32_t flip = offset_of(w.dtype, s.bits) == 0 ? 0
                        : s.bits == 4                   ? 0x88888888u
                                                        : 0x80808080u;
  const auto* from = static_cast<const uint8_t*>(w.data);
  const int64_t row_bytes = s.k * s.bits / 8;
  for (int64_t p = 0; p < panels.count(); ++p) {
    const int64_t width = panels.width(p), rows = std::min(width, s.n - p * panels.nr);
    for (int64_t word = 0; word < panels.words(); ++word, to += width) {
      for (int64_t c = 0; c < rows; ++c) {
        memcpy(to + c, from + (p * panels.nr + c) * row_bytes + word * 4, 4);
        to[c] ^= flip;
      }
      std::fill(to + rows, to + width, 0u);
    }
  }
}

template <class T, class F>
void pack_blocks(const Panels& panels, T* to, F value) {
  for (int64_t p = 0; p < panels.count(); ++p) {
    for (int64_t b = 0; b < panels.s.blocks; ++b) {
      for (int64_t c = 0; c < panels.width(p); ++c) {
        const int64_t row = p * panels.nr + c;
        *to++ = row < panels.s.n ? value(row * panels.s.blocks + b) : T();
      }
    }
  }
}

Status pack(const KernelQuery& q, const KernelPlan& plan, int slot, void* dst) {
  const TileKernels& t = *plan.kept<Kernels>().tiles;
  const BlockSizes s(q.in, q.as<BlockLinearAttrs>());
  const Panels panels{s, t.nr, t.lanes};
  const TensorView& from = q.in[static_cast<size_t>(slot) + 1];
  if (slot == 0) {
    auto* to = static_cast<uint32_t*>(dst);
    s.k % (32 / s.bits) == 0 ? pack_whole_words(panels, from, to) : pack_words(panels, from, to);
  } else if (slot == 2) {
    const int offset = offset_of(from.dtype, s.bits);
    pack_blocks(panels, static_cast<uint8_t*>(dst),
                [&](int64_t i) { return static_cast<uint8_t>(block_number(from, i) + offset); });
  } else if (from.dtype == DType::kF16) {
    pack_blocks(panels, static_cast<Half*>(dst), [&](int64_t i) { return from.as<Half>()[i]; });
  } else {
    pack_blocks(panels, static_cast<float*>(dst), [&](int64_t i) { return from.as<float>()[i]; });
  }
  return {};
}

class Product {
 public:
  Product(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
          const BlockLinearAttrs& a)
      : t_(*ctx.plan->kept<Kernels>().tiles),
        k_(*ctx.plan->kept<Kernels>().blocks),
        pool_(ctx.pool),
        in_(in),
        s_(in, a),
        panels_{s_, t_.nr, t_.lanes},
        zero_(static_cast<int>(a.zero_point)),
        x_(in[0].as<float>()),
        bias_(optional_input(in, 4)),
        y_(out[0].as<float>()),
        rows_(static_cast<float*>(ctx.scratch)),
        words_(static_cast<const uint32_t*>(ctx.packed[0])),
        scales_(static_cast<const char*>(ctx.packed[1])),
        zeros_(static_cast<const uint8_t*>(ctx.packed[2])) {
    const bool zeros = has_input(in, 3);
    packed_ = words_ != nullptr && scales_ != nullptr && (!zeros || zeros_ != nullptr);
    depth_ = std::min(s_.k, kDepth);
    const int64_t rows = round_up(std::min(s_.m, kMostRows), t_.mr);
    panel_scratch_ = rows_ + round_up(rows * depth_, 16);
  }

  void run() {
    if (s_.m == 0 || s_.n == 0) return;
    if (s_.k == 0) {
      memset(y_, 0, sizeof(float) * static_cast<size_t>(s_.m * s_.n));
      if (bias_ != nullptr) finish(0, s_.m, 0, s_.n);
    } else if (packed_ && s_.m <= kFewRows) {
      // Full panels are processed together, in enough tasks for every thread.
      const int64_t full = s_.n / t_.nr, threads = pool_ == nullptr ? 1 : pool_->threads();
      const int64_t together = std::clamp<int64_t>(full / (2 * threads), 1, kBlockPanels);
      const int64_t groups = ceil_div(full, together);
      parallel_for(pool_, groups + panels_.count() - full, [&](int64_t task, int) {
        const int64_t p = task < groups ? task * together : full;
        few_rows(p, task < groups ? std::min(together, full - p) : 1);
      });
    } else {
      for (int64_t i = 0; i < s_.m && !stopped(); i += kMostRows)
        many_rows(i, std::min(kMostRows, s_.m - i));
    }
  }

 private:
  int cols(int64_t p) const {
    return static_cast<int>(std::min(t_.nr + int64_t{0}, s_.n - p * t_.nr));
  }

  BlockPanel panel(int64_t p) const {
    const bool half = in_[2].dtype == DType::kF16;
    const int64_t at = p * t_.nr;
    BlockPanel b;
    b.words = words_ + at * panels_.words();
    b.scales = scales_ + at * s_.blocks * (half ? 2 : 4);
    b.zeros = zeros_ == nullptr ? nullptr : zeros_ + at * s_.blocks;
    b.zero = static_cast<float>(zero_ + offset_of(in_[1].dtype, s_.bits));
    b.half = half;
    b.bits = s_.bits;
    b.block = s_.block;
    return b;
  }

  void few_rows(int64_t p, int64_t count) const {
    BlockDot d = {};
    d.panel = panel(p);
    d.bias = bias_ == nullptr ? nullptr : bias_ + p * t_.nr;
    d.out_step = s_.n;
    d.k = s_.k;
    d.cols = cols(p);
    d.panels = static_cast<int>(count);
    for (int64_t i = 0; i < s_.m; i += k_.rows) {
      d.row_count = static_cast<int>(std::min<int64_t>(k_.rows, s_.m - i));
      for (int r = 0; r < d.row_count; ++r) d.rows[r] = x_ + (i + r) * s_.k;
      d.out = y_ + i * s_.n + p * t_.nr;
      k_.dot(d);
    }
  }

  // Dequantizes panel p to [k][nr] from unpacked weights.
  void unpack_plain(int64_t p, int64_t k0, int64_t depth, int64_t width, float* to) const {
    for (int64_t c = 0; c < width; ++c) {
      const int64_t row = p * t_.nr + c;
      for (int64_t k = 0; k < depth; ++k) {
        float w = 0;
        if (row < s_.n) {
          const int64_t block = row * s_.blocks + (k0 + k) / s_.block;
          const int zero = has_input(in_, 3) ? block_number(in_[3], block) : zero_;
          w = static_cast<float>(block_number(in_[1], row * s_.k + k0 + k) - zero) *
              block_scale<float>(in_[2], block);
        }
        to[k * width + c] = w;
      }
    }
  }

  void many_rows(int64_t i0, int64_t count) {
    for (int64_t k0 = 0; k0 < s_.k && !stopped(); k0 += depth_) {
      const int64_t depth = std::min(depth_, s_.k - k0);
      parallel_for(pool_, ceil_div(count, t_.mr), [&](int64_t tile, int) {
        const int64_t i = tile * t_.mr;
        t_.transpose(x_ + (i0 + i) * s_.k + k0, s_.k, rows_ + i * depth, t_.mr,
                     std::min<int64_t>(t_.mr, count - i), depth);
      });
      parallel_for(pool_, panels_.count(), [&](int64_t p, int worker) {
        float* reals = panel_scratch_ + worker * round_up(t_.nr * depth_, 16);
        const int64_t width = panels_.width(p);
        if (packed_) {
          k_.unpack(panel(p), k0, depth, static_cast<int>(width), reals);
        } else {
          unpack_plain(p, k0, depth, width, reals);
        }
        tiles(p, i0, count, k0, depth, width, reals);
      });
    }
  }
  void tiles(int64_t p, int64_t i0, int64_t count, int64_t k0, int64_t depth, int64_t width,
             const float* reals) const {
    TileArgs args = {};
    args.vec = reals;
    args.k = depth;
    args.row_step = t_.mr;
    args.vec_step = width;
    args.out_step = s_.n;
    args.cols = cols(p);
    args.resume = k0 > 0;
    for (int64_t i = 0; i < count; i += t_.mr) {
      args.row_count = static_cast<int>(std::min<int64_t>(t_.mr, count - i));
      for (int r = 0; r < args.row_count; ++r) args.rows[r] = rows_ + i * depth + r;
      args.out = y_ + (i0 + i) * s_.n + p * t_.nr;
      t_.tile(args);
    }
    if (k0 + depth == s_.k && bias_ != nullptr) finish(i0, count, p * t_.nr, args.cols);
  }
  void finish(int64_t row, int64_t rows, int64_t col, int64_t cols) const {
    Epilogue e;
    e.bias = bias_;
    float* y = y_ + row * s_.n + col;
    t_.finish(e, col, y, s_.n, y, s_.n, rows, cols);
  }

  const TileKernels& t_;
  const BlockKernels& k_;
  ThreadPool* pool_;
  Span<const TensorView> in_;
  BlockSizes s_;
  Panels panels_;
  int zero_;
  const float *x_, *bias_;
  float *y_, *rows_, *panel_scratch_;
  const uint32_t* words_;
  const char* scales_;
  const uint8_t* zeros_;
  bool packed_;
  int64_t depth_;
};

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  Product(ctx, in, out, *static_cast<const BlockLinearAttrs*>(attrs)).run();
  return {};
}

}  // namespace

WICK_CPU_ROWS(BlockLinear, {"block_linear.f32.simd", kContiguous, match, plan, pack, run});

}  // namespace wick
#endif
