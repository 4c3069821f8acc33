// Bounds of ops that read an image at real coordinates or through windows.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "runtime/kernels/window/resize_table.h"
#include "tests/ops/sets.h"
#include "tests/vulkan/bounds.h"

namespace wick::test {
namespace {

constexpr double kU = 0x1p-24;
constexpr double kExp = 4, kLog = 4, kSqrt = 9, kDiv = 5;  // as in bounds.cc

double largest(const Value& v) {
  double most = 0;
  for (int64_t i = 0; v.view().present() && i < v.view().numel(); ++i)
    most = std::fmax(most, std::fabs(v.at(i)));
  return most;
}

// The op over absolute values: what its sums are at most.
Value over_absolutes(OpId op, const void* attrs, const std::vector<Value>& in) {
  std::vector<Value> sizes, out;
  for (const Value& v : in) {
    sizes.push_back(v);
    if (!v.view().present() || v.view().dtype != DType::kF64) continue;
    sizes.back() = Value(DType::kF64, v.view().shape);
    for (int64_t i = 0; i < v.view().numel(); ++i) sizes.back().set(i, std::fabs(v.at(i)));
  }
  if (!run_op(op, attrs, sizes, 1, reference_sets(), nullptr, &out).ok()) std::abort();
  return out[0];
}

// Returns the nested sum over absolute values, from the axis `level` on.
double magnitude(const ResizeJob& job, const Value& x, int level, const int64_t* o, int64_t at) {
  if (level == job.count) return std::fabs(x.at(at));
  const ResizeAxis& axis = job.axes[level];
  const Neighbour* row = axis.table + o[axis.dim] * axis.taps;
  if (row[0].at == kOutside) return 0;
  double sum = 0;
  for (int64_t i = 0; i < axis.taps; ++i) {
    sum += std::fabs(row[i].weight) *
           magnitude(job, x, level + 1, o, at + row[i].at * job.steps[axis.dim]);
  }
  return sum;
}

// A weight rounds once; a sum of n terms n times.
std::vector<double> resize(const void* attrs, const std::vector<Value>& in, const Value& want) {
  const auto& a = *static_cast<const ResizeAttrs*>(attrs);
  const Shape& y = want.view().shape;
  std::vector<double> bounds(static_cast<size_t>(numel(y)), 0.0);
  if (a.mode == static_cast<int64_t>(ResizeMode::kNearest) || bounds.empty()) return bounds;
  const std::vector<TensorView> inputs = views(in);
  const TensorView out = want.view();
  ShapeArgs args;
  if (!resolve_shape_args(OpId::kResize, attrs, inputs, &args).ok()) std::abort();
  const Result<size_t> bytes = resize_table_bytes(inputs[0].shape, y, a);
  std::vector<double> scratch(bytes.value() / sizeof(double) + 1);
  ResizeJob job;
  resize_tables(inputs, out, a, args.resize, scratch.data(), &job);
  for (size_t i = 0; i < bounds.size(); ++i) {
    int64_t o[kMaxRank] = {}, rest = static_cast<int64_t>(i), fixed = 0;
    for (int d = y.rank() - 1; d >= 0; --d) {
      o[d] = rest % y[d];
      rest /= y[d];
      if (!job.changes[d]) fixed += o[d] * job.steps[d];
    }
    double roundings = 0;
    for (int k = 0; k < job.count; ++k) {
      const ResizeAxis& axis = job.axes[k];
      const Neighbour* row = axis.table + o[axis.dim] * axis.taps;
      roundings += 1;
      for (int64_t t = 0; t < axis.taps; ++t) roundings += row[t].weight != 0 ? 1 : 0;
    }
    bounds[i] = kU * roundings * magnitude(job, in[0], 0, o, fixed) + FLT_MIN;
  }
  return bounds;
}

// All terms are positive, so errors are relative. Powers above 2 are exp(p log v), off by kLog + 1
// times |p log v| and kExp + 1: z |log z| is at most 1 / e below 1, and no element is above y.
std::vector<double> lp_pool(const void* attrs, const Value& want) {
  const auto& a = *static_cast<const LpPoolAttrs*>(attrs);
  const auto p = static_cast<double>(a.p);
  double taps = 1;
  for (int64_t k : a.pool.kernel_shape.span()) taps *= static_cast<double>(k);
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    const double y = want.at(i), sum = std::pow(y, p);
    double units = taps;
    if (a.p == 2) units = taps / 2 + kSqrt;
    if (a.p > 2 && y > 0) {
      const double logs = taps / std::exp(1.0) / sum + p * std::fmax(0, std::log(y));
      units = (taps + (kLog + 1) * logs + kExp + 1) / p + (kLog + 2) * std::fabs(std::log(y)) +
              kExp + 1;
    }
    bounds.push_back(kU * units * y + FLT_MIN);
  }
  return bounds;
}

// The bound is by the image's largest value. Coordinates are as good as double's; a linear weight
// is off by 1.5 units (its ratio's rounding and its own), the cubic ones together by 13 (1/2, 6, 6,
// 1/2), and sum to 1.375 at most; a dim's sum rounds once a term.
std::vector<double> grid_sample(const void* attrs, const std::vector<Value>& in,
                                const Value& want) {
  const auto& a = *static_cast<const GridSampleAttrs*>(attrs);
  std::vector<double> bounds(static_cast<size_t>(want.view().numel()), 0.0);
  if (a.mode == static_cast<int64_t>(ResizeMode::kNearest)) return bounds;
  const bool linear = a.mode == static_cast<int64_t>(ResizeMode::kLinear);
  const double most = largest(in[0]);
  const int dims = in[0].view().rank() - 2;
  const double size = linear ? 1 : 1.375, weights = linear ? 3 : 13, terms = linear ? 2 : 4;
  const double units = dims * (weights * std::pow(size, dims - 1) + terms * std::pow(size, dims));
  for (double& b : bounds) b = kU * units * most + FLT_MIN;
  return bounds;
}

// A point of the grid rounds once, then a chain of fma, then the shift.
std::vector<double> affine_grid(const std::vector<Value>& in, const Value& want) {
  const Shape& y = want.view().shape;
  const int64_t k = y.rank() - 2, points = want.view().numel() / (y[0] * k);
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    const int64_t row = (i / k / points * k + i % k) * (k + 1);
    double sum = 0;
    for (int64_t j = 0; j <= k; ++j) sum += std::fabs(in[0].at(row + j));
    bounds.push_back(kU * static_cast<double>(k + 2) * sum + FLT_MIN);
  }
  return bounds;
}

// The most positions of a kernel that bring something to one output of a dim.
double most_sources(int64_t kernel, int64_t stride, int64_t dilation) {
  const int64_t step = stride / std::gcd(stride, dilation);
  return static_cast<double>((kernel + step - 1) / step);
}

// A chain of fma, or of additions, and a bias: each rounds a sum of at most the magnitudes.
std::vector<double> spread(OpId op, const void* attrs, const std::vector<Value>& in,
                           const Value& want) {
  double terms = 1;
  if (op == OpId::kConvTranspose) {
    const auto& a = static_cast<const ConvTransposeAttrs*>(attrs)->conv;
    const Shape& w = in[1].view().shape;
    terms = static_cast<double>(w[0] / a.group);
    for (int i = 2; i < w.rank(); ++i)
      terms *= most_sources(w[i], a.strides.at_or(i - 2, 1), a.dilations.at_or(i - 2, 1));
    terms += 1;
  } else {
    const auto& a = *static_cast<const Col2ImAttrs*>(attrs);
    for (int i = 0; i + 2 < want.view().rank(); ++i)
      terms *= most_sources(static_cast<int64_t>(in[2].at(i)), a.strides.at_or(i, 1),
                            a.dilations.at_or(i, 1));
  }
  const Value magnitude = over_absolutes(op, attrs, in);
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i)
    bounds.push_back(kU * terms * magnitude.at(i) + FLT_MIN);
  return bounds;
}

// The bound is by norms. A place is off by a rounding of at most the extent and 1; between pixels
// that moves a sample by twice the largest pixel a dim. A corner's weight is a product of `dims`
// factors that round twice each, a sample is a sum of 2^dims; then come the mask, the chain over
// the column, the bias.
std::vector<double> deform_conv(const std::vector<Value>& in, const Value& want) {
  const Shape &x = in[0].view().shape, &w = in[1].view().shape, &y = want.view().shape;
  const int dims = x.rank() - 2;
  double places = 0;
  for (int i = 0; i < dims; ++i) places += 2 * static_cast<double>(x[2 + i] + 1);
  const int64_t column = numel(w) / w[0];
  const double sample = places + 2 * dims + std::pow(2, dims) + 1;
  const double mask = in.size() > 4 && in[4].view().present() ? largest(in[4]) : 1;
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    const int64_t o = i / (numel(y) / (y[0] * y[1])) % y[1];
    double weights = 0;
    for (int64_t k = 0; k < column; ++k) weights += std::fabs(in[1].at(o * column + k));
    bounds.push_back(kU *
                         ((sample + static_cast<double>(column)) * weights * mask * largest(in[0]) +
                          std::fabs(want.at(i))) +
                     FLT_MIN);
  }
  return bounds;
}

// The bound is by norms. A place is made in six steps of numbers no larger than the region's
// farthest edge, which moves a sample by twice the largest pixel along each dim; a weight of two
// factors rounds three times, a sum once a term.
std::vector<double> roi_align(const void* attrs, const std::vector<Value>& in, const Value& want) {
  const auto& a = *static_cast<const RoiAlignAttrs*>(attrs);
  const int64_t each = want.view().numel() / want.view().shape[0];
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    double edge = 1;
    for (int64_t k = 0; k < 4; ++k)
      edge = std::fmax(edge, std::fabs(in[1].at(i / each * 4 + k) * a.spatial_scale) + 0.5);
    double samples = static_cast<double>(a.sampling_ratio * a.sampling_ratio);
    if (a.sampling_ratio == 0)
      samples = (2 * edge / static_cast<double>(a.output_height) + 1) *
                (2 * edge / static_cast<double>(a.output_width) + 1);
    const double units = 2 * 2 * 6 * edge + 3 + (a.max != 0 ? 0 : 4 * samples + kDiv);
    bounds.push_back(kU * units * largest(in[0]) + FLT_MIN);
  }
  return bounds;
}

}  // namespace

bool spatial_bounds(OpId op, const void* attrs, const std::vector<Value>& in, const Value& want,
                    std::vector<double>* bounds) {
  switch (op) {
    case OpId::kResize: *bounds = resize(attrs, in, want); return true;
    case OpId::kConvTranspose:
    case OpId::kCol2Im: *bounds = spread(op, attrs, in, want); return true;
    case OpId::kDeformConv: *bounds = deform_conv(in, want); return true;
    case OpId::kRoiAlign: *bounds = roi_align(attrs, in, want); return true;
    case OpId::kGridSample: *bounds = grid_sample(attrs, in, want); return true;
    case OpId::kAffineGrid: *bounds = affine_grid(in, want); return true;
    case OpId::kLpPool: *bounds = lp_pool(attrs, want); return true;
    case OpId::kMaxPool:
    case OpId::kMaxPoolIndices:
      bounds->assign(static_cast<size_t>(want.view().numel()), 0.0);
      return true;
    default: return false;
  }
}

}  // namespace wick::test
