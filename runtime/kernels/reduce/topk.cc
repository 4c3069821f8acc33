// TopK of a few float32 elements of each line. Vectors of elements are compared with the last of
// the best so far, which most of them come after, so that few go into a heap. The reference rows
// sort.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/topk.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_TOPK_BODY_
#define WICK_KERNELS_TOPK_BODY_
namespace wick {
// Writes the positions of the first k of n elements to `heap`, in order.
using TopKBody = void (*)(const float* x, int64_t n, int64_t k, int64_t* heap);
}  // namespace wick
#endif

#include "runtime/kernels/reduce/topk-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_topk);

struct Lines {
  int64_t n = 0, k = 0, inner = 1, count = 0;
  explicit Lines(const TensorView& x, const TensorView& y, int64_t axis) {
    const auto a = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    n = x.shape[a], k = y.shape[a];
    for (int d = a + 1; d < x.rank(); ++d) inner *= x.shape[d];
    count = n == 0 ? 0 : x.numel() / n;
  }
  // Bytes of a worker: the heap, and a line whose elements are not neighbours.
  size_t bytes() const {
    const size_t heap = rounded(static_cast<uint64_t>(k) * sizeof(int64_t));
    return inner == 1 ? heap : heap + rounded(static_cast<uint64_t>(n) * sizeof(float));
  }
};

// Where k is not small beside n, sorting all is as fast.
bool match(const KernelQuery& q) {
  if (q.in[0].dtype != DType::kF32 || q.in[0].rank() == 0) return false;
  const Lines lines(q.in[0], q.out[0], q.as<TopKAttrs>().axis);
  return lines.n <= INT32_MAX && lines.k > 0 && lines.k <= lines.n / 8;
}

struct Plan {
  TopKBody body;
  Lines lines;
};

Status plan(const KernelQuery& q, KernelPlan* p) {
  const auto& a = q.as<TopKAttrs>();
  const Plan plan{HWY_DYNAMIC_DISPATCH(find_topk)(a.largest != 0),
                  Lines(q.in[0], q.out[0], a.axis)};
  p->keep(plan);
  p->scratch_bytes = byte_count(uint64_t{plan.lines.bytes()} * static_cast<uint64_t>(q.threads));
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const auto& [body, lines] = ctx.plan->kept<Plan>();
  const int64_t n = lines.n, k = lines.k, inner = lines.inner;
  const int64_t some = kElementGrain / n < 1 ? 1 : kElementGrain / n;  // lines of a task
  parallel_for(ctx.pool, (lines.count + some - 1) / some, [&](int64_t task, int worker) {
    auto* heap = reinterpret_cast<int64_t*>(static_cast<char*>(ctx.scratch) +
                                            static_cast<size_t>(worker) * lines.bytes());
    auto* copy = reinterpret_cast<float*>(reinterpret_cast<char*>(heap) +
                                          rounded(static_cast<uint64_t>(k) * sizeof(int64_t)));
    const int64_t end = (task + 1) * some < lines.count ? (task + 1) * some : lines.count;
    Poll poll;
    for (int64_t line = task * some; line < end; ++line) {
      const int64_t outer = line / inner, column = line % inner;
      const float* from = in[0].as<float>() + outer * n * inner + column;
      const float* x = from;
      if (inner != 1) {
        in_pieces(poll, n, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) copy[i] = from[i * inner];
        });
        x = copy;
      }
      if (stopped()) return;  // the copy is incomplete
      body(x, n, k, heap);
      if (stopped()) return;  // these are no positions
      int64_t to = outer * k * inner + column;
      for (int64_t i = 0; i < k; ++i, to += inner) {
        out[0].as<float>()[to] = x[heap[i]];
        out[1].as<int64_t>()[to] = heap[i];
      }
    }
  });
  return {};
}

}  // namespace

WICK_CPU_ROWS(TopK, {"topk.f32.simd", kContiguous, match, plan, nullptr, run});

}  // namespace wick
#endif
