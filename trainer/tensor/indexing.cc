#include "trainer/tensor/indexing.h"

#include <algorithm>

#include "trainer/tensor/index_place.h"
#include "trainer/tensor/inplace.h"
#include "trainer/tensor/lines.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops/index.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

using indexing::Place;
using indexing::place_of;
using indexing::resolve;

bool adjacent(const std::vector<int>& dims) {
  return dims.back() - dims.front() + 1 == static_cast<int>(dims.size());
}

Tensor permuted(const Tensor& x, const std::vector<int>& to, const Where& where) {
  TransposeAttrs a;
  bool moves = false;
  for (int d : to) {
    moves = moves || d != static_cast<int>(a.perm.count);
    a.perm.values[a.perm.count++] = d;
  }
  return moves ? call(OpId::kTranspose, a, {{x, where}}) : x;
}

std::vector<int> indexed_first(const std::vector<int>& dims, int rank) {
  std::vector<int> order = dims;
  for (int d = 0; d < rank; ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  return order;
}

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> back(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int>(i);
  return back;
}

// Orders [b.., rest..] as rest[0 .. lead), b.., rest[lead ..): the dims of adjacent index tensors
// stay in their place.
std::vector<int> into_place(int lead, int b, int rank) {
  std::vector<int> order;
  for (int i = 0; i < lead; ++i) order.push_back(b + i);
  for (int i = 0; i < b; ++i) order.push_back(i);
  for (int i = b + lead; i < rank; ++i) order.push_back(i);
  return order;
}

// How many dims come before the index's own in the result.
int leading(const std::vector<int>& dims) { return adjacent(dims) ? dims.front() : 0; }

Tensor tuples(const Place& p, const std::vector<int>& dims) {
  std::vector<Tensor> columns;
  for (int d : dims) columns.push_back(p.tensors[static_cast<size_t>(d)].unsqueeze(-1, p.where));
  return columns.size() == 1 ? columns[0] : cat(columns, -1, p.where);
}

Tensor get(const Tensor& x, Place p) {
  std::vector<int> dims = p.indexed();
  if (dims.empty()) return p.view.is_same(x) ? view_of_all(x, p.where) : p.view;
  Shape common = resolve(p);
  dims = p.indexed();
  if (dims.size() == 1) {
    return call(OpId::kGather, AxisAttrs{dims[0]},
                {{p.view, p.where}, p.tensors[static_cast<size_t>(dims[0])]});
  }
  Tensor lines = permuted(p.view, indexed_first(dims, p.view.rank()), p.where);
  Tensor y = call(OpId::kGatherND, GatherNDAttrs{}, {{lines, p.where}, tuples(p, dims)});
  return permuted(y, into_place(leading(dims), common.rank(), y.rank()), p.where);
}

// Converts `value` to x's dtype and to a shape that broadcasts to the written one.
Tensor fitted(const Place& p, const Tensor& value, const Shape& want) {
  Tensor v = value.to(p.view.dtype(), p.where);
  while (v.rank() > want.rank() && v.raw_shape()[0] == 1) v = v.squeeze(0, p.where);
  bool fits = v.rank() <= want.rank();
  for (int i = 1; fits && i <= v.rank(); ++i) {
    int64_t n = v.raw_shape()[v.rank() - i];
    fits = n == 1 || n == want[want.rank() - i];
  }
  if (!fits) {
    throw_error(p.op,
                std::string("a value of shape ") + to_text(value.raw_shape()).text +
                    " does not broadcast to the indexed shape " + to_text(want).text,
                p.where, Code::kShapeMismatch);
  }
  return v;
}
Tensor spread(const Place& p, const Tensor& value, const Shape& want) {
  Tensor v = fitted(p, value, want);
  return v.raw_shape() == want ? v : v.expand(want, p.where);
}

struct Update {
  Tensor lines, at, values;  // inputs of ScatterND
  std::vector<int> order;    // order of the view's dims in lines
  ScatterNDAttrs attrs;
};

Update update_of(Place& p, const Tensor& value, bool accumulate) {
  Shape common = resolve(p), want;
  std::vector<int> dims = p.indexed();
  Update u;
  u.order = indexed_first(dims, p.view.rank());
  u.lines = permuted(p.view, u.order, p.where);
  for (int64_t n : common) want.push_back(n);
  for (int i = static_cast<int>(dims.size()); i < u.lines.rank(); ++i)
    want.push_back(u.lines.raw_shape()[i]);
  std::vector<int> place = into_place(leading(dims), common.rank(), want.rank());
  Shape shown;
  for (int i : place) shown.push_back(want[i]);
  u.values = permuted(spread(p, value, shown), inverse(place), p.where);
  u.at = tuples(p, dims);
  u.attrs.reduction =
      static_cast<int64_t>(accumulate ? ScatterReduction::kAdd : ScatterReduction::kNone);
  return u;
}

// Returns the view with the elements replaced.
Tensor replaced(Place p, const Tensor& value, bool accumulate) {
  if (p.mask >= 0 && value.rank() == 0) {  // keeps the shape, so it can be captured
    Tensor m = p.tensors[static_cast<size_t>(p.mask)].to(DType::kBool);
    AxesAttrs behind;  // dims of the view after the mask's; those before it are broadcast
    for (int i = p.mask + m.rank(); i < p.view.rank(); ++i)
      behind.axes.values[behind.axes.count++] = i - p.mask;
    if (!behind.axes.empty()) m = call(OpId::kUnsqueeze, behind, {{m, p.where}});
    Tensor v = value.to(p.view.dtype(), p.where);
    if (accumulate) v = add({p.view, p.where}, v);
    return where(m, v, {p.view, p.where});
  }
  Update u = update_of(p, value, accumulate);
  Tensor y = call(OpId::kScatterND, u.attrs, {{u.lines, p.where}, u.at, u.values});
  return permuted(y, inverse(u.order), p.where);
}

// Returns whether nothing observes the write: no recording, no tangents, no tracer, no watcher.
bool unobserved(const Tensor& x, const Tensor& value) {
  if (active_tracer() != nullptr || modes().watcher != nullptr || modes().forward != 0)
    return false;
  return !grad_enabled() ||
         !(x.requires_grad() || value.requires_grad() || history_root(x.impl())->requires_grad);
}

// Writes directly into x's bytes, if the indexed dims are first. Returns false if nothing was done.
bool put_bytes(Place& p, const Tensor& value, bool accumulate) {
  Update u = update_of(p, value, accumulate);
  if (!u.lines.is_contiguous()) return false;
  Tensor values = u.values.contiguous(p.where), tuple = u.at.contiguous(p.where);
  for (const Tensor& t : {values, tuple})
    if (t.impl()->storage == p.view.impl()->storage) return false;
  if (Recorder* r = modes().recorder) [[unlikely]] {
    for (const Tensor* t : {&u.lines, &tuple, &values}) r->on_tensor(*t);
  }
  TensorView in[] = {u.lines.layout(), tuple.layout(), values.layout()}, out[] = {u.lines.layout()};
  if (!run_kernel(OpId::kScatterND, &u.attrs, in, out, p.where, kInPlace)) return false;
  p.view.storage().bump_version(p.op, p.where);
  return true;
}

void put(const Tensor& x, const Indices& at, const Tensor& value, bool accumulate,
         const Where& where) {
  Place p = place_of("index_put_", x, at, where);
  if (p.indexed().empty()) {
    Tensor v = fitted(p, value, p.view.raw_shape());  // the write broadcasts: no size is baked in
    if (accumulate)
      p.view.add_(v, 1, where);
    else
      p.view.copy_(v, where);
    return;
  }
  bool by_mask = p.mask >= 0 && value.rank() == 0;
  if (!by_mask && unobserved(x, value)) {
    check_writable(p.op, p.view, where);
    Place copy = p;
    if (put_bytes(copy, value, accumulate)) return;
  }
  in_place(p.op, {p.view, where}, [&](const Arg& view) {
    Place q = p;
    q.view = view.tensor;
    return replaced(q, value, accumulate);
  });
}

}  // namespace

TensorIndex::TensorIndex(const char* t, Where w) : kind(Kind::kEllipsis), where(w) {
  if (t == nullptr || std::string(t) != "...")
    throw_error("index", "the only text that can stand in an index is \"...\"", w);
}

Tensor Tensor::index(const std::vector<TensorIndex>& at, Where where) const {
  need("index", where);
  return get(*this, place_of("index", *this, at, where));
}

IndexedTensor Tensor::operator[](const TensorIndex& at) const {
  Indices one{at};
  return {index(one, at.where), IndexPlace(*this, one, at.where)};
}
IndexedTensor Tensor::operator[](std::initializer_list<TensorIndex> at) const {
  Where where = at.size() == 0 ? Where::current() : at.begin()->where;
  Indices all(at);
  return {index(all, where), IndexPlace(*this, all, where)};
}
IndexPlace Tensor::at(const std::vector<TensorIndex>& at, Where where) const {
  need("at", where);
  return {*this, at, where};
}

const Tensor& Tensor::index_put_(const std::vector<TensorIndex>& at, const Tensor& value,
                                 bool accumulate, Where where) const {
  need("index_put_", where);
  put(*this, at, value, accumulate, where);
  return *this;
}
const Tensor& Tensor::index_put_(const std::vector<TensorIndex>& at, Scalar value, bool accumulate,
                                 Where where) const {
  need("index_put_", where);
  put(*this, at, number(value, dtype()), accumulate, where);
  return *this;
}

Tensor index_put(const Arg& x, const Indices& at, const Arg& value, bool accumulate) {
  Place p = place_of("index_put", x.tensor, at, x.where);
  if (p.view.is_same(x.tensor) && !p.indexed().empty())
    return replaced(p, value.tensor, accumulate);
  // a part of x: by the indices of its elements in flattened x
  Tensor flat = x.tensor.reshape({-1}, x.where), places;
  {
    NoGrad guard;
    Tensor all = arange(flat.numel()).reshape(x.tensor.raw_shape());
    places = all.index(at, x.where);
  }
  Tensor v = spread(p, value.tensor, places.raw_shape());
  ScatterNDAttrs a{
      static_cast<int64_t>(accumulate ? ScatterReduction::kAdd : ScatterReduction::kNone)};
  Tensor y = call(OpId::kScatterND, a,
                  {{flat, x.where}, places.reshape({-1, 1}), v.reshape({-1}, x.where)});
  return y.reshape(x.tensor.raw_shape(), x.where);
}

template <class F>
void IndexPlace::update(F&& f) const {
  Place p = place_of("index_put_", base_, at_, where_);
  if (p.indexed().empty()) {
    in_place("index_put_", {p.view, where_}, f);
    return;
  }
  base_.index_put_(at_, f({get(), where_}), false, where_);
}

void IndexPlace::operator=(const Arg& value) const {
  base_.index_put_(at_, value.tensor, false, where_);
}
void IndexPlace::operator=(Scalar value) const { base_.index_put_(at_, value, false, where_); }
void IndexPlace::operator=(std::initializer_list<double> values) const {
  *this = tensor(std::vector<double>(values));
}
void IndexPlace::operator+=(const Arg& value) const {
  update([&](const Arg& t) { return t + value; });
}
void IndexPlace::operator-=(const Arg& value) const {
  update([&](const Arg& t) { return t - value; });
}
void IndexPlace::operator*=(const Arg& value) const {
  update([&](const Arg& t) { return t * value; });
}
void IndexPlace::operator/=(const Arg& value) const {
  update([&](const Arg& t) { return t / value; });
}
void IndexPlace::operator+=(Scalar value) const {
  update([&](const Arg& t) { return t + value; });
}
void IndexPlace::operator-=(Scalar value) const {
  update([&](const Arg& t) { return t - value; });
}
void IndexPlace::operator*=(Scalar value) const {
  update([&](const Arg& t) { return t * value; });
}
void IndexPlace::operator/=(Scalar value) const {
  update([&](const Arg& t) { return t / value; });
}

}  // namespace wick
