// ScatterElements and ScatterND: x, indices, updates -> y. One formula serves both, given the two
// operations that they differ in: gather the elements at the indices, and scatter to them.
#include "trainer/autograd/grad/common.h"
#include "trainer/autograd/grad/others.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

using How = ScatterReduction;

struct Elements {
  int64_t axis;
  Tensor index;
  Tensor take(const Tensor& x) const { return gather(x, static_cast<int>(axis), index); }
  Tensor scatter(const Tensor& x, const Tensor& updates, How how) const {
    ScatterAttrs a{axis, static_cast<int64_t>(how)};
    return call(OpId::kScatterElements, a, {x, index, updates});
  }
};

struct Lines {
  Tensor index;
  Tensor take(const Tensor& x) const { return call(OpId::kGatherND, GatherNDAttrs{}, {x, index}); }
  Tensor scatter(const Tensor& x, const Tensor& updates, How how) const {
    return call(OpId::kScatterND, ScatterNDAttrs{static_cast<int64_t>(how)}, {x, index, updates});
  }
};

// The gradient of a largest or smallest element is shared by all elements equal to it, as in
// PyTorch.
template <class At>
void extreme_gradient(GradCtx& c, const At& at, How how) {
  Tensor x = c.in(0), u = c.in(2), g = c.g();
  Tensor y;
  {
    NoGrad guard;
    y = at.scatter(x, u, how);
  }
  Tensor zero = zero_like(g), one = full({}, 1, g.dtype());
  Tensor from_x = eq(x, y), from_u = eq(u, at.take(y));
  Tensor count = at.scatter(where(from_x, one, zero), where(from_u, one, zero), How::kAdd);
  Tensor share = g / count;
  if (c.needs(0)) c.set(0, where(from_x, share, zero));
  if (c.needs(2)) c.set(2, where(from_u, at.take(share), zero));
}

// Returns, for each update, the product of the others with the same destination. Updates are sorted
// by destination.
template <class At>
Tensor other_updates(const At& at, const Tensor& x, const Tensor& u) {
  Tensor place, order, back;
  {
    NoGrad guard;
    const int64_t n = numel(x.raw_shape());
    Tensor all = at.take(arange(n).reshape(x.raw_shape())).reshape({-1});
    order = argsort(all, 0);
    back = argsort(order, 0);
    place = gather(all, 0, order);
  }
  Tensor sorted = gather(u.reshape({-1}), 0, order);
  return gather(product_of_others(sorted, place), 0, back).reshape(u.raw_shape());
}

// The product without one factor is the whole product divided by it. An update's gradient is 0 if
// another update of the same destination is 0.
template <class At>
void product_gradient(GradCtx& c, const At& at) {
  Tensor x = c.in(0), u = c.in(2), g = c.g();
  if (c.needs(0)) c.set(0, g * at.scatter(ones_like(x), u, How::kMul));
  if (!c.needs(2)) return;
  if (grad_enabled() && numel(u.raw_shape()) != 0)  // will be differentiated: products only
    return c.set(2, at.take(g * x) * other_updates(at, x, u));
  Tensor zero = zero_like(u), one = full({}, 1, u.dtype());
  Tensor is_zero = eq(u, 0), factors = where(is_zero, one, u);
  Tensor product = at.take(g * at.scatter(x, factors, How::kMul));
  Tensor zeros_there = at.take(at.scatter(zeros_like(x), where(is_zero, one, zero), How::kAdd));
  Tensor others_zero = gt(zeros_there, where(is_zero, one, zero));
  c.set(2, where(others_zero, zero, product / factors));
}

template <class At>
void scatter_gradient(GradCtx& c, const At& at, How how) {
  if (how == How::kMul) return product_gradient(c, at);
  if (how == How::kMax || how == How::kMin) return extreme_gradient(c, at, how);
  if (c.needs(0)) {
    bool add = how == How::kAdd;
    c.set(0, add ? c.g() : at.scatter(c.g(), zeros(c.in_shape(2), c.in_dtype(2)), How::kNone));
  }
  if (c.needs(2)) c.set(2, at.take(c.g()));
}

void elements_gradient(GradCtx& c) {
  const auto& a = c.attrs<ScatterAttrs>();
  scatter_gradient(c, Elements{a.axis, c.in(1)}, static_cast<How>(a.reduction));
}
void lines_gradient(GradCtx& c) {
  scatter_gradient(c, Lines{c.in(1)}, static_cast<How>(c.attrs<ScatterNDAttrs>().reduction));
}

// For sums only the indices are saved: x and the updates may be written to afterwards.
template <void (*formula)(GradCtx&)>
const GradRow* row_for(int64_t how) {
  static constexpr GradRow kIndices = {formula, 2, 0, 2}, kEverything = {formula, 7, 0, 2};
  return how > static_cast<int64_t>(How::kAdd) ? &kEverything : &kIndices;
}

}  // namespace

WICK_GRAD_BY_ATTRS(
    ScatterElements, 7, 0, 2,
    [](const void* attrs) {
      return row_for<elements_gradient>(static_cast<const ScatterAttrs*>(attrs)->reduction);
    },
    elements_gradient);
WICK_GRAD_BY_ATTRS(
    ScatterND, 7, 0, 2,
    [](const void* attrs) {
      return row_for<lines_gradient>(static_cast<const ScatterNDAttrs*>(attrs)->reduction);
    },
    lines_gradient);

}  // namespace wick
