// Pooling with indices, Lp pooling, ConvTranspose and Col2Im. Each output gathers its inputs in the
// order of the kernel's positions.
#include "runtime/ops/conv_transpose.h"

#include <limits>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/indices.h"
#include "runtime/kernels/reference/real.h"
#include "runtime/kernels/window/pool.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// Returns the first of the largest elements; NaN is larger than all.
template <class T>
Status max_pool_indices(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  using C = Compute<T>;
  using Limits = std::numeric_limits<C>;
  const auto& a = *static_cast<const MaxPoolIndicesAttrs*>(attrs);
  const PoolShape s = pool_shape(in[0], out[0], a.pool);
  parallel_items(ctx.pool, s.planes, s.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const T* x = in[0].as<T>() + p * s.in_size();
      for_each_window(s, [&](int64_t at, const PoolShape::Range* ranges, const int64_t* o) {
        int64_t best = -1;
        C largest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
        for_each_position(s, ranges, o, [&](int64_t i) {
          const auto v = static_cast<C>(x[i]);
          if (best < 0 || v > largest || (v != v && largest == largest)) best = i, largest = v;
        });
        const int64_t first = best < 0 ? 0 : best;  // for a window of padding only
        const int64_t y = p * s.out_size() + at;
        out[0].as<T>()[y] = static_cast<T>(largest);
        if (s.in_size() == 0) {  // there is only padding
          out[1].as<int64_t>()[y] = 0;
          return;
        }
        const int64_t d = first / (s.in[1] * s.in[2]), r = first / s.in[2] % s.in[1],
                      q = first % s.in[2];
        out[1].as<int64_t>()[y] =
            p * s.in_size() + (a.storage_order == 0 ? first : (q * s.in[1] + r) * s.in[0] + d);
      });
    }
  });
  return {};
}

// Sums |x|^p in the window's order and takes the root; the square uses fma.
template <class T>
Status lp_pool(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
               const void* attrs) {
  using R = Real<T>;
  const auto& a = *static_cast<const LpPoolAttrs*>(attrs);
  const PoolShape s = pool_shape(in[0], out[0], a.pool);
  const R p_real = static_cast<R>(a.p), root = 1 / p_real;
  parallel_items(ctx.pool, s.planes, s.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const T* x = in[0].as<T>() + p * s.in_size();
      T* y = out[0].as<T>() + p * s.out_size();
      for_each_window(s, [&](int64_t at, const PoolShape::Range* ranges, const int64_t* o) {
        R sum = 0;
        for_each_position(s, ranges, o, [&](int64_t i) {
          const R v = std::fabs(load(x[i]));
          if (a.p == 1) sum = sum + v;
          if (a.p == 2) sum = std::fma(v, v, sum);
          if (a.p > 2) sum = sum + power(v, p_real);
        });
        if (a.p == 2) sum = std::sqrt(sum);
        if (a.p > 2) sum = power(sum, root);
        y[at] = static_cast<T>(sum);
      });
    }
  });
  return {};
}

// Along one dim, the positions k of the kernel that connect an input q to an output: at = q *
// stride + k * dilation. They are `k`, `k` + k_step, ..., with the inputs `q`, `q` - q_step, ...
struct Sources {
  int64_t k = 0, q = 0, count = 0, k_step = 1, q_step = 1;
};

Sources sources(int64_t at, int64_t in, int64_t kernel, int64_t stride, int64_t dilation) {
  int64_t a = stride, b = dilation;
  while (b != 0) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  Sources s;
  s.k_step = stride / a, s.q_step = dilation / a;
  int64_t k = 0;
  while (k < kernel && k < s.k_step && (at - k * dilation) % stride != 0) ++k;
  if (k >= s.k_step) return s;
  for (; k < kernel && k * dilation <= at; k += s.k_step) {
    const int64_t q = (at - k * dilation) / stride;
    if (q >= in) continue;
    if (s.count++ == 0) s.k = k, s.q = q;
  }
  return s;
}

template <class T>
Status conv_transpose(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                      const void* attrs) {
  using R = Real<T>;
  const auto& a = *static_cast<const ConvTransposeAttrs*>(attrs);
  const Shape &x = in[0].shape, &w = in[1].shape, &y = out[0].shape;
  if (out[0].numel() == 0) return {};
  const T* bias = in.size() > 2 && in[2].present() ? in[2].as<T>() : nullptr;
  const int spatial = x.rank() - 2;
  const bool empty = in[0].numel() == 0 || in[1].numel() == 0;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, to[3] = {1, 1, 1}, pad[3] = {};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  for (int i = 0; i < spatial; ++i) {
    const int d = 3 - spatial + i;
    size[d] = x[2 + i], kernel[d] = w[2 + i], to[d] = y[2 + i];
    stride[d] = a.conv.strides.at_or(i, 1), dilation[d] = a.conv.dilations.at_or(i, 1);
    pad[d] = empty ? 0 : transposed_pad(a, x[2 + i], w[2 + i], y[2 + i], i);
  }
  const int64_t group_in = x[1] / a.conv.group, group_out = w[1];
  const int64_t plane = empty ? 0 : size[0] * size[1] * size[2],
                window = empty ? 0 : kernel[0] * kernel[1] * kernel[2];
  const int64_t pixels = to[0] * to[1] * to[2];
  const int64_t taps = window / stride[0] / stride[1] / stride[2];  // their product may overflow
  const int64_t cost = empty ? 1 : group_in * (taps + 1);
  const int64_t search = kernel[0] + kernel[1] + kernel[2];
  parallel_items(ctx.pool, y[0] * y[1] * pixels, cost, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t e = begin; e < end; ++e) {
      if (poll(8 * search)) return;
      const int64_t p = e % pixels, o = e / pixels % y[1], image = e / pixels / y[1];
      const int64_t at[3] = {p / (to[1] * to[2]), p / to[2] % to[1], p % to[2]};
      const int64_t first = o / group_out * group_in;  // first channel of the group
      R sum = 0;
      if (!empty) {
        Sources s[3];
        for (int d = 0; d < 3; ++d)
          s[d] = sources(at[d] + pad[d], size[d], kernel[d], stride[d], dilation[d]);
        for (int64_t c = 0; c < group_in; ++c) {
          const T* from = in[0].as<T>() + (image * x[1] + first + c) * plane;
          const T* weight = in[1].as<T>() + ((first + c) * group_out + o % group_out) * window;
          for (int64_t i = 0; i < s[0].count; ++i) {
            for (int64_t j = 0; j < s[1].count; ++j) {
              if (poll(s[2].count)) return;
              const int64_t row =
                  ((s[0].q - i * s[0].q_step) * size[1] + s[1].q - j * s[1].q_step) * size[2];
              const int64_t k_row =
                  ((s[0].k + i * s[0].k_step) * kernel[1] + s[1].k + j * s[1].k_step) * kernel[2];
              for (int64_t k = 0; k < s[2].count; ++k)
                sum = std::fma(load(weight[k_row + s[2].k + k * s[2].k_step]),
                               load(from[row + s[2].q - k * s[2].q_step]), sum);
            }
          }
        }
      }
      if (bias != nullptr) sum = sum + load(bias[o]);
      out[0].as<T>()[e] = static_cast<T>(sum);
    }
  });
  return {};
}

Status plan_col2im(const KernelQuery& q, KernelPlan* p) {
  p->keep(q.args->blocks);
  return {};
}

template <class T>
Status col2im(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
              const void* attrs) {
  const auto& a = *static_cast<const Col2ImAttrs*>(attrs);
  const Shape &x = in[0].shape, &y = out[0].shape;
  if (out[0].numel() == 0) return {};
  constexpr int kDims = 6;
  const int spatial = y.rank() - 2;
  int64_t block[kDims], windows[kDims], rows = 1;
  for (int d = 0; d < spatial; ++d) {
    block[d] = ctx.plan->kept<BlockExtents>().extent[d];
    rows *= block[d];
    windows[d] = (y[2 + d] + a.pads.at_or(d, 0) + a.pads.at_or(d + spatial, 0) -
                  (block[d] - 1) * a.dilations.at_or(d, 1) - 1) /
                     a.strides.at_or(d, 1) +
                 1;
  }
  const int64_t pixels = out[0].numel() / (y[0] * y[1]);
  int64_t search = 0;
  for (int d = 0; d < spatial; ++d) search += block[d];
  parallel_items(ctx.pool, out[0].numel(), 8 * spatial, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t e = begin; e < end; ++e) {
      if (poll(8 * search)) return;
      const T* from = in[0].as<T>() + e / pixels * rows * x[2];
      Sources s[kDims];
      int64_t rest = e % pixels, ways = 1;
      for (int d = spatial - 1; d >= 0; --d) {
        s[d] = sources(rest % y[2 + d] + a.pads.at_or(d, 0), windows[d], block[d],
                       a.strides.at_or(d, 1), a.dilations.at_or(d, 1));
        rest /= y[2 + d];
        ways *= s[d].count;
      }
      Compute<T> total = 0;
      for (int64_t way = 0; way < ways; ++way) {
        if (poll(8)) return;
        int64_t row = 0, column = 0, digits = ways, left = way;
        for (int d = 0; d < spatial; ++d) {
          digits /= s[d].count;
          const int64_t i = left / digits;
          left %= digits;
          row = row * block[d] + s[d].k + i * s[d].k_step;
          column = column * windows[d] + s[d].q - i * s[d].q_step;
        }
        if constexpr (std::is_integral_v<T>) {
          total = wrapping_add(total, from[row * x[2] + column]);
        } else {
          total = total + static_cast<Compute<T>>(from[row * x[2] + column]);
        }
      }
      out[0].as<T>()[e] = static_cast<T>(total);
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(MaxPoolIndices,
              WICK_FLOAT_ROWS("max_pool_indices", kContiguous, match<T>, max_pool_indices<T>),
              WICK_INT_ROWS("max_pool_indices", kContiguous, match<T>, max_pool_indices<T>));
WICK_REF_ROWS(LpPool, WICK_FLOAT_ROWS("lp_pool", kContiguous, match<T>, lp_pool<T>));
WICK_REF_ROWS(ConvTranspose,
              WICK_FLOAT_ROWS("conv_transpose", kContiguous, match<T>, conv_transpose<T>));
WICK_REF_ROWS(Col2Im, WICK_NUMBER_ROWS("col2im", kContiguous, match<T>, plan_col2im, col2im<T>));
WICK_NO_CPU_ROWS(MaxPoolIndices);
WICK_NO_CPU_ROWS(LpPool);
WICK_NO_CPU_ROWS(Col2Im);

}  // namespace wick
