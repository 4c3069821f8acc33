#include "runtime/kernels/window/resize_table.h"

#include "runtime/core/byte_count.h"
#include "runtime/kernels/reference/blend.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: reads numbers of any dtype

// Returns the greatest number of neighbours per output; scale >= (out - 1/2) / in, however the size
// was given.
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

double source(const ResizeAxis& s, ResizeCoordinates how, int64_t o) {
  const auto x = static_cast<double>(o), p = static_cast<double>(s.scale.p),
             q = static_cast<double>(s.scale.q), last = static_cast<double>(s.in - 1);
  switch (how) {
    case ResizeCoordinates::kHalfPixel: return (x + 0.5) * q / p - 0.5;
    case ResizeCoordinates::kPytorchHalfPixel: return s.length > 1 ? (x + 0.5) * q / p - 0.5 : 0.0;
    case ResizeCoordinates::kHalfPixelSymmetric:  // the centers coincide
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

// Computes the weights around `ratio` in (0, 1], starting `first` neighbours before the left one.
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
  Poll poll;
  for (int64_t o = 0; o < s.out && !poll(8 * s.taps); ++o) {
    Neighbour* row = s.table + o * s.taps;
    for (int64_t i = 0; i < s.taps; ++i) row[i] = {0, 0};
    double at = source(s, how, o);
    if (how == ResizeCoordinates::kCropAndResize && !(at >= 0 && at <= limit - 1)) {
      row[0].at = kOutside;
      continue;
    }
    // far outside (NaN included) every neighbour is the same pixel at the edge
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

// -- the arithmetic of the trainer's interpolate(), step by step

// PyTorch computes nearest positions in float32.
void nearest_places(const ResizeAttrs& a, float scale, ResizeAxis& s) {
  const bool exact = a.coordinates == static_cast<int64_t>(ResizeCoordinates::kHalfPixel);
  Poll poll;
  for (int64_t o = 0; o < s.out && !poll(8 * s.taps); ++o) {
    float at = static_cast<float>(o);
    if (exact) at += 0.5f;
    const auto place = static_cast<int64_t>(std::floor(at * scale));
    s.table[o] = {1, place < s.in ? place : s.in - 1};
  }
}

double near_weight(double d, double a) {
  double y = (a + 2) * d - (a + 3);
  y = y * d * d;
  return y + 1;
}
double far_weight(double d, double a) {
  double y = a * d - 5 * a;
  y = y * d + 8 * a;
  return y * d - 4 * a;
}

void fill_interpolate(const ResizeAttrs& a, bool by_scales, ResizeAxis& s) {
  const auto in = static_cast<double>(s.in), out = static_cast<double>(s.out);
  const double scale = by_scales ? 1.0 / s.scale.value() : in / out;
  const auto mode = static_cast<ResizeMode>(a.mode);
  if (mode == ResizeMode::kNearest) {
    const float ratio = static_cast<float>(s.in) / static_cast<float>(s.out);
    return nearest_places(a, by_scales ? static_cast<float>(scale) : ratio, s);
  }
  const bool corners = a.coordinates == static_cast<int64_t>(ResizeCoordinates::kAlignCorners);
  const double step = (in - 1) / (s.out > 1 ? out - 1 : 1);
  const int64_t last = s.in - 1;
  const auto inside = [&](int64_t p) { return p < 0 ? 0 : p < last ? p : last; };
  Poll poll;
  for (int64_t o = 0; o < s.out && !poll(8 * s.taps); ++o) {
    const auto x = static_cast<double>(o);
    double place = corners ? step * x : scale * (x + 0.5) - 0.5;
    Neighbour* row = s.table + o * s.taps;
    if (mode == ResizeMode::kLinear) {
      if (!corners && !(place >= 0)) place = 0;
      const int64_t low = inside(static_cast<int64_t>(place));
      const double t = place - static_cast<double>(low);
      row[0] = {1 - t, low}, row[1] = {t, inside(low + 1)};
      continue;
    }
    const double below = std::floor(place), t = place - below, k = a.cubic_coeff_a;
    const double weights[] = {far_weight(t + 1, k), near_weight(t, k), near_weight(1 - t, k),
                              far_weight(2 - t, k)};
    for (int64_t i = 0; i < 4; ++i)
      row[i] = {weights[i], inside(static_cast<int64_t>(below) + i - 1)};
  }
}

}  // namespace

Result<size_t> resize_table_bytes(const Shape& x, const Shape& y, const ResizeAttrs& a) {
  uint64_t bytes = 0;
  if (numel(y) == 0) return size_t{0};
  for (int d = 0; d < x.rank(); ++d) {
    uint64_t table;
    if (__builtin_mul_overflow(static_cast<uint64_t>(y[d]),
                               static_cast<uint64_t>(most_taps(a, x[d], y[d])) * sizeof(Neighbour),
                               &table) ||
        __builtin_add_overflow(bytes, table, &bytes) || bytes > (uint64_t{1} << 40))
      return Status(Code::kInvalidArgument, "the tables of neighbours are too large");
  }
  return byte_count(bytes);
}

Status plan_resize(const KernelQuery& q, KernelPlan* plan) {
  WICK_ASSIGN(plan->scratch_bytes,
              resize_table_bytes(q.in[0].shape, q.out[0].shape, q.as<ResizeAttrs>()));
  plan->keep(q.args->resize);
  return {};
}

void resize_tables(Span<const TensorView> in, const TensorView& y, const ResizeAttrs& a,
                   const ResizeScales& scales, void* scratch_bytes, ResizeJob* job) {
  const Shape& x = in[0].shape;
  const bool crops = a.coordinates == static_cast<int64_t>(ResizeCoordinates::kCropAndResize);
  const bool by_scales = in.size() > 2 && in[2].present() && in[2].numel() != 0;
  auto* scratch = static_cast<Neighbour*>(scratch_bytes);
  int64_t step = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    job->steps[d] = step;
    step *= x[d];
  }
  for (int d = 0; d < x.rank(); ++d) {  // sums nest in the order of the dims
    if (scales.region[d] < 0 || (a.interpolate != 0 && d < 2)) continue;
    ResizeAxis s;
    s.dim = d, s.in = x[d], s.out = y.shape[d];
    s.scale = scales.scale[d];
    s.length =
        static_cast<double>(s.in) * static_cast<double>(s.scale.p) / static_cast<double>(s.scale.q);
    if (crops) {
      const int64_t at = scales.region[d], ends = in[1].numel() / 2;
      s.start = real_at(in[1], at), s.end = real_at(in[1], ends + at);
    }
    const bool same = s.in == s.out && s.scale.p == s.scale.q;
    if (same && a.interpolate == 0 && (!crops || (s.start == 0 && s.end == 1))) continue;
    s.taps = most_taps(a, s.in, s.out);
    s.table = scratch;
    scratch += s.out * s.taps;
    a.interpolate != 0 ? fill_interpolate(a, by_scales, s) : fill(a, s);
    job->changes[d] = true;
    job->axes[job->count++] = s;
  }
}

}  // namespace wick
