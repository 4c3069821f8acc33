#include "trainer/tensor/ops/pointwise.h"
#include "trainer/tensor/promote.h"

namespace wick {
namespace {

Tensor cat_pointers(Span<const Tensor* const> in, int dim, const Where& where) {
  if (in.empty()) throw_error("cat", "needs at least one tensor", where);
  AxisAttrs a{dim};
  Tensor out;
  DType common = DType::kNone;
  bool alike = true, vectors = true, nothing = false;
  for (size_t i = 0; i < in.size(); ++i) {
    const Tensor* t = in[i];
    if (!t->defined())
      throw_error("cat",
                  "the tensor at place " + std::to_string(i) + " is undefined: it was never made",
                  where);
    const DType before = common;
    common = before == DType::kNone ? t->dtype() : promote_types(before, t->dtype(), where);
    alike = alike && (before == DType::kNone || t->dtype() == before);
    vectors = vectors && t->rank() == 1;
    nothing = nothing || t->raw_shape() == Shape{0};
  }
  if (alike && (vectors || !nothing)) {
    call(OpId::kConcat, &a, in, {&out, 1}, where);
    return out;
  }
  // A vector without elements is accepted with any shape, like PyTorch's legacy empty tensor.
  std::vector<Tensor> cast;
  cast.reserve(in.size());
  std::vector<const Tensor*> left;
  for (const Tensor* t : in) {
    if (!vectors && t->raw_shape() == Shape{0}) continue;
    cast.push_back(t->to(common, where));
    left.push_back(&cast.back());
  }
  call(OpId::kConcat, &a, left, {&out, 1}, where);
  return out;
}

}  // namespace

Tensor cat(std::initializer_list<Arg> tensors, int dim) {
  std::vector<const Tensor*> in;
  for (const Arg& a : tensors) in.push_back(&a.tensor);
  return cat_pointers(in, dim, tensors.size() > 0 ? tensors.begin()->where : Where::current());
}
Tensor cat(const std::vector<Tensor>& tensors, int dim, Where where) {
  std::vector<const Tensor*> in;
  for (const Tensor& t : tensors) in.push_back(&t);
  return cat_pointers(in, dim, where);
}
Tensor stack(const std::vector<Tensor>& tensors, int dim, Where where) {
  if (tensors.empty()) throw_error("stack", "needs at least one tensor", where);
  std::vector<Tensor> raised;
  for (const Tensor& t : tensors) {
    if (!t.defined())
      throw_error("stack",
                  "the tensor at place " + std::to_string(raised.size()) +
                      " is undefined: it was never made",
                  where);
    const Shape &first = tensors[0].raw_shape(where), &shape = t.raw_shape(where);
    if (!(shape == first)) {
      throw_error("stack",
                  std::string("the tensors must have one shape, got ") + to_text(first).text +
                      " and, at place " + std::to_string(raised.size()) + ", " +
                      to_text(shape).text,
                  where, Code::kShapeMismatch);
    }
    raised.push_back(t.unsqueeze(dim, where));
  }
  return cat(raised, dim, where);
}

std::vector<Tensor> split(const Arg& x, SizeArg split_size, int dim) {
  int d = wrap_dim("split", dim, x.tensor.rank(), x.where);
  int64_t n = x.tensor.raw_shape()[d];
  if (split_size < 1) throw_error("split", "split_size must be >= 1", x.where);
  std::vector<Tensor> parts;
  for (int64_t at = 0; at < n || parts.empty(); at += split_size) {  // of nothing one part
    parts.push_back(x.tensor.slice(d, at, std::min(n, at + split_size), 1, x.where));
  }
  return parts;
}
std::vector<Tensor> split(const Arg& x, std::initializer_list<SizeArg> sizes, int dim) {
  return split_with_sizes(x, SizeList(sizes), dim);
}
std::vector<Tensor> split(const Arg& x, const Shape& sizes, int dim) {
  return split_with_sizes(x, sizes, dim);
}

Tensor pad(const Arg& x, std::initializer_list<SizeArg> pads, double value) {
  int rank = x.tensor.rank(), dims = static_cast<int>(pads.size() / 2);
  if (pads.size() % 2 != 0 || dims > rank) {
    throw_error("pad", "needs two values a dimension, at most " + std::to_string(2 * rank),
                x.where);
  }
  PadAttrs a;
  a.value = value;
  a.pads.count = 2 * rank;
  const SizeArg* p = pads.begin();
  for (int i = 0; i < dims; ++i) {
    a.pads.values[rank - 1 - i] = p[2 * i];
    a.pads.values[2 * rank - 1 - i] = p[2 * i + 1];
  }
  return call(OpId::kPad, a, {x});
}

Tensor gather(const Arg& x, int dim, const Arg& index) {
  return call(OpId::kGatherElements, AxisAttrs{dim}, {x, index});
}
Tensor index_select(const Arg& x, int dim, const Arg& index) {
  if (x.tensor.defined() && x.tensor.rank() == 0) {  // one element, along a dim of its own
    if (index.tensor.raw_shape().rank() > 0 && index.tensor.layout().numel() != 1)
      throw_error("index_select", "a tensor of rank 0 has one element: give one index", x.where,
                  Code::kShapeMismatch);
    Tensor line = x.tensor.reshape({1}, x.where);
    return index_select({line, x.where}, dim, index).reshape(Shape{}, x.where);
  }
  return call(OpId::kGather, AxisAttrs{dim}, {x, index});
}
Tensor scatter_add(const Arg& x, int dim, const Arg& index, const Arg& source) {
  Composite composite("scatter_add", x.where);
  // Of a source that is larger only the part that has indices is added, as PyTorch does.
  Tensor part = source.tensor;
  const Shape& places = index.tensor.raw_shape();
  for (int d = 0; d < part.rank() && part.rank() == places.rank(); ++d)
    if (places[d] < part.raw_shape()[d]) part = part.slice(d, 0, places[d], 1, x.where);
  return call(OpId::kScatterElements,
              ScatterAttrs{dim, static_cast<int64_t>(ScatterReduction::kAdd)},
              {x, index, {part, source.where}});
}

}  // namespace wick
