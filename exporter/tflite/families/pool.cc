// Pools and reductions.
#include <algorithm>

#include "exporter/tflite/families/window.h"
#include "runtime/ops/attrs/reduce.h"

namespace wick::tflite {
namespace {

PoolAttrs pool_attrs(const ReadCtx& c, const fbs::Pool2DOptions& o) {
  c.need_rank(0, 4);
  const std::vector<int64_t> x = c.sizes(0);
  const Reach h{o.filter_height(), o.stride_h()}, w{o.filter_width(), o.stride_w()};
  PoolAttrs a;
  a.kernel_shape = {h.kernel, w.kernel};
  a.strides = {h.stride, w.stride};
  a.pads = window_pads(c, o.padding(), x[1], x[2], h, w);
  return a;
}

// Padding counts neither in the sum nor in the number of elements.
void read_average_pool(ReadCtx& c) {
  const auto& o = c.options<fbs::Pool2DOptions>();
  const PoolAttrs a = pool_attrs(c, o);
  const ValueId y = c.emit(OpId::kAveragePool, a, {c.in(0, Layout::kPlanes)});
  c.set(0, c.activated(y, o.activation()), Layout::kPlanes);
}

void read_max_pool(ReadCtx& c) {
  const auto& o = c.options<fbs::Pool2DOptions>();
  const PoolAttrs a = pool_attrs(c, o);
  if (c.same_bytes() && o.activation() == fbs::Activation::None)
    return c.set_raw(0, c.emit(OpId::kMaxPool, a, {c.raw(0, Layout::kPlanes)}), Layout::kPlanes);
  const ValueId y = c.emit(OpId::kMaxPool, a, {c.in(0, Layout::kPlanes)});
  c.set(0, c.activated(y, o.activation()), Layout::kPlanes);
}

// The axes, from the front and in order.
std::vector<int64_t> reduced_axes(const ReadCtx& c) {
  std::vector<int64_t> axes;
  for (const int64_t a : c.ints(1)) axes.push_back(c.axis(a, c.rank(0)));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

// Planes are reduced as they are if their dims stay, or if what is left has the file's order.
template <OpId op>
void read_reduce(ReadCtx& c) {
  const bool keep = c.options<fbs::ReducerOptions>().keep_dims();
  const std::vector<int64_t> axes = reduced_axes(c);
  const bool image = axes == std::vector<int64_t>{1, 2};
  const Layout from = (keep || image) && c.in_planes(0) ? Layout::kPlanes : Layout::kFile;
  std::vector<int64_t> there;
  for (const int64_t a : axes) there.push_back(axis_in(from, a));
  std::sort(there.begin(), there.end());
  ReduceAttrs attrs;
  attrs.axes = c.list(there);
  attrs.keepdims = keep ? 1 : 0;
  attrs.noop_with_empty_axes = 1;
  const bool chooses = op == OpId::kReduceMax || op == OpId::kReduceMin;
  const bool bytes = chooses && c.input(0).quantized() && c.input(0).how == c.output(0).how &&
                     c.input(0).dtype == c.output(0).dtype;
  const ValueId y = c.emit(op, attrs, {bytes ? c.raw(0, from) : c.in(0, from)});
  const Layout to = keep ? from : Layout::kFile;
  return bytes ? c.set_raw(0, y, to) : c.set(0, y, to);
}

// REDUCE_ANY and REDUCE_ALL: the largest and the smallest of truth values.
template <OpId op>
void read_truth(ReadCtx& c) {
  ReduceAttrs attrs;
  attrs.axes = c.list(reduced_axes(c));
  attrs.keepdims = c.options<fbs::ReducerOptions>().keep_dims() ? 1 : 0;
  attrs.noop_with_empty_axes = 1;
  c.set_raw(0, c.emit(op, attrs, {c.raw(0)}));
}

// The first of equal elements counts.
template <OpId op>
void read_arg(ReadCtx& c) {
  ArgAttrs a;
  a.axis = c.axis(c.ints(1, 1, "axes")[0], c.rank(0));
  a.keepdims = 0;
  c.set_raw(0, c.cast(c.emit(op, a, {c.raw(0)}), c.output(0).dtype));
}

}  // namespace

WICK_TFLITE_READ(AVERAGE_POOL_2D, read_average_pool);
WICK_TFLITE_READ(MAX_POOL_2D, read_max_pool);
WICK_TFLITE_READ(MEAN, read_reduce<OpId::kReduceMean>);
WICK_TFLITE_READ(SUM, read_reduce<OpId::kReduceSum>);
WICK_TFLITE_READ(REDUCE_PROD, read_reduce<OpId::kReduceProd>);
WICK_TFLITE_READ(REDUCE_MAX, read_reduce<OpId::kReduceMax>);
WICK_TFLITE_READ(REDUCE_MIN, read_reduce<OpId::kReduceMin>);
WICK_TFLITE_READ(REDUCE_ANY, read_truth<OpId::kReduceMax>);
WICK_TFLITE_READ(REDUCE_ALL, read_truth<OpId::kReduceMin>);
WICK_TFLITE_READ(ARG_MAX, read_arg<OpId::kArgMax>);
WICK_TFLITE_READ(ARG_MIN, read_arg<OpId::kArgMin>);

}  // namespace wick::tflite
