// 16-bit rows made from f32 rows: inputs are widened into scratch, the f32 row runs, outputs are
// rounded once. Bit-identical to the reference loops, which also compute in f32 and round once.
#pragma once

#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/prepared.h"

namespace wick {

// The views of a call, with those of f16 and bf16 widened. They are contiguous in `scratch`.
class WidenedCall {
 public:
  static constexpr int kMost = 8;
  // scratch may be null, if only shapes and sizes are needed.
  WidenedCall(Span<const TensorView> in, Span<const TensorView> out, void* scratch);
  static bool fits(const KernelQuery& q);  // in[0] has 16 bits, other floats have its dtype
  size_t bytes() const { return bytes_; }
  void load(Span<const TensorView> in, ThreadPool* pool) const;
  void store(Span<TensorView> out, ThreadPool* pool) const;
  Span<const TensorView> in() const { return {in_, in_count_}; }
  Span<TensorView> out() { return {out_, out_count_}; }

 private:
  TensorView widened(const TensorView& v, char* scratch);

  TensorView in_[kMost], out_[kMost];
  size_t in_count_, out_count_, bytes_ = 0;
};

template <const KernelRow& row>
struct ViaF32 {
  static bool match(const KernelQuery& q) {
    if (!WidenedCall::fits(q)) return false;
    WidenedCall w(q.in, q.out, nullptr);
    return row.match(query(q, w));
  }
  static Status plan(const KernelQuery& q, KernelPlan* p) {
    WidenedCall w(q.in, q.out, nullptr);
    if (Status s = plan_inner(row, query(q, w), p); !s.ok()) return s;
    for (KernelPlan::Pack& pack : p->packs) pack = {};  // packed forms are for f32 constants
    p->scratch_bytes = byte_count(uint64_t{p->scratch_bytes} + w.bytes());
    return {};
  }
  static Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs) {
    WidenedCall w(in, Span<const TensorView>(out.data(), out.size()), ctx.scratch);
    w.load(in, ctx.pool);
    KernelCtx inner = ctx;
    inner.scratch = static_cast<char*>(ctx.scratch) + w.bytes();
    if (Status s = run_inner(row, inner, w.in(), w.out(), attrs); !s.ok()) return s;
    w.store(out, ctx.pool);
    return {};
  }

 private:
  static KernelQuery query(KernelQuery q, WidenedCall& w) {
    q.in = w.in();
    q.out = Span<const TensorView>(w.out().data(), w.out().size());
    return q;
  }
};

#define WICK_VIA_F32(text, row)                                                      \
  {                                                                                  \
    text, row.flags &kStridedInputs, ViaF32<row>::match, ViaF32<row>::plan, nullptr, \
        ViaF32<row>::run                                                             \
  }

}  // namespace wick
