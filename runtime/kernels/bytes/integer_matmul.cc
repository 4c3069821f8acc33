// The SIMD row of MatMulInteger: the products of byte_gemm.h give the sums directly. Zero points
// are not subtracted from the bytes; instead each sum is corrected by a's zero point times the
// column's sum and b's zero point times the row's sum.
#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/core/quantized_dtype.h"
#include "runtime/kernels/bytes/byte_amx.h"
#include "runtime/kernels/bytes/byte_gemm.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/scratch.h"

namespace wick {
namespace {

constexpr int64_t kMaxK = 1 << 20;  // with larger k, blocks of rows do not fit the caches

// The layout of scratch, in bytes: rows with two numbers each, three numbers per column, panels.
struct Rooms {
  size_t rows, of_row, of_column, panels;
  size_t all() const {
    return byte_count(uint64_t{rows} + uint64_t{2} * of_row + uint64_t{3} * of_column + panels);
  }
};
Rooms rooms_of(const ByteGemm& g) {
  return {rounded(g.rows_bytes()), rounded(4 * static_cast<size_t>(g.m)),
          rounded(4 * static_cast<size_t>(g.columns())), rounded(g.packed_bytes())};
}

bool match(const KernelQuery& q) {
  return is_byte(q.in[0].dtype) && is_byte(q.in[1].dtype) && q.out[0].numel() != 0 &&
         q.in[0].dim(q.in[0].rank() - 1) <= kMaxK;
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const ByteKernels& t = byte_kernels();
  const ByteGemm g = byte_matrices(q.in[0], q.in[1], q.out[0], t, byte_amx());
  p->keep(BytePlan{&t, g.amx});
  p->scratch_bytes = rooms_of(g).all();
  if (q.in[1].rank() <= 2) {
    p->packs[0] = {1, packed_layout(PackedKind::kByteMatrix, byte_panel_unit(t)), g.packed_bytes()};
  }
  return {};
}

Status pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& [kernels, amx] = p.kept<BytePlan>();
  const ByteKernels& t = *kernels;
  const ByteGemm g = byte_matrices(q.in[0], q.in[1], q.out[0], t, amx);
  pack_byte_panels(t, g, q.in[1], 0, nullptr, dst);
  return {};
}

uint32_t wrapped(int64_t v) { return static_cast<uint32_t>(v); }

// Zero points change a sum by -x_zero * less[column] - w_zero[column] * (the row's sum).
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const auto& [kernels, amx] = ctx.plan->kept<BytePlan>();
  const ByteKernels& t = *kernels;
  const ByteGemm g = byte_matrices(in[0], in[1], out[0], t, amx);
  const IntegerProduct s(in, out[0]);
  const Rooms b = rooms_of(g);
  ScratchPieces scratch(ctx.scratch);
  auto* rows = scratch.take<uint32_t>(b.rows);
  auto* x_zeros = scratch.take<int32_t>(b.of_row);  // negated
  auto* row_sums = scratch.take<int32_t>(b.of_row);
  auto* add = scratch.take<int32_t>(b.of_column);
  auto* less = scratch.take<int32_t>(b.of_column);     // factor of x's zero point
  auto* w_zeros = scratch.take<int32_t>(b.of_column);  // negated
  auto* unpacked = scratch.take<char>(b.panels);
  const uint8_t flip = t.x_signed != (in[0].dtype == DType::kI8) ? 0x80 : 0;
  const int32_t x_off = flip == 0 ? 0 : t.x_signed ? -128 : 128;
  const int32_t w_off = in[1].dtype == DType::kU8 ? 128 : 0;
  const bool one_zero = !s.has_a_zero || in[2].numel() == 1;
  ByteProduct p{t, g, {}, sizeof(int32_t), rows, ctx.packed[0]};
  p.end.result = ByteResult::kSums;
  p.end.add = add;
  for (int64_t r = 0; !one_zero && g.batches == 1 && r < g.m; ++r) {
    const int64_t zero = s.a_zero.begin(r / s.m, out[0].shape) + r % s.m * s.a_zero.row;
    x_zeros[r] = -(byte_at(in[2], zero) + x_off);
  }
  Poll poll;
  for (int64_t batch = 0; batch < g.batches; ++batch) {
    if (poll(g.columns()) || stopped()) return {};
    if (ctx.packed[0] == nullptr) {
      pack_byte_panels(t, g, in[1], s.b.begin(batch, out[0].shape), ctx.pool, unpacked);
      p.panels = unpacked;
    }
    const int32_t* sums = g.sums(p.panels);
    const int64_t w_zero = s.b_zero.begin(batch, out[0].shape);
    bool any = false;
    for (int64_t j = 0; j < g.columns(); ++j) {
      const int64_t from = w_zero + std::min(j, g.n - 1) * s.b_zero.column;
      const int32_t zero = (s.has_b_zero ? byte_at(in[3], from) : 0) - w_off;
      less[j] = static_cast<int32_t>(wrapped(sums[j]) - wrapped(g.k) * wrapped(zero));
      w_zeros[j] = -zero;
      any = any || zero != 0;
    }
    if (one_zero) {
      const uint32_t zero = wrapped((s.has_a_zero ? byte_at(in[2], 0) : 0) + x_off);
      for (int64_t j = 0; j < g.columns(); ++j)
        add[j] = static_cast<int32_t>(0 - zero * wrapped(less[j]));
      p.end.factor = any ? w_zeros : nullptr, p.end.row_factor = row_sums;
    } else {
      std::fill(add, add + g.columns(), 0);
      p.end.factor = less, p.end.row_factor = x_zeros;
      const int64_t zero = s.a_zero.begin(batch, out[0].shape);
      for (int64_t r = 0; g.batches > 1 && r < g.m; ++r)
        x_zeros[r] = -(byte_at(in[2], zero + r * s.a_zero.row) + x_off);
    }
    const auto* a = static_cast<const uint8_t*>(in[0].data);
    if (g.batches > 1) a += s.a.begin(batch, out[0].shape);
    parallel_for(ctx.pool, g.blocks(), [&](int64_t block, int) {
      const int64_t first = block * kByteRows, count = std::min<int64_t>(kByteRows, g.m - first);
      pack_byte_rows(g, t, a + first * g.k, g.k, flip, block, count, rows);
      for (int64_t r = first; any && r < first + count; ++r)
        row_sums[r] = sum_of_bytes(a + r * g.k, g.k, flip, t.x_signed);
    });
    int32_t* y = out[0].as<int32_t>() + batch * g.m * g.n;
    p.end.y = y;
    p.run(ctx.pool);
    for (int64_t r = 0; any && !one_zero && r < g.m && !poll(g.n); ++r) {
      for (int64_t j = 0; j < g.n; ++j) {
        const uint32_t more = wrapped(w_zeros[j]) * wrapped(row_sums[r]);
        y[r * g.n + j] = static_cast<int32_t>(wrapped(y[r * g.n + j]) + more);
      }
    }
  }
  return {};
}

}  // namespace

WICK_CPU_ROWS(MatMulInteger, {"matmul_integer.bytes.simd", kContiguous, match, plan, pack, run});

}  // namespace wick
