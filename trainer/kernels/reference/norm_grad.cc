// LayerNormGrad and GroupNormGrad by plain loops: each step rounds as the ops do whose gradient it
// is.
#include <cmath>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reference/rows.h"
#include "trainer/kernels/kernel_set.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: what the references share

// Rows of n elements of x and their statistics, which `stats` holds: a mean and a root for each.
template <class T>
struct NormalRows {
  using C = Compute<T>;
  const T* x;
  int64_t n;
  C* stats;

  C centred(int64_t row, int64_t i) const {
    return static_cast<C>(static_cast<C>(x[row * n + i]) - stats[2 * row]);
  }
  C root(int64_t row) const { return stats[2 * row + 1]; }
  C normal(int64_t row, int64_t i) const { return centred(row, i) / root(row); }
  void find(int64_t row, C epsilon, Poll& poll) const {
    LaneSum<C> sum, squares;
    for (int64_t i = 0; i < n && !poll(); ++i) sum.add(static_cast<C>(x[row * n + i]));
    stats[2 * row] = sum.finish() / static_cast<C>(n);
    for (int64_t i = 0; i < n && !poll(); ++i) squares.add(centred(row, i) * centred(row, i));
    stats[2 * row + 1] = std::sqrt(squares.finish() / static_cast<C>(n) + epsilon);
  }
};

// Room for the statistics of each row.
Status keep_stats(int64_t rows, KernelPlan* p) {
  p->scratch_bytes = byte_count(static_cast<uint64_t>(rows) * 2 * sizeof(double));
  return {};
}

Status plan_layer(const KernelQuery& q, KernelPlan* p) {
  const int64_t n = q.in[2].numel();
  return keep_stats(n == 0 ? 0 : q.in[1].numel() / n, p);
}

// With h = g w and n the standardized x: dx = ((h - mean(h)) - n mean(h n)) / root; the gradients
// of weight and bias are the sums of g n and of g over the rows.
template <class T>
Status layer(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
             const void* attrs) {
  using C = Compute<T>;
  const auto epsilon = static_cast<C>(static_cast<const LayerNormGradAttrs*>(attrs)->epsilon);
  const int64_t n = in[2].numel(), rows = n == 0 ? 0 : in[1].numel() / n;
  const NormalRows<T> s{in[1].as<T>(), n, static_cast<C*>(ctx.scratch)};
  const auto dy = [&](int64_t row, int64_t i) {
    return static_cast<C>(in[0].as<T>()[row * n + i]);
  };
  parallel_items(ctx.pool, rows, 8 * n, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t row = begin; row < end; ++row) {
      s.find(row, epsilon, poll);
      const auto h = [&](int64_t i) { return dy(row, i) * static_cast<C>(in[2].as<T>()[i]); };
      LaneSum<C> sum_h, sum_hn;
      for (int64_t i = 0; i < n && !poll(2); ++i) {
        sum_h.add(h(i));
        sum_hn.add(h(i) * s.normal(row, i));
      }
      const C mean_h = sum_h.finish() / static_cast<C>(n),
              mean_hn = sum_hn.finish() / static_cast<C>(n);
      for (int64_t i = 0; i < n && !poll(2); ++i) {
        const C inner = (h(i) - mean_h) - s.normal(row, i) * mean_hn;
        out[0].as<T>()[row * n + i] = static_cast<T>(inner / s.root(row));
      }
    }
  });
  if (stopped()) return {};
  parallel_items(ctx.pool, n, 2 * rows, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t i = begin; i < end; ++i) {
      LaneSum<C> weight, bias;
      for (int64_t row = 0; row < rows && !poll(2); ++row) {
        weight.add(dy(row, i) * s.normal(row, i));
        bias.add(dy(row, i));
      }
      out[1].as<T>()[i] = static_cast<T>(weight.finish());
      out[2].as<T>()[i] = static_cast<T>(bias.finish());
    }
  });
  return {};
}

Status plan_group(const KernelQuery& q, KernelPlan* p) {
  const Shape& x = q.in[1].shape;
  return keep_stats(numel(x) == 0 ? 0 : x[0] * q.as<GroupNormGradAttrs>().groups, p);
}

// With M the elements of a row, h = g w, c = x - mean and scaled = h / root, as autograd has it of
// group_norm()'s ops: k = sum(-(scaled (c / root))) 0.5 / root (1 / M), q = (scaled + k c) + k c,
// dx = q + sum(-q) (1 / M).
template <class T>
Status group(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
             const void* attrs) {
  using C = Compute<T>;
  const auto& a = *static_cast<const GroupNormGradAttrs*>(attrs);
  const auto epsilon = static_cast<C>(a.epsilon);
  const Shape& x = in[1].shape;
  const int64_t images = numel(x) == 0 ? 0 : x[0], channels = x[1], rows = images * a.groups;
  int64_t run = 1;
  for (int d = 2; d < x.rank(); ++d) run *= x[d];
  const int64_t runs = channels / a.groups, n = runs * run;
  const NormalRows<T> s{in[1].as<T>(), n, static_cast<C*>(ctx.scratch)};
  const T* g = in[0].as<T>();
  const C share = static_cast<C>(1.0 / static_cast<double>(n));
  parallel_items(ctx.pool, rows, 8 * n, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t row = begin; row < end; ++row) {
      s.find(row, epsilon, poll);
      const C root = s.root(row);
      const auto scaled = [&](int64_t i) {
        const T weight = in[2].as<T>()[row % a.groups * runs + i / run];
        return static_cast<C>(g[row * n + i]) * static_cast<C>(weight) / root;
      };
      LaneSum<C> of_root, of_mean;
      for (int64_t i = 0; i < n && !poll(2); ++i) of_root.add(-(scaled(i) * s.normal(row, i)));
      const C k = of_root.finish() * C(0.5) / root * share;
      const auto q = [&](int64_t i) {
        const C part = k * s.centred(row, i);
        return (scaled(i) + part) + part;
      };
      for (int64_t i = 0; i < n && !poll(2); ++i) of_mean.add(-q(i));
      const C rest = of_mean.finish() * share;
      for (int64_t i = 0; i < n && !poll(2); ++i)
        out[0].as<T>()[row * n + i] = static_cast<T>(q(i) + rest);
    }
  });
  if (stopped()) return {};
  parallel_items(ctx.pool, channels, 2 * images * run, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t c = begin; c < end; ++c) {
      LaneSum<C> weight, bias;
      for (int64_t image = 0; image < images; ++image) {
        const int64_t row = image * a.groups + c / runs;
        for (int64_t k = 0; k < run && !poll(2); ++k) {
          const int64_t i = c % runs * run + k;
          const C dy = static_cast<C>(g[row * n + i]);
          weight.add(dy * s.normal(row, i));
          bias.add(dy);
        }
      }
      out[1].as<T>()[c] = static_cast<T>(weight.finish());
      out[2].as<T>()[c] = static_cast<T>(bias.finish());
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(LayerNormGrad,
              WICK_FLOAT_ROWS("layer_norm_grad", kContiguous, match<T>, plan_layer, layer<T>));
WICK_REF_ROWS(GroupNormGrad,
              WICK_FLOAT_ROWS("group_norm_grad", kContiguous, match<T>, plan_group, group<T>));

}  // namespace wick
