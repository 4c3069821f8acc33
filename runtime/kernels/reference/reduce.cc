#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reference/exact.h"
#include "runtime/kernels/reference/rows.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// Integers accumulate unsigned, so that overflow wraps.
template <class T, bool integer = std::is_integral_v<T>>
struct AccumulatorOf {
  using Type = Compute<T>;
};
template <class T>
struct AccumulatorOf<T, true> {
  using Type = uint64_t;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::Type;

// NaN takes precedence, +0 > -0.
template <class T>
bool greater(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a && b == b;
    if (a == b) return std::signbit(b) && !std::signbit(a);
  }
  return a > b;
}
template <class T>
bool less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a && b == b;
    if (a == b) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

template <class T>
Accumulator<T> sum(const T* x, const ReduceShape& s) {
  LaneSum<Accumulator<T>> total;
  Poll poll;
  s.runs([&](int64_t offset, int64_t n, int64_t stride) {
    in_pieces(poll, n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        total.add(static_cast<Accumulator<T>>(static_cast<Compute<T>>(x[offset + i * stride])));
    });
  });
  return total.finish();
}

struct SumOp {
  template <class T>
  static T f(const T* x, const ReduceShape& s) {
    return static_cast<T>(sum(x, s));
  }
};
struct MeanOp {
  template <class T>
  static T f(const T* x, const ReduceShape& s) {
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return s.count == 0
                 ? T(0)
                 : static_cast<T>(static_cast<Wide>(sum(x, s)) / static_cast<Wide>(s.count));
    } else {
      return static_cast<T>(sum(x, s) / static_cast<Compute<T>>(s.count));
    }
  }
};
// Uses the order of lanes and blocks of a sum.
struct ProdOp {
  template <class T>
  static T f(const T* x, const ReduceShape& s) {
    using A = Accumulator<T>;
    A lanes[kSumLanes], total = 1;
    int64_t in_block = 0;
    auto reset = [&] {
      for (A& lane : lanes) lane = 1;
      in_block = 0;
    };
    auto flush = [&] {
      for (int width = kSumLanes / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) lanes[i] *= lanes[i + width];
      }
      total *= lanes[0];
      reset();
    };
    reset();
    Poll poll;
    s.runs([&](int64_t offset, int64_t n, int64_t stride) {
      in_pieces(poll, n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          lanes[in_block % kSumLanes] *=
              static_cast<A>(static_cast<Compute<T>>(x[offset + i * stride]));
          if (++in_block == kSumBlock) flush();
        }
      });
    });
    if (in_block > 0) flush();
    return static_cast<T>(total);
  }
};
template <bool largest>
struct ExtremeOp {
  template <class T>
  static T f(const T* x, const ReduceShape& s) {
    using C = Compute<T>;
    using Limits = std::numeric_limits<C>;
    C best = largest ? (Limits::has_infinity ? -Limits::infinity() : Limits::lowest())
                     : (Limits::has_infinity ? Limits::infinity() : Limits::max());
    Poll poll;
    s.runs([&](int64_t offset, int64_t n, int64_t stride) {
      in_pieces(poll, n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          C v = static_cast<C>(read(x + offset + i * stride));
          if (largest ? greater(v, best) : less(v, best)) best = v;
        }
      });
    });
    return static_cast<T>(best);
  }
};

Status plan(const KernelQuery& q, KernelPlan* p) {
  p->keep(q.args->reduce);
  return {};
}

template <class Op, class T>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const ReduceShape s = reduce_shape(in[0], ctx.plan->kept<ReducedAxes>().set);
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  parallel_items(ctx.pool, s.outputs, s.count, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) y[o] = Op::f(x + s.offset(o), s);
  });
  return {};
}

template <class T, bool largest>
Status run_arg(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
               const void* attrs) {
  using C = Compute<T>;
  auto* a = static_cast<const ArgAttrs*>(attrs);
  const TensorView& x = in[0];
  bool reduce[kMaxRank] = {};
  reduce[a->axis < 0 ? a->axis + x.rank() : a->axis] = true;
  ReduceShape s = reduce_shape(x, reduce);
  const bool last = a->select_last_index != 0;
  parallel_items(ctx.pool, s.outputs, s.count, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t o = begin; o < end; ++o) {
      const T* p = x.as<T>() + s.offset(o);
      int64_t stride = s.reduced > 0 ? s.reduced_stride[0] : 0, best_at = 0;
      C best = static_cast<C>(p[0]);
      for (int64_t i = 1; i < s.count && !poll(); ++i) {
        C v = static_cast<C>(p[i * stride]);
        bool better = largest ? greater(v, best) : less(v, best);
        bool worse = largest ? greater(best, v) : less(best, v);
        if (better || (last && !worse)) {
          best = v;
          best_at = i;
        }
      }
      out[0].as<int64_t>()[o] = best_at;
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(ReduceSum,
              WICK_NUMBER_ROWS("reduce_sum", kStridedInputs, match<T>, plan, run<SumOp, T>));
WICK_REF_ROWS(ReduceMean,
              WICK_NUMBER_ROWS("reduce_mean", kStridedInputs, match<T>, plan, run<MeanOp, T>));
WICK_REF_ROWS(ReduceProd,
              WICK_NUMBER_ROWS("reduce_prod", kStridedInputs, match<T>, plan, run<ProdOp, T>));
WICK_REF_ROWS(ReduceMax,
              WICK_NUMBER_ROWS("reduce_max", kStridedInputs, match<T>, plan,
                               run<ExtremeOp<true>, T>),
              WICK_BOOL_ROW("reduce_max", kStridedInputs, match<T>, plan, run<ExtremeOp<true>, T>));
WICK_REF_ROWS(ReduceMin,
              WICK_NUMBER_ROWS("reduce_min", kStridedInputs, match<T>, plan,
                               run<ExtremeOp<false>, T>),
              WICK_BOOL_ROW("reduce_min", kStridedInputs, match<T>, plan,
                            run<ExtremeOp<false>, T>));
WICK_REF_ROWS(ArgMax, WICK_NUMBER_ROWS("arg_max", kStridedInputs, match<T>, run_arg<T, true>));
WICK_REF_ROWS(ArgMin, WICK_NUMBER_ROWS("arg_min", kStridedInputs, match<T>, run_arg<T, false>));

WICK_NO_CPU_ROWS(ReduceProd);
WICK_NO_CPU_ROWS(ArgMax);
WICK_NO_CPU_ROWS(ArgMin);

}  // namespace wick
