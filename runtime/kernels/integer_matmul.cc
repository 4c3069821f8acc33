// The SIMD row of MatMulInteger: a's rows as they come, b in panels of nr columns, packed once
// where it is a constant matrix. b keeps its zero point there; what that adds is a row's sum times
// it.
#include <algorithm>

#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer.h"
#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

constexpr int64_t kRows = 32;       // of a task
constexpr int64_t kPanels = 16;     // of a task
constexpr int64_t kMaxK = 1 << 20;  // beyond it blocks of rows leave the caches

int64_t pairs_of(int64_t k) { return (k + 1) / 2; }
int64_t panels_of(const IntegerKernels& t, int64_t n) { return (n + t.nr - 1) / t.nr; }
size_t rounded(int64_t elements) { return static_cast<size_t>((elements * 4 + 63) / 64 * 64); }

size_t packed_bytes(const IntegerKernels& t, int64_t k, int64_t n) {
  return rounded(panels_of(t, n) * pairs_of(k) * t.nr);
}
size_t rows_bytes(int64_t k) { return rounded(kRows * (pairs_of(k) + 1)); }

template <class T>
void pack_panel(const IntegerKernels& t, const T* b, int64_t row, int64_t column, int64_t k,
                int64_t cols, int32_t* out) {
  for (int64_t l = 0; l < k; l += 2, out += t.nr) {
    const T* even = b + l * row;
    const bool odd = l + 1 < k;
    for (int64_t j = 0; j < cols; ++j)
      out[j] = integer_pair(even[j * column], odd ? even[row + j * column] : 0);
    std::fill(out + cols, out + t.nr, 0);
  }
}

void pack_panel(const IntegerKernels& t, const TensorView& b, int64_t at, const IntegerProduct& p,
                int64_t panel, int32_t* packed) {
  const int64_t cols = std::min<int64_t>(t.nr, p.n - panel * t.nr);
  int32_t* out = packed + panel * pairs_of(p.k) * t.nr;
  at += panel * t.nr * p.b.column;
  if (b.dtype == DType::kI8)
    return pack_panel(t, b.as<int8_t>() + at, p.b.row, p.b.column, p.k, cols, out);
  pack_panel(t, b.as<uint8_t>() + at, p.b.row, p.b.column, p.k, cols, out);
}

// Rows [0, count) of `a` without their zero points, in blocks of integer_rows(); their sums.
template <class T>
void pack_rows(const IntegerKernels& t, const T* a, int64_t row, int64_t column, int64_t k,
               int64_t count, const int32_t* zeros, int32_t* packed, int32_t* sums) {
  const int64_t pairs = pairs_of(k);
  for (int64_t i = 0; i < count;) {
    const int rows = integer_rows(t, count - i);
    int32_t* out = packed + i * pairs;
    for (int r = 0; r < rows; ++r, ++i) {
      const T* from = a + i * row;
      uint32_t sum = 0;
      for (int64_t l = 0; l < k; l += 2) {
        const int32_t even = from[l * column] - zeros[i];
        const int32_t odd = l + 1 < k ? from[(l + 1) * column] - zeros[i] : 0;
        sum += static_cast<uint32_t>(even + odd);
        out[l / 2 * rows + r] = integer_pair(even, odd);
      }
      sums[i] = static_cast<int32_t>(sum);
    }
  }
}

bool match(const KernelQuery& q) {
  return (q.in[0].dtype == DType::kI8 || q.in[0].dtype == DType::kU8) &&
         q.in[0].dim(q.in[0].rank() - 1) <= kMaxK;
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const IntegerKernels& t = integer_kernels();
  const IntegerProduct s(q.in, q.out[0]);
  p->fn[0] = &t;
  p->scratch_bytes = rows_bytes(s.k) * static_cast<size_t>(q.threads) + packed_bytes(t, s.k, s.n);
  p->ints[0] = static_cast<int64_t>(rows_bytes(s.k));
  p->ints[1] = q.threads;
  if (q.in[1].rank() == 2)
    p->packs[0] = {1, packed_layout(PackedKind::kIntegerPanels, t.nr), packed_bytes(t, s.k, s.n)};
  return {};
}

Status pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& t = *static_cast<const IntegerKernels*>(p.fn[0]);
  const IntegerProduct s(q.in, q.out[0]);
  for (int64_t i = 0; i < panels_of(t, s.n); ++i)
    pack_panel(t, q.in[1], 0, s, i, static_cast<int32_t*>(dst));
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const auto& t = *static_cast<const IntegerKernels*>(ctx.plan->fn[0]);
  const IntegerProduct s(in, out[0]);
  const TensorView& a = in[0];
  const int64_t pairs = pairs_of(s.k), panels = panels_of(t, s.n);
  const int64_t row_tasks = (s.m + kRows - 1) / kRows;
  auto* own = static_cast<char*>(ctx.scratch);
  auto* scratch = reinterpret_cast<int32_t*>(own + ctx.plan->ints[0] * ctx.plan->ints[1]);
  const auto* packed = static_cast<const int32_t*>(ctx.packed[0]);
  for (int64_t batch = 0; batch < s.batches; ++batch) {
    if (ctx.packed[0] == nullptr) {
      const int64_t at = s.b.begin(batch, out[0].shape);
      parallel_for(ctx.pool, panels,
                   [&](int64_t i, int) { pack_panel(t, in[1], at, s, i, scratch); });
      packed = scratch;
    }
    const int64_t a_at = s.a.begin(batch, out[0].shape);
    const int64_t a_zero = s.a_zero.begin(batch, out[0].shape);
    const int64_t b_zero = s.b_zero.begin(batch, out[0].shape);
    int32_t* c = out[0].as<int32_t>() + batch * s.m * s.n;
    parallel_for(
        ctx.pool, row_tasks * ((panels + kPanels - 1) / kPanels), [&](int64_t task, int worker) {
          auto* rows = reinterpret_cast<int32_t*>(own + worker * ctx.plan->ints[0]);
          const int64_t first = task % row_tasks * kRows, count = std::min(kRows, s.m - first);
          int32_t zeros[kRows] = {}, sums[kRows];
          for (int64_t i = 0; s.has_a_zero && i < count; ++i)
            zeros[i] = byte_at(in[2], a_zero + (first + i) * s.a_zero.row);
          const int64_t at = a_at + first * s.a.row;
          if (a.dtype == DType::kI8) {
            pack_rows(t, a.as<int8_t>() + at, s.a.row, s.a.column, s.k, count, zeros, rows, sums);
          } else {
            pack_rows(t, a.as<uint8_t>() + at, s.a.row, s.a.column, s.k, count, zeros, rows, sums);
          }
          const int64_t from = task / row_tasks * kPanels, to = std::min(panels, from + kPanels);
          for (int64_t panel = from; panel < to; ++panel) {
            const int cols = static_cast<int>(std::min<int64_t>(t.nr, s.n - panel * t.nr));
            int32_t* y = c + first * s.n + panel * t.nr;
            for (int64_t i = 0; i < count;) {
              const int r = integer_rows(t, count - i);
              t.tile({rows + i * pairs, packed + panel * pairs * t.nr, pairs, y + i * s.n, s.n, r,
                      cols});
              i += r;
            }
            for (int j = 0; s.has_b_zero && j < cols; ++j) {
              const auto zero = static_cast<uint32_t>(
                  byte_at(in[3], b_zero + (panel * t.nr + j) * s.b_zero.column));
              for (int64_t i = 0; zero != 0 && i < count; ++i) {
                int32_t& v = y[i * s.n + j];
                v = static_cast<int32_t>(static_cast<uint32_t>(v) -
                                         static_cast<uint32_t>(sums[i]) * zero);
              }
            }
          }
        });
  }
  return {};
}

}  // namespace

WICK_CPU_ROWS(MatMulInteger, {"matmul_integer.bytes.simd", kStridedInputs, match, plan, pack, run});

}  // namespace wick
