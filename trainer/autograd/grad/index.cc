#include "trainer/autograd/grad/common.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

Tensor add_at(const Tensor& x, const Tensor& indices, const Tensor& updates) {
  return call(OpId::kScatterND, ScatterNDAttrs{static_cast<int64_t>(ScatterReduction::kAdd)},
              {x, indices, updates});
}

[[noreturn]] void no_gradient(const char* op, const char* what) {
  throw Error(std::string("[") + op + "] no gradient " + what, Code::kUnsupported);
}

Tensor cumulate(OpId op, const Tensor& x, CumulateAttrs a) { return call(op, a, {x}); }

// Returns positions 0..n-1 along dim `dim` of a tensor of rank `rank` whose other dims are 1.
Tensor positions(int64_t n, int dim, int rank) {
  Shape line;
  for (int i = 0; i < rank; ++i) line.push_back(i == dim ? n : 1);
  return arange(n).reshape(line);
}

bool any_zero(const Tensor& x) {
  NoGrad guard;
  return amax(eq(x, 0)).item() != 0;
}

// dx_k = sum over j >= k of g_j * (product of x_i, i <= j, without x_k). If no x is 0 that is a
// running sum of g y over x; otherwise each k has its own product, with a 1 in place k.
Tensor cumprod_gradient(const Tensor& g, const Tensor& x, const Tensor& y, CumulateAttrs a, int d) {
  CumulateAttrs back = a;
  back.reverse = a.reverse != 0 ? 0 : 1;
  if (numel(x.raw_shape()) == 0) return zeros_like(x);
  if (!any_zero(x)) return cumulate(OpId::kCumSum, g * y, back) / x;
  int rank = x.rank();
  int64_t n = x.raw_shape()[d];
  // [k, ...x's dims]: line k is x with its k-th element replaced by 1
  Shape wide{n};
  for (int64_t e : x.raw_shape()) wide.push_back(e);
  Tensor k = positions(n, 0, rank + 1), i = positions(n, d + 1, rank + 1);
  CumulateAttrs product = a;
  product.axis = d + 1;
  Tensor without = where(eq(k, i), ones({}, x.dtype()), x.unsqueeze(0).expand(wide));
  Tensor products = cumulate(OpId::kCumProd, without, product);
  // y_j depends on x_k for j >= k (j > k when exclusive), counted from the end when reversed
  Tensor reaches = a.reverse != 0 ? (a.exclusive != 0 ? lt(i, k) : le(i, k))
                                  : (a.exclusive != 0 ? gt(i, k) : ge(i, k));
  Tensor part = where(reaches, g.unsqueeze(0) * products, zeros({}, x.dtype()));
  Tensor each = sum(part, {d + 1});  // [k, ...x's dims without d]
  if (rank == 1) return each;
  TransposeAttrs t;  // k moves to place d
  for (int at = 0, from = 1; at < rank; ++at) t.perm.values[t.perm.count++] = at == d ? 0 : from++;
  return call(OpId::kTranspose, t, {each});
}

}  // namespace

WICK_GRAD(GatherND, 2, 0, 2, [](GradCtx& c) {
  int batch = static_cast<int>(c.attrs<GatherNDAttrs>().batch_dims);
  Tensor indices = c.in(1);
  if (batch > 0) {  // the batch indices come first in each tuple
    std::vector<Tensor> columns;
    Shape one = indices.raw_shape();
    one[one.rank() - 1] = 1;
    for (int i = 0; i < batch; ++i) columns.push_back(positions(one[i], i, one.rank()).expand(one));
    columns.push_back(indices.to(DType::kI64));
    indices = cat(columns, -1);
  }
  c.set(0, add_at(zeros_of(c, 0), indices, c.g()));
});

WICK_NONDIFF(If, NonDiff::kControlFlow);
WICK_NONDIFF(Loop, NonDiff::kControlFlow);
WICK_NONDIFF(Range, NonDiff::kIntegerOutput);
WICK_NONDIFF(NonMaxSuppression, NonDiff::kIntegerOutput);
WICK_NONDIFF(NonZero, NonDiff::kIntegerOutput);
WICK_NONDIFF(Unique, NonDiff::kSizeFromData);

WICK_GRAD(TopK, 0, 2, 2, [](GradCtx& c) {
  if (!c.g(0).defined()) return;
  c.set(0,
        scatter_add(zeros_of(c, 0), static_cast<int>(c.attrs<TopKAttrs>().axis), c.out(1), c.g(0)));
});

WICK_GRAD(CumSum, 0, 0, 2, [](GradCtx& c) {
  if (c.has(1)) no_gradient("cumsum", "when the axis is an input");
  CumulateAttrs a = c.attrs<CumulateAttrs>();
  a.reverse = a.reverse != 0 ? 0 : 1;
  c.set(0, cumulate(OpId::kCumSum, c.g(), a));
});

WICK_GRAD(CumProd, 1, 1, 2, [](GradCtx& c) {
  if (c.has(1)) no_gradient("cumprod", "when the axis is an input");
  CumulateAttrs a = c.attrs<CumulateAttrs>();
  int rank = c.in_shape(0).rank();
  a.axis = a.axis < 0 ? a.axis + rank : a.axis;
  c.set(0, cumprod_gradient(c.g(), c.in(0), c.out(), a, static_cast<int>(a.axis)));
});

WICK_GRAD(Trilu, 0, 0, 2, [](GradCtx& c) {
  if (c.has(1)) no_gradient("trilu", "when k is an input");
  c.set(0, call(OpId::kTrilu, c.attrs<TriluAttrs>(), {c.g()}));
});

}  // namespace wick
