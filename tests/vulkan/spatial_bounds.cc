// Bounds of what reads an image at real coordinates or through windows.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "runtime/kernels/resize_table.h"
#include "tests/ops/sets.h"
#include "tests/vulkan/bounds.h"

namespace wick::test {
namespace {

constexpr double kU = 0x1p-24;

// What the nested sum over absolute values comes to, from the axis `level` on.
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
  KernelPlan plan;
  if (!plan_resize({OpId::kResize, attrs, inputs, {&out, 1}, 1, nullptr}, &plan).ok()) std::abort();
  std::vector<double> scratch(plan.scratch_bytes / sizeof(double) + 1);
  ResizeJob job;
  if (!resize_tables(inputs, out, a, scratch.data(), &job).ok()) std::abort();
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

}  // namespace

bool spatial_bounds(OpId op, const void* attrs, const std::vector<Value>& in, const Value& want,
                    std::vector<double>* bounds) {
  switch (op) {
    case OpId::kResize: *bounds = resize(attrs, in, want); return true;
    default: return false;
  }
}

}  // namespace wick::test
