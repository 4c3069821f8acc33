// DeformConv: for each output position the samples that it reads become a column in scratch; every
// output channel is then that column times its weights, in Conv's order.
#include "runtime/core/byte_count.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/real.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

struct Geometry {
  int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {};
  int spatial;

  Geometry(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& a)
      : spatial(x.rank() - 2) {
    for (int i = 0; i < spatial; ++i) {
      const int d = 3 - spatial + i;
      in[d] = x[2 + i], kernel[d] = w[2 + i], out[d] = y[2 + i];
      stride[d] = a.strides.at_or(i, 1), dilation[d] = a.dilations.at_or(i, 1);
      pad[d] = a.pads.at_or(i, 0);
    }
  }
};

int64_t column_size(const Shape& x, const Shape& w) {
  int64_t n = x[1];
  for (int i = 2; i < w.rank(); ++i) n *= w[i];
  return n;
}

template <class T>
Status plan_deform(const KernelQuery& q, KernelPlan* plan) {
  if (numel(q.out[0].shape) == 0 || q.in[0].shape[1] == 0) return {};
  uint64_t bytes;
  if (__builtin_mul_overflow(
          static_cast<uint64_t>(column_size(q.in[0].shape, q.in[1].shape)) * sizeof(Real<T>),
          static_cast<uint64_t>(q.threads), &bytes) ||
      bytes > (uint64_t{1} << 40))
    return Status(Code::kInvalidArgument, "the kernel is too large");
  plan->scratch_bytes = byte_count(bytes);
  return {};
}

// Interpolates between the pixels around `at`; 0 outside. The corners are in row-major order.
template <class T>
Real<T> sample(const T* x, const Geometry& g, const Real<T>* at) {
  using R = Real<T>;
  int64_t base[3];
  R part[3];
  for (int d = 0; d < 3; ++d) {
    if (!(at[d] > -1 && at[d] < static_cast<R>(g.in[d]))) return 0;
    const R below = std::floor(at[d]);
    base[d] = static_cast<int64_t>(below);
    part[d] = at[d] - below;
  }
  R sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    R weight = 1;
    int64_t index = 0;
    bool inside = true;
    for (int d = 0; d < 3; ++d) {
      const int next = corner >> (2 - d) & 1;
      const int64_t p = base[d] + next;
      weight = weight * (next != 0 ? part[d] : 1 - part[d]);
      inside = inside && p >= 0 && p < g.in[d];
      index = index * g.in[d] + p;
    }
    if (inside && weight != 0) sum = std::fma(weight, load(x[index]), sum);
  }
  return sum;
}

template <class T>
Status run_deform(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  using R = Real<T>;
  const auto& a = *static_cast<const DeformConvAttrs*>(attrs);
  const Shape &x = in[0].shape, &w = in[1].shape, &y = out[0].shape;
  if (out[0].numel() == 0) return {};
  const T* bias = in.size() > 3 && in[3].present() ? in[3].as<T>() : nullptr;
  const T* mask = in.size() > 4 && in[4].present() ? in[4].as<T>() : nullptr;
  const Geometry g(x, w, y, a.conv);
  const int64_t channels = x[1], pixels = g.out[0] * g.out[1] * g.out[2];
  const int64_t window = g.kernel[0] * g.kernel[1] * g.kernel[2];
  const int64_t plane = in[0].numel() == 0 ? 0 : g.in[0] * g.in[1] * g.in[2];
  const int64_t shared = channels / a.offset_group;  // channels that share offsets
  const int64_t column = channels * window, group_column = w[1] * window;
  const int64_t outputs = y[1] / a.conv.group;
  parallel_for(ctx.pool, y[0] * pixels, [&](int64_t e, int worker) {
    const int64_t image = e / pixels, p = e % pixels;
    const int64_t place[3] = {p / (g.out[1] * g.out[2]), p / g.out[2] % g.out[1], p % g.out[2]};
    R* values = static_cast<R*>(ctx.scratch) + worker * column;
    Poll poll;
    for (int64_t i = 0; i < a.offset_group && column > 0; ++i) {
      for (int64_t k = 0; k < window; ++k) {
        const int64_t at_kernel[3] = {k / (g.kernel[1] * g.kernel[2]),
                                      k / g.kernel[2] % g.kernel[1], k % g.kernel[2]};
        const int64_t which = (image * a.offset_group + i) * window + k;
        R at[3] = {};
        for (int d = 3 - g.spatial; d < 3; ++d) {
          const int64_t offset = (which * g.spatial + d - (3 - g.spatial)) * pixels + p;
          at[d] = static_cast<R>(place[d] * g.stride[d] - g.pad[d] + at_kernel[d] * g.dilation[d]) +
                  load(in[2].as<T>()[offset]);
        }
        const R share = mask != nullptr ? load(mask[which * pixels + p]) : R(1);
        for (int64_t c = i * shared; c < (i + 1) * shared; ++c) {
          if (poll(32)) return;
          const T* from = in[0].as<T>() + (image * channels + c) * plane;
          const R v = plane == 0 ? R(0) : sample<T>(from, g, at);
          values[c * window + k] = mask != nullptr ? v * share : v;
        }
      }
    }
    for (int64_t o = 0; o < y[1]; ++o) {
      if (poll(group_column)) return;
      const T* weight = in[1].as<T>() + o * group_column;
      const R* read = values + o / outputs * group_column;
      R sum = 0;
      for (int64_t i = 0; i < group_column; ++i) sum = std::fma(load(weight[i]), read[i], sum);
      if (bias != nullptr) sum = sum + load(bias[o]);
      out[0].as<T>()[(image * y[1] + o) * pixels + p] = static_cast<T>(sum);
    }
  });
  return {};
}

}  // namespace

#define WICK_DEFORM_ROW(Type, dtype)                                                   \
  KernelRow {                                                                          \
    "deform_conv." dtype ".ref", kContiguous, match<Type>, plan_deform<Type>, nullptr, \
        run_deform<Type>                                                               \
  }
WICK_REF_ROWS(DeformConv, WICK_DEFORM_ROW(float, "f32"), WICK_DEFORM_ROW(double, "f64"),
              WICK_DEFORM_ROW(Half, "f16"), WICK_DEFORM_ROW(BFloat16, "bf16"));
WICK_NO_CPU_ROWS(DeformConv);

}  // namespace wick
