#include "runtime/core/int_math.h"
#include "runtime/ops/rules/layout-inl.h"
#include "trainer/autograd/grad/common.h"
#include "trainer/autograd/grad/one_pass.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick {
namespace {

void back_to_shape(GradCtx& c) { c.set(0, c.g().reshape(c.in_shape(0))); }

// Puts the slice's gradient back into zeros of size `extent` along one axis.
Tensor unslice(const Tensor& g, int axis, int64_t extent, const rules::SliceRange& r) {
  if (r.step == 1) {
    PadAttrs p;
    p.pads.count = 2 * g.rank();
    p.pads.values[axis] = r.count == 0 ? 0 : r.start;
    p.pads.values[g.rank() + axis] = extent - p.pads.values[axis] - r.count;
    return call(OpId::kPad, p, {g});
  }
  if (r.step == -1 && r.count == extent) return flip(g, {axis});
  Shape full_shape = g.raw_shape(), line;
  full_shape[axis] = extent;
  for (int i = 0; i < g.rank(); ++i) line.push_back(i == axis ? r.count : 1);
  Tensor index = moved_beside(g, arange(r.start, r.start + r.count * r.step, r.step));
  index = index.reshape(line).expand(g.raw_shape());
  return scatter_add(zeros_beside(g, full_shape, g.dtype()), axis, index, g);
}

// The gradient of a pad whose mode is not constant: each axis adds its copies to their source.
Tensor unpad(const GradCtx& c, const PadAttrs& a) {
  const Shape& x = c.in_shape(0);
  Tensor g = c.g();
  for (int64_t i = 0, n = a.pads.count / 2; i < n; ++i) {
    const int64_t axis = a.axes.empty() ? i : axis_of(a.axes[i], x.rank());
    const int64_t extent = x[static_cast<int>(axis)];
    PadAttrs one;  // of the numbers of the axis' elements: where each output comes from
    one.mode = a.mode;
    one.pads = {a.pads[i], a.pads[i + n]};
    if (one.pads[0] == 0 && one.pads[1] == 0) continue;
    const Tensor at = call(OpId::kPad, one, {arange(0, extent)});
    Shape line, whole = g.raw_shape();
    for (int d = 0; d < g.rank(); ++d) line.push_back(d == axis ? whole[d] : 1);
    Tensor index = moved_beside(g, at).reshape(line).expand(whole);
    whole[static_cast<int>(axis)] = extent;
    g = scatter_add(zeros_beside(g, whole, g.dtype()), static_cast<int>(axis), index, g);
  }
  return g;
}

// A list given as an input takes precedence over the attribute.
template <class List>
void take_input(GradCtx& c, size_t i, List& list) {
  if (i >= c.inputs() || !c.has(i)) return;
  const std::vector<int64_t> values = c.in(i).to(DType::kI64).to_vector<int64_t>();
  list = List(Span<const int64_t>(values));
}

}  // namespace

WICK_GRAD(Reshape, 0, 0, 2, back_to_shape);
WICK_GRAD(Flatten, 0, 0, 0, back_to_shape);
WICK_GRAD(Squeeze, 0, 0, 2, back_to_shape);
WICK_GRAD(Unsqueeze, 0, 0, 2, back_to_shape);

WICK_GRAD(Transpose, 0, 0, 0, [](GradCtx& c) {
  const auto& perm = c.attrs<TransposeAttrs>().perm;
  TransposeAttrs inverse;
  inverse.perm.count = perm.count;
  for (int64_t i = 0; i < perm.count; ++i) inverse.perm.values[perm[i]] = i;
  c.set(0, call(OpId::kTranspose, inverse, {c.g()}));
});

WICK_GRAD(Expand, 0, 0, 2, [](GradCtx& c) { c.set(0, sum_to(c.g(), c.in_shape(0))); });

WICK_GRAD(Concat, 0, 0, 0, [](GradCtx& c) {
  int axis = axis_of(c.attrs<AxisAttrs>().axis, c.g().rank());
  int64_t at = 0;
  for (size_t i = 0; i < c.inputs(); ++i) {
    int64_t n = c.in_shape(i)[axis];
    if (c.needs(i)) c.set(i, c.g().slice(axis, at, at + n));
    at += n;
  }
});

WICK_GRAD(Split, 0, 0, 2, [](GradCtx& c) {
  std::vector<Tensor> parts;
  for (size_t i = 0; i < c.outputs(); ++i) {
    parts.push_back(c.g(i).defined() ? c.g(i) : zeros(c.out_shape(i), c.in_dtype(0)));
  }
  c.set(0, cat(parts, static_cast<int>(c.attrs<SplitAttrs>().axis)));
});

WICK_GRAD(Slice, 30, 0, 30, [](GradCtx& c) {
  SliceAttrs a = c.attrs<SliceAttrs>();
  take_input(c, 1, a.starts);
  take_input(c, 2, a.ends);
  take_input(c, 3, a.axes);
  take_input(c, 4, a.steps);
  const Shape& x = c.in_shape(0);
  Tensor g = c.g();
  for (int64_t i = 0; i < a.starts.count; ++i) {
    int axis = axis_of(a.axes.at_or(i, i), x.rank());
    g = unslice(g, axis, x[axis],
                rules::resolve_slice(x[axis], a.starts[i], a.ends[i], a.steps.at_or(i, 1)));
  }
  c.set(0, g);
});

WICK_GRAD(Pad, 10, 0, 14, [](GradCtx& c) {
  PadAttrs a = c.attrs<PadAttrs>();
  take_input(c, 1, a.pads);
  take_input(c, 3, a.axes);
  if (a.mode != static_cast<int64_t>(PadMode::kConstant)) return c.set(0, unpad(c, a));
  for (int64_t& p : a.pads.values) p = -p;
  a.value = 0;
  c.set(0, call(OpId::kPad, a, {c.g()}));
});

WICK_NONDIFF(Shape, NonDiff::kIntegerOutput);

// The gradients of lines that were gathered more than once are summed in the order of the indices.
WICK_GRAD(Gather, 2, 0, 2, [](GradCtx& c) {
  const Shape& x = c.in_shape(0);
  int axis = axis_of(c.attrs<AxisAttrs>().axis, x.rank());
  Shape flat = x, line;
  flat[axis] = numel(c.in_shape(1));
  const Tensor g = c.g().reshape(flat);
  const bool lines = g.dtype() == DType::kF32 || g.dtype() == DType::kF64;
  if (!lines || !formula::unrecorded() || g.is_vulkan())
    return c.set(0, index_add(zeros_of(c, 0), axis, c.in(1).reshape({-1}), g));
  // The same sums by a kernel that adds lines where they are (runtime/kernels/scatter_lines.cc).
  for (int d = 0; d < x.rank(); ++d) line.push_back(d == axis ? flat[axis] : 1);
  c.set(0, scatter_add(zeros_of(c, 0), axis, c.in(1).reshape(line).expand(flat), g));
});

WICK_GRAD(GatherElements, 2, 0, 2, [](GradCtx& c) {
  c.set(0,
        scatter_add(zeros_of(c, 0), static_cast<int>(c.attrs<AxisAttrs>().axis), c.in(1), c.g()));
});

}  // namespace wick
