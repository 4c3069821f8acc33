// CumSum and CumProd: one running value along the axis, element after element (from the end when
// reversed). f16 and bf16 are computed in f32 and rounded when they are stored; integers wrap.
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/indices.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

struct SumStep {
  static constexpr int kStart = 0;
  template <class T>
  static T f(T a, T b) {
    return wrapping_add(a, b);
  }
};
struct ProductStep {
  static constexpr int kStart = 1;
  template <class T>
  static T f(T a, T b) {
    return wrapping_mul(a, b);
  }
};

Status plan_scan(const KernelQuery& q, KernelPlan* p) {
  p->keep(q.args->number);
  return {};
}

template <class Step, class T>
Status run_scan(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  const auto& a = *static_cast<const CumulateAttrs*>(attrs);
  const Shape& shape = in[0].shape;
  const int d = static_cast<int>(ctx.plan->kept<OneNumber>().value);
  int64_t n = shape[d], inner = 1;
  for (int i = d + 1; i < shape.rank(); ++i) inner *= shape[i];
  int64_t lines = n == 0 ? 0 : in[0].numel() / n;
  parallel_items(ctx.pool, lines, n, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t line = begin; line < end; ++line) {
      int64_t first = line / inner * n * inner + line % inner;
      int64_t step = a.reverse != 0 ? -inner : inner;
      const T* x = in[0].as<T>() + (a.reverse != 0 ? first + (n - 1) * inner : first);
      T* y = out[0].as<T>() + (x - in[0].as<T>());
      auto running = static_cast<Compute<T>>(Step::kStart);
      in_pieces(poll, n, [&](int64_t first_of_piece, int64_t end_of_piece) {
        for (int64_t i = first_of_piece; i < end_of_piece; ++i, x += step, y += step) {
          auto next = Step::f(running, static_cast<Compute<T>>(*x));
          *y = static_cast<T>(a.exclusive != 0 ? running : next);
          running = next;
        }
      });
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(CumSum,
              WICK_NUMBER_ROWS("cumsum", kInPlace, match<T>, plan_scan, run_scan<SumStep, T>));
WICK_REF_ROWS(CumProd,
              WICK_NUMBER_ROWS("cumprod", kInPlace, match<T>, plan_scan, run_scan<ProductStep, T>));
WICK_NO_CPU_ROWS(CumSum);
WICK_NO_CPU_ROWS(CumProd);

}  // namespace wick
