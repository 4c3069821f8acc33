// The SIMD rows of QGemm, QLinearMatMul and DynamicLinear: rows of bytes, packed in each call (and
// quantized from float32 by DynamicLinear), times panels of weights, packed once if they are
// constants. Sums are converted to bytes or reals at once. Zero points are not subtracted from the
// bytes; they contribute a number per column and the product of a number of the row and one of the
// column.
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/bytes/byte_amx.h"
#include "runtime/kernels/bytes/byte_gemm.h"
#include "runtime/kernels/bytes/qlinear_channels.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

constexpr int64_t kMaxK = 1 << 20;

constexpr size_t weight_input(OpId op) { return op == OpId::kDynamicLinear ? 1 : 3; }

ByteGemm byte_gemm(OpId op, Span<const TensorView> in, const TensorView& y, const ByteKernels& t,
                   bool amx) {
  ByteGemm g;
  const TensorView& w = in[weight_input(op)];
  if (op == OpId::kQLinearMatMul) return byte_matrices(in[0], w, y, t, amx);
  g.n = w.dim(0), g.k = w.dim(1);
  g.m = g.n == 0 ? 0 : y.numel() / g.n;
  g.b.row = 1, g.b.column = g.k;
  choose_byte_form(t, amx, &g);
  return g;
}

// The layout of scratch, in bytes: rows with two numbers each, four numbers per column, panels, and
// a row of bytes per worker.
struct Rooms {
  size_t rows, of_row, of_column, panels, line;
  size_t all(int threads) const {
    return byte_count(uint64_t{rows} + uint64_t{2} * of_row + uint64_t{4} * of_column + panels +
                      uint64_t{line} * static_cast<uint64_t>(threads));
  }
};
Rooms rooms_of(OpId op, const ByteGemm& g) {
  const auto lines = static_cast<size_t>(op == OpId::kDynamicLinear ? kByteRows * g.k : 0);
  return {rounded(g.rows_bytes()), rounded(4 * static_cast<size_t>(g.m)),
          rounded(4 * static_cast<size_t>(g.columns())), rounded(g.packed_bytes()), rounded(lines)};
}

template <OpId op>
bool match(const KernelQuery& q) {
  return q.out[0].numel() != 0 && q.in[0].dim(q.in[0].rank() - 1) <= kMaxK;
}

template <OpId op>
Status plan(const KernelQuery& q, KernelPlan* p) {
  const ByteKernels& t = byte_kernels();
  const ByteGemm g = byte_gemm(op, q.in, q.out[0], t, byte_amx());
  p->keep(BytePlan{&t, g.amx});
  p->scratch_bytes = rooms_of(op, g).all(q.threads);
  constexpr PackedKind kKind =
      op == OpId::kQLinearMatMul ? PackedKind::kByteMatrix : PackedKind::kBytePanels;
  if (q.in[weight_input(op)].rank() <= 2) {
    p->packs[0] = {static_cast<int>(weight_input(op)), packed_layout(kKind, byte_panel_unit(t)),
                   g.packed_bytes()};
  }
  return {};
}

template <OpId op>
Status pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& [kernels, amx] = p.kept<BytePlan>();
  const ByteKernels& t = *kernels;
  const ByteGemm g = byte_gemm(op, q.in, q.out[0], t, amx);
  pack_byte_panels(t, g, q.in[weight_input(op)], 0, nullptr, dst);
  return {};
}

struct Scratch {
  uint32_t* rows;
  int32_t* row_factor;
  float* row_scale;
  int32_t *add, *factor;
  float *multiplier, *bias;
  void* panels;
  uint8_t* lines;
};
Scratch scratch_of(const Rooms& b, void* memory) {
  ScratchPieces scratch(memory);
  Scratch s;
  s.rows = scratch.take<uint32_t>(b.rows);
  s.row_factor = scratch.take<int32_t>(b.of_row);
  s.row_scale = scratch.take<float>(b.of_row);
  s.add = scratch.take<int32_t>(b.of_column);
  s.factor = scratch.take<int32_t>(b.of_column);
  s.multiplier = scratch.take<float>(b.of_column);
  s.bias = scratch.take<float>(b.of_column);
  s.panels = scratch.take<void>(b.panels);
  s.lines = scratch.take<uint8_t>(b.line);
  return s;
}

template <OpId op>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  constexpr size_t kBias = op == OpId::kQGemm ? 6 : 9, kY = op == OpId::kQGemm ? 7 : 6;
  ProductScales scales;
  WICK_TRY(product_scales(in, 0, 3, kY, &scales));
  const auto& [kernels, amx] = ctx.plan->kept<BytePlan>();
  const ByteKernels& t = *kernels;
  const ByteGemm g = byte_gemm(op, in, out[0], t, amx);
  const Rooms b = rooms_of(op, g);
  const Scratch s = scratch_of(b, ctx.scratch);
  const uint8_t flip = t.x_signed != (in[0].dtype == DType::kI8) ? 0x80 : 0;
  const int32_t x_zero = zero_point(in, 2) + (flip == 0 ? 0 : t.x_signed ? -128 : 128);
  const int w_flip = in[3].dtype == DType::kU8 ? 128 : 0;
  scales.fill(g.n, s.multiplier);
  fill_byte_zeros(in[5], w_flip, g.n, s.factor);
  std::fill(s.multiplier + g.n, s.multiplier + g.columns(), 0.0f);
  std::fill(s.factor + g.n, s.factor + g.columns(), 0);
  int32_t any = 0;
  for (int64_t j = 0; j < g.n; ++j) any |= s.factor[j];
  const bool zeros = any != 0;
  const int32_t* bias =
      op == OpId::kQGemm && has_input(in, kBias) ? in[kBias].as<int32_t>() : nullptr;
  ByteProduct p{t, g, {}, scales.to_float ? sizeof(float) : 1, s.rows, ctx.packed[0]};
  p.end.result = scales.to_float ? ByteResult::kReals : ByteResult::kBytes;
  if (!scales.to_float) {
    const ByteRange to = byte_range(in[kY + 1].dtype, zero_point(in, kY + 1));
    p.end.lo = to.lo, p.end.hi = to.hi, p.end.zero = to.zero;
  }
  p.end.add = s.add, p.end.multiplier = s.multiplier;
  if (zeros) p.end.factor = s.factor, p.end.row_factor = s.row_factor;
  for (int64_t batch = 0; batch < g.batches && !stopped(); ++batch) {
    if (ctx.packed[0] == nullptr) {
      pack_byte_panels(t, g, in[3], g.b.begin(batch, out[0].shape), ctx.pool, s.panels);
      p.panels = s.panels;
    }
    const int32_t* sums = g.sums(p.panels);
    const auto k = static_cast<uint32_t>(g.k), zero = static_cast<uint32_t>(x_zero);
    for (int64_t j = 0; j < g.columns(); ++j) {
      const auto factor = static_cast<uint32_t>(s.factor[j]), sum = static_cast<uint32_t>(sums[j]);
      s.add[j] = static_cast<int32_t>(0 - zero * (k * factor + sum));
    }
    for (int64_t j = 0; bias != nullptr && j < g.n; ++j)
      s.add[j] =
          static_cast<int32_t>(static_cast<uint32_t>(s.add[j]) + static_cast<uint32_t>(bias[j]));
    const auto* a = static_cast<const uint8_t*>(in[0].data);
    if (g.batches > 1) a += g.a.begin(batch, out[0].shape);
    const auto pack_block = [&](int64_t block, int) {
      const int64_t first = block * kByteRows, count = std::min<int64_t>(kByteRows, g.m - first);
      pack_byte_rows(g, t, a + first * g.k, g.k, flip, block, count, s.rows);
      for (int64_t r = first; zeros && r < first + count; ++r) {
        s.row_factor[r] = sum_of_bytes(a + r * g.k, g.k, flip, t.x_signed);
      }
    };
    parallel_for(ctx.pool, g.blocks(), pack_block);
    p.end.y = static_cast<char*>(out[0].data) + static_cast<size_t>(batch * g.m * g.n) * p.y_bytes;
    p.run(ctx.pool);
  }
  return {};
}

Status run_dynamic(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void*) {
  WICK_TRY(check_scale(in[2], "scale"));
  constexpr OpId kOp = OpId::kDynamicLinear;
  const auto& [kernels, amx] = ctx.plan->kept<BytePlan>();
  const ByteKernels& t = *kernels;
  const ByteGemm g = byte_gemm(kOp, in, out[0], t, amx);
  const Rooms b = rooms_of(kOp, g);
  const Scratch s = scratch_of(b, ctx.scratch);
  ByteProduct p{t, g, {}, sizeof(float), s.rows, ctx.packed[0]};
  if (p.panels == nullptr) {
    pack_byte_panels(t, g, in[1], 0, ctx.pool, s.panels);
    p.panels = s.panels;
  }
  const float* scale = in[2].as<float>();
  const float* bias = has_input(in, 3) ? in[3].as<float>() : nullptr;
  const int64_t columns = g.columns();
  std::fill(s.add, s.add + columns, 0);
  if (in[2].numel() == 1) {
    std::fill(s.multiplier, s.multiplier + columns, scale[0]);
  } else {
    std::fill(std::copy(scale, scale + g.n, s.multiplier), s.multiplier + columns, 1.0f);
  }
  if (bias != nullptr) std::fill(std::copy(bias, bias + g.n, s.bias), s.bias + columns, 0.0f);
  const uint8_t flip = t.x_signed ? 0x80 : 0;
  parallel_for(ctx.pool, g.blocks(), [&](int64_t block, int worker) {
    const int64_t first = block * kByteRows, count = std::min<int64_t>(kByteRows, g.m - first);
    uint8_t* lines = s.lines + static_cast<size_t>(worker) * b.line;
    for (int64_t r = 0; r < count; ++r) {
      const float* x = in[0].as<float>() + (first + r) * g.k;
      float lo = 0, hi = 0;
      t.range(x, g.k, &lo, &hi);
      const RowRange range = row_range(lo, hi);
      t.quantize(x, g.k, range.scale, range.zero, lines + r * g.k);
      s.row_scale[first + r] = range.scale;
      s.row_factor[first + r] = (t.x_signed ? 128 : 0) - static_cast<int32_t>(range.zero);
    }
    pack_byte_rows(g, t, lines, g.k, flip, block, count, s.rows);
  });
  p.end.result = ByteResult::kReals;
  p.end.add = s.add, p.end.multiplier = s.multiplier;
  p.end.factor = g.sums(p.panels), p.end.row_factor = s.row_factor;
  p.end.row_scale = s.row_scale;
  p.end.bias = bias == nullptr ? nullptr : s.bias;
  p.end.y = out[0].data;
  p.run(ctx.pool);
  return {};
}

}  // namespace

WICK_CPU_ROWS(QGemm, {"qgemm.bytes.simd", kContiguous, match<OpId::kQGemm>, plan<OpId::kQGemm>,
                      pack<OpId::kQGemm>, run<OpId::kQGemm>});
WICK_CPU_ROWS(QLinearMatMul,
              {"qlinear_matmul.bytes.simd", kContiguous, match<OpId::kQLinearMatMul>,
               plan<OpId::kQLinearMatMul>, pack<OpId::kQLinearMatMul>, run<OpId::kQLinearMatMul>});
WICK_CPU_ROWS(DynamicLinear, {"dynamic_linear.f32.simd", kContiguous, match<OpId::kDynamicLinear>,
                              plan<OpId::kDynamicLinear>, pack<OpId::kDynamicLinear>, run_dynamic});

}  // namespace wick
