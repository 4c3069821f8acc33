// Resize: a table of weighted neighbours along each axis that changes, then every output is the
// nested sum over those axes. Coordinates and weights are of double for every dtype, so that all of
// them pick the same neighbours.
#include "runtime/ops/resize_scale.h"

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/reference/blend.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: what this folder shares

struct Neighbour {
  double weight;
  int64_t at;  // along the axis; kOutside: the whole output is the extrapolation value
};
constexpr int64_t kOutside = -1;

struct ResizeAxis {
  int dim = 0;
  int64_t in = 0, out = 0, taps = 1;
  Ratio scale;
  double length = 0;          // of the result before it is cut to whole pixels
  double start = 0, end = 1;  // region
  Neighbour* table = nullptr;
};

// How many neighbours an axis may have at most; scale >= (out - 1/2) / in whatever gave the size.
int64_t most_taps(const ResizeAttrs& a, int64_t in, int64_t out) {
  const auto mode = static_cast<ResizeMode>(a.mode);
  if (mode == ResizeMode::kNearest) return 1;
  const int64_t reach = mode == ResizeMode::kLinear ? 1 : 2;
  if (a.antialias == 0) return 2 * reach;
  const double shrink = out < 1 ? 1 : static_cast<double>(in) / (static_cast<double>(out) - 0.5);
  return 2 * static_cast<int64_t>(
                 std::ceil(static_cast<double>(reach) * (shrink > 1 ? shrink : 1))) +
         2;
}

Status plan_resize(const KernelQuery& q, KernelPlan* plan) {
  const auto& a = q.as<ResizeAttrs>();
  uint64_t bytes = 0;
  const Shape &x = q.in[0].shape, &y = q.out[0].shape;
  if (numel(y) == 0) return {};
  for (int d = 0; d < x.rank(); ++d) {
    uint64_t table;
    if (__builtin_mul_overflow(static_cast<uint64_t>(y[d]),
                               static_cast<uint64_t>(most_taps(a, x[d], y[d])) * sizeof(Neighbour),
                               &table) ||
        __builtin_add_overflow(bytes, table, &bytes) || bytes > (uint64_t{1} << 40))
      return Status(Code::kInvalidArgument, "the tables of neighbours are too large");
  }
  plan->scratch_bytes = static_cast<size_t>(bytes);
  return {};
}

double source(const ResizeAxis& s, ResizeCoordinates how, int64_t o) {
  const auto x = static_cast<double>(o), p = static_cast<double>(s.scale.p),
             q = static_cast<double>(s.scale.q), last = static_cast<double>(s.in - 1);
  switch (how) {
    case ResizeCoordinates::kHalfPixel: return (x + 0.5) * q / p - 0.5;
    case ResizeCoordinates::kPytorchHalfPixel: return s.length > 1 ? (x + 0.5) * q / p - 0.5 : 0.0;
    case ResizeCoordinates::kHalfPixelSymmetric:  // the centers meet
      return (static_cast<double>(s.in) - 1) / 2 +
             (x - (static_cast<double>(s.out) - 1) / 2) * q / p;
    case ResizeCoordinates::kAlignCorners: return s.length == 1 ? 0.0 : x * last / (s.length - 1);
    case ResizeCoordinates::kAsymmetric: return x * q / p;
    case ResizeCoordinates::kHalfPixelForNearest: return (x + 0.5) * q / p;
    case ResizeCoordinates::kCropAndResize:
      return s.length == 1 ? (s.start + s.end) * last / 2
                           : s.start * last + x * (s.end - s.start) * last / (s.length - 1);
  }
  return 0;
}

double nearest(double at, ResizeNearest how) {
  const double below = std::floor(at);
  switch (how) {
    case ResizeNearest::kPreferFloor: return at - below <= 0.5 ? below : below + 1;
    case ResizeNearest::kPreferCeil: return at - below < 0.5 ? below : below + 1;
    case ResizeNearest::kFloor: return below;
    case ResizeNearest::kCeil: return std::ceil(at);
  }
  return below;
}

// The weights around `ratio` in (0, 1], from `first` neighbours before the one on the left.
int64_t stretched_weights(const ResizeAttrs& a, double scale, double ratio, int64_t most,
                          int64_t* first, Neighbour* to) {
  const bool linear = a.mode == static_cast<int64_t>(ResizeMode::kLinear);
  const double s = scale < 1 ? scale : 1, k = a.cubic_coeff_a;
  const auto start = static_cast<int64_t>(std::floor((linear ? -1 : -2) / s)) + 1;
  int64_t n = 2 - 2 * start;
  if (n > most) n = most;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double d = std::fabs((static_cast<double>(start + i) - ratio) * s);
    double w = 0;
    if (linear) {
      w = d < 1 ? 1 - d : 0;
    } else if (d <= 1) {
      w = ((k + 2) * d - (k + 3)) * d * d + 1;
    } else if (d < 2) {
      w = ((k * d - 5 * k) * d + 8 * k) * d - 4 * k;
    }
    to[i].weight = w;
    sum += w;
  }
  for (int64_t i = 0; i < n; ++i) to[i].weight /= sum;
  *first = start;
  return n;
}

void fill(const ResizeAttrs& a, ResizeAxis& s) {
  const auto mode = static_cast<ResizeMode>(a.mode);
  const auto how = static_cast<ResizeCoordinates>(a.coordinates);
  const auto limit = static_cast<double>(s.in);
  for (int64_t o = 0; o < s.out; ++o) {
    Neighbour* row = s.table + o * s.taps;
    for (int64_t i = 0; i < s.taps; ++i) row[i] = {0, 0};
    double at = source(s, how, o);
    if (how == ResizeCoordinates::kCropAndResize && !(at >= 0 && at <= limit - 1)) {
      row[0].at = kOutside;
      continue;
    }
    // far outside, NaN included, every neighbour is the same pixel at the edge
    at = !(at > -limit - 4) ? -limit - 4 : at < 2 * limit + 4 ? at : 2 * limit + 4;
    int64_t base, first = 0, n = 1;
    if (mode == ResizeMode::kNearest) {
      base = static_cast<int64_t>(nearest(at, static_cast<ResizeNearest>(a.nearest_mode)));
      row[0].weight = 1;
    } else {
      base = static_cast<int64_t>(std::ceil(at)) - 1;
      const double ratio = at - static_cast<double>(base);
      if (a.antialias != 0) {
        n = stretched_weights(a, s.scale.value(), ratio, s.taps, &first, row);
      } else if (mode == ResizeMode::kLinear) {
        n = 2, row[0].weight = 1 - ratio, row[1].weight = ratio;
      } else {
        double w[4];
        cubic_weights(ratio, a.cubic_coeff_a, w);
        n = 4, first = -1;
        for (int i = 0; i < 4; ++i) row[i].weight = w[i];
      }
    }
    double inside = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t p = base + first + i;
      if (a.exclude_outside != 0 && (p < 0 || p >= s.in)) row[i].weight = 0;
      row[i].at = p < 0 ? 0 : p >= s.in ? s.in - 1 : p;
      inside += row[i].weight;
    }
    for (int64_t i = 0; a.exclude_outside != 0 && inside != 0 && i < n; ++i)
      row[i].weight /= inside;
  }
}

struct ResizeJob {
  ResizeAxis axes[kMaxRank];
  int count = 0;  // of axes that change
  int64_t steps[kMaxRank] = {};
  bool changes[kMaxRank] = {};
};

// The axes that change, with their tables. x is not empty.
Status lay_out(const KernelCtx& ctx, Span<const TensorView> in, const TensorView& y,
               const ResizeAttrs& a, ResizeJob* job) {
  const Shape& x = in[0].shape;
  const auto given = [&](size_t i) {
    return i < in.size() && in[i].present() && in[i].numel() > 0;
  };
  const int n = a.axes.empty() ? x.rank() : static_cast<int>(a.axes.count);
  const auto axis = [&](int i) {
    return a.axes.empty() ? i : static_cast<int>(a.axes[i] < 0 ? a.axes[i] + x.rank() : a.axes[i]);
  };
  const bool by_scale = given(2);
  const bool smaller = a.keep_aspect_ratio_policy == static_cast<int64_t>(ResizePolicy::kNotLarger);
  Ratio kept;
  if (!by_scale && a.keep_aspect_ratio_policy != 0) {
    for (int i = 0; i < n; ++i)
      keep_ratio(&kept, {in[3].as<int64_t>()[i], x[axis(i)]}, smaller, i == 0);
  }
  auto* scratch = static_cast<Neighbour*>(ctx.scratch);
  int64_t step = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    job->steps[d] = step;
    step *= x[d];
  }
  for (int i = 0; i < n; ++i) {
    ResizeAxis s;
    s.dim = axis(i), s.in = x[s.dim], s.out = y.shape[s.dim];
    s.scale = by_scale                          ? ratio_of(real_at(in[2], i))
              : a.keep_aspect_ratio_policy != 0 ? kept
                                                : Ratio{s.out, s.in};
    s.length =
        static_cast<double>(s.in) * static_cast<double>(s.scale.p) / static_cast<double>(s.scale.q);
    const bool crops = a.coordinates == static_cast<int64_t>(ResizeCoordinates::kCropAndResize);
    if (crops) s.start = real_at(in[1], i), s.end = real_at(in[1], n + i);
    const bool same = s.in == s.out && s.scale.p == s.scale.q;
    if (same && (!crops || (s.start == 0 && s.end == 1))) continue;
    s.taps = most_taps(a, s.in, s.out);
    s.table = scratch;
    scratch += s.out * s.taps;
    fill(a, s);
    job->changes[s.dim] = true;
    job->axes[job->count++] = s;
  }
  // sums nest in the order of the dims
  for (int i = 1; i < job->count; ++i) {
    for (int j = i; j > 0 && job->axes[j].dim < job->axes[j - 1].dim; --j) {
      const ResizeAxis swap = job->axes[j];
      job->axes[j] = job->axes[j - 1], job->axes[j - 1] = swap;
    }
  }
  return {};
}

// f(output index, place, element of x that the axes that stay lead to) for every output.
template <class F>
void for_each_output(const KernelCtx& ctx, const ResizeJob& job, const Shape& y, int64_t cost,
                     F&& f) {
  const int last = y.rank() - 1;
  const int64_t row = y.rank() == 0 ? 1 : y[last];
  parallel_items(ctx.pool, row == 0 ? 0 : numel(y) / row, row * cost,
                 [&](int64_t from, int64_t to) {
                   int64_t o[kMaxRank] = {};
                   for (int64_t r = from; r < to; ++r) {
                     int64_t rest = r, fixed = 0;
                     for (int d = last - 1; d >= 0; --d) {
                       o[d] = rest % y[d];
                       rest /= y[d];
                       if (!job.changes[d]) fixed += o[d] * job.steps[d];
                     }
                     for (int64_t i = 0; i < row; ++i) {
                       if (last >= 0) o[last] = i;
                       f(r * row + i, o, fixed + (last >= 0 && !job.changes[last] ? i : 0));
                     }
                   }
                 });
}

Status run_nearest(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  const auto& a = *static_cast<const ResizeAttrs*>(attrs);
  if (out[0].numel() == 0) return {};
  ResizeJob job;
  WICK_TRY(lay_out(ctx, in, out[0], a, &job));
  const size_t size = dtype_size(in[0].dtype);
  char value[8] = {};  // extrapolated
  switch (in[0].dtype) {
#define WICK_EXTRAPOLATE(Type, name)                                                  \
  case dtype_of<Type>: {                                                              \
    const Type v = from_blend<Type>(static_cast<Blend<Type>>(a.extrapolation_value)); \
    __builtin_memcpy(value, &v, sizeof(v));                                           \
    break;                                                                            \
  }
    WICK_NUMBER_TYPES(WICK_EXTRAPOLATE)
#undef WICK_EXTRAPOLATE
    default: value[0] = a.extrapolation_value != 0;
  }
  const char* x = in[0].as<char>();
  char* y = out[0].as<char>();
  for_each_output(ctx, job, out[0].shape, 1, [&](int64_t to, const int64_t* o, int64_t at) {
    const char* from = nullptr;
    for (int i = 0; i < job.count; ++i) {
      const ResizeAxis& s = job.axes[i];
      const int64_t p = s.table[o[s.dim]].at;
      if (p == kOutside) from = value;
      at += p * job.steps[s.dim];
    }
    if (from == nullptr) from = x + static_cast<size_t>(at) * size;
    __builtin_memcpy(y + static_cast<size_t>(to) * size, from, size);
  });
  return {};
}

template <class T>
Blend<T> blend(const ResizeJob& job, int level, const int64_t* o, const T* x) {
  if (level == job.count) return blend_of(*x);
  const ResizeAxis& s = job.axes[level];
  const Neighbour* row = s.table + o[s.dim] * s.taps;
  Blend<T> sum = 0;
  for (int64_t i = 0; i < s.taps; ++i) {
    if (row[i].weight == 0) continue;  // an infinity there is not part of the sum
    sum = std::fma(static_cast<Blend<T>>(row[i].weight),
                   blend(job, level + 1, o, x + row[i].at * job.steps[s.dim]), sum);
  }
  return sum;
}

template <class T>
Status run_blend(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const auto& a = *static_cast<const ResizeAttrs*>(attrs);
  if (out[0].numel() == 0) return {};
  ResizeJob job;
  WICK_TRY(lay_out(ctx, in, out[0], a, &job));
  int64_t cost = 1;
  for (int i = 0; i < job.count; ++i) {
    if (__builtin_mul_overflow(cost, job.axes[i].taps, &cost)) cost = kElementGrain;
  }
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  const T outside = from_blend<T>(static_cast<Blend<T>>(a.extrapolation_value));
  for_each_output(ctx, job, out[0].shape, cost, [&](int64_t to, const int64_t* o, int64_t at) {
    bool inside = true;
    for (int i = 0; i < job.count; ++i)
      inside = inside && job.axes[i].table[o[job.axes[i].dim] * job.axes[i].taps].at != kOutside;
    // nothing changes: no way through the wider type
    y[to] = !inside ? outside : job.count == 0 ? x[at] : from_blend<T>(blend(job, 0, o, x + at));
  });
  return {};
}

bool is_nearest(const KernelQuery& q) {
  const size_t size = dtype_size(q.in[0].dtype);
  return q.as<ResizeAttrs>().mode == static_cast<int64_t>(ResizeMode::kNearest) &&
         (size == 1 || size == 2 || size == 4 || size == 8);
}

}  // namespace

#define WICK_RESIZE_ROW(Type, dtype)                                                        \
  , KernelRow {                                                                             \
    "resize." dtype ".ref", kContiguous, match<Type>, plan_resize, nullptr, run_blend<Type> \
  }

WICK_REF_ROWS(Resize, KernelRow{"resize.any", kContiguous, is_nearest, plan_resize, nullptr,
                                run_nearest} WICK_NUMBER_TYPES(WICK_RESIZE_ROW));
WICK_NO_CPU_ROWS(Resize);

}  // namespace wick
