#include "trainer/autograd/grad/common.h"
#include "trainer/autograd/grad/others.h"

namespace wick {
namespace {

bool reduces(const GradCtx& c, int dim) {
  const auto& a = c.attrs<ReduceAttrs>();
  if (c.has(1)) throw Error("[reduce] no gradient when the axes are an input", Code::kUnsupported);
  if (a.axes.empty()) return a.noop_with_empty_axes == 0;
  for (int64_t axis : a.axes.span()) {
    if ((axis < 0 ? axis + c.in_shape(0).rank() : axis) == dim) return true;
  }
  return false;
}

// Returns the input's shape with 1 in the reduced dims.
Shape kept(const GradCtx& c) {
  Shape s = c.in_shape(0);
  for (int i = 0; i < s.rank(); ++i) s[i] = reduces(c, i) ? 1 : s[i];
  return s;
}
int64_t count(const GradCtx& c) {
  int64_t n = 1;
  for (int i = 0; i < c.in_shape(0).rank(); ++i) n *= reduces(c, i) ? c.in_shape(0)[i] : 1;
  return n;
}

// Equal maxima share the gradient, as in PyTorch's amax; so do NaNs, as in its max.
void extremum(GradCtx& c) {
  Shape s = kept(c);
  Tensor x = c.in(0);
  Tensor same = eq(x, c.out().detach().reshape(s));
  if (is_float(x.dtype())) same = logical_or(same, isnan(x));
  Tensor hit = same.to(x.dtype());
  Dims dims;
  for (int i = 0; i < s.rank(); ++i) {
    if (reduces(c, i)) dims.values[dims.count++] = i;
  }
  if (dims.empty()) return c.set(0, c.g());
  c.set(0, hit * (c.g().reshape(s) / sum(hit, dims, true)));
}

// Returns, for each element, the product of the others that are reduced with it.
Tensor others_of(const GradCtx& c, const Tensor& x, const Dims& dims) {
  const int rank = x.rank();
  Shape order, back = x.raw_shape();
  for (int i = 0; i < rank; ++i) {
    if (!reduces(c, i)) order.push_back(i);
  }
  for (int64_t d : dims.span()) order.push_back(d);
  for (int i = 0; i < rank; ++i) back[static_cast<int>(order[i])] = i;
  Tensor lines = x.permute(order);
  const Shape turned = lines.raw_shape();
  Tensor others = product_of_others(lines.reshape({numel(x.raw_shape()) / count(c), count(c)}));
  return others.reshape(turned).permute(back);
}

}  // namespace

WICK_GRAD(ReduceSum, 0, 0, 2,
          [](GradCtx& c) { c.set(0, c.g().reshape(kept(c)).expand(c.in_shape(0))); });
WICK_GRAD(ReduceMean, 0, 0, 2, [](GradCtx& c) {
  Tensor g = c.g().reshape(kept(c)) * (1.0 / static_cast<double>(count(c)));
  c.set(0, g.expand(c.in_shape(0)));
});
WICK_GRAD(ReduceMax, 1, 1, 2, extremum);
WICK_GRAD(ReduceMin, 1, 1, 2, extremum);
// The product of the others: a single zero gets the product of the rest, and with two zeros all are
// 0. If the gradient will be differentiated again, only multiplications are used.
WICK_GRAD(ReduceProd, 1, 0, 2, [](GradCtx& c) {
  Tensor x = c.in(0);
  Shape s = kept(c);
  Dims dims;
  for (int i = 0; i < s.rank(); ++i) {
    if (reduces(c, i)) dims.values[dims.count++] = i;
  }
  if (dims.empty()) return c.set(0, c.g());
  if (grad_enabled() && numel(x.raw_shape()) != 0)
    return c.set(0, c.g().reshape(s) * others_of(c, x, dims));
  Tensor is_zero = eq(x, 0), one = full({}, 1, x.dtype()), none = zero_like(x);
  Tensor safe = where(is_zero, one, x);
  Tensor rest = prod(safe, dims, true);
  Tensor zeros_here = sum(is_zero.to(x.dtype()), dims, true);
  Tensor of_zero = where(eq(zeros_here, 1), rest, none),
         of_other = where(eq(zeros_here, 0), rest, none);
  c.set(0, c.g().reshape(s) * where(is_zero, of_zero, of_other / safe));
});
WICK_NONDIFF(ArgMax, NonDiff::kIntegerOutput);
WICK_NONDIFF(ArgMin, NonDiff::kIntegerOutput);

}  // namespace wick
