#include "trainer/tensor/indexing.h"

#include <algorithm>

#include "trainer/tensor/inplace.h"
#include "trainer/tensor/lines.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops/index.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

using Kind = TensorIndex::Kind;

bool is_mask(const Tensor& t) { return t.dtype() == DType::kBool || t.dtype() == DType::kU8; }

std::string text(const Shape& s) { return to_text(s).text; }

[[noreturn]] void out_of_bounds(const char* op, int64_t at, int dim, int64_t size,
                                const Where& where) {
  throw_error(op,
              "index " + std::to_string(at) + " is out of bounds for dimension " +
                  std::to_string(dim) + " with size " + std::to_string(size),
              where);
}

// The view that ints, slices and Nones make of x, and the tensors that index its dims.
struct Place {
  Tensor view;
  std::vector<Tensor> tensors;  // one a dim of the view; undefined: all of it
  std::vector<int> source;      // which dim of x, for messages
  int mask = -1;                // the dim of the only tensor, where that is a mask
  const char* op;
  Where where;

  std::vector<int> indexed() const {
    std::vector<int> dims;
    for (size_t d = 0; d < tensors.size(); ++d) {
      if (tensors[d].defined()) dims.push_back(static_cast<int>(d));
    }
    return dims;
  }
};

int dims_taken(const TensorIndex& i) {
  switch (i.kind) {
    case Kind::kInt:
    case Kind::kSlice: return 1;
    case Kind::kTensor:  // index() refuses an undefined one
      return i.tensor.defined() && is_mask(i.tensor) ? i.tensor.rank() : 1;
    default: return 0;
  }
}

// Walks the entries, keeping `view` and the dim they have come to.
class Walk {
 public:
  Walk(const char* op, const Tensor& x, const Indices& at, const Where& where) {
    place_.view = x;
    place_.op = op;
    place_.where = where;
    int taken = 0, dots = 0;
    for (const TensorIndex& i : at) {
      taken += dims_taken(i);
      dots += i.kind == Kind::kEllipsis ? 1 : 0;
    }
    if (dots > 1) fail("an index can have one Ellipsis only");
    if (taken > x.rank()) {
      fail("too many indices (" + std::to_string(taken) + ") for a tensor of dimension " +
           std::to_string(x.rank()) + ", " + text(x.raw_shape()));
    }
    skipped_ = x.rank() - taken;
    for (const TensorIndex& i : at) step(i);
    skip(x.rank() - source_);
    place_.tensors.resize(static_cast<size_t>(place_.view.rank()));
  }
  Place take() { return std::move(place_); }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw_error(place_.op, what, place_.where);
  }

  void skip(int dims) {
    for (int i = 0; i < dims; ++i) keep(source_++);
  }
  void keep(int source) {
    place_.source.push_back(source);
    place_.tensors.resize(place_.source.size());
    ++dim_;
  }

  void step(const TensorIndex& i) {
    Tensor& v = place_.view;
    const Where& where = place_.where;
    switch (i.kind) {
      case Kind::kInt: return select(i.number);
      case Kind::kSlice: {
        int64_t start = i.slice.start.value_or(0), stop = i.slice.stop.value_or(INT64_MAX);
        int64_t by = i.slice.step.value_or(1);
        if (by <= 0)
          fail("the step of a slice must be positive, got " + std::to_string(by) +
               ": flip() reverses a dimension");
        if (start != 0 || stop != INT64_MAX || by != 1) v = v.slice(dim_, start, stop, by, where);
        return keep(source_++);
      }
      case Kind::kEllipsis: return skip(skipped_);
      case Kind::kNone: v = v.unsqueeze(dim_, where); return keep(-1);
      case Kind::kBool: return flag(i.number != 0);
      case Kind::kTensor: return index(i.tensor);
    }
  }

  void select(int64_t at) {
    int64_t n = place_.view.raw_shape()[dim_];
    if (at < -n || at >= n) out_of_bounds(place_.op, at, source_, n, place_.where);
    place_.view = place_.view.select(dim_, at, place_.where);
    ++source_;
  }

  // x[true] is x with a dim of 1 in front, x[false] with a dim of 0; both count as index tensors.
  void flag(bool on) {
    place_.view = place_.view.unsqueeze(dim_, place_.where);
    keep(-1);
    place_.tensors.back() = zeros({on ? 1 : 0}, DType::kI64);
    ++advanced_;
    place_.mask = -1;
  }

  void index(const Tensor& t) {
    if (!t.defined()) fail("an index tensor is undefined");
    if (is_mask(t)) return mask(t);
    if (t.dtype() != DType::kI64 && t.dtype() != DType::kI32) {
      fail(std::string("index tensors must be int64, int32, uint8 or bool, got ") +
           dtype_name(t.dtype()) + ": call .to(DType::kI64)");
    }
    if (t.rank() == 0) {  // an int; under capture one that is read when running
      if (active_tracer() == nullptr)
        return select(t.dtype() == DType::kI64 ? *t.raw().as<int64_t>() : *t.raw().as<int32_t>());
      place_.view = call(OpId::kGather, AxisAttrs{dim_}, {{place_.view, place_.where}, t});
      ++source_;
      return;
    }
    check_bounds(t);
    keep(source_++);
    place_.tensors.back() = t;
    ++advanced_;
    place_.mask = -1;
  }

  void check_bounds(const Tensor& t) {
    int64_t n = place_.view.raw_shape()[dim_];
    Tensor c = t;
    if (!t.is_contiguous()) {
      NoGrad guard;
      TracerScope untraced(nullptr);
      c = t.contiguous(place_.where);
    }
    for (int64_t k = 0, count = c.raw().numel(); k < count; ++k) {
      int64_t at = c.dtype() == DType::kI64 ? c.raw().as<int64_t>()[k] : c.raw().as<int32_t>()[k];
      if (at < -n || at >= n) out_of_bounds(place_.op, at, source_, n, place_.where);
    }
  }

  void mask(const Tensor& t) {
    const Shape& s = place_.view.raw_shape();
    if (t.rank() == 0) {
      refuse_capture(place_.op, place_.where);
      return flag(t.raw().as<uint8_t>()[0] != 0);
    }
    for (int d = 0; d < t.rank(); ++d) {
      if (t.raw_shape()[d] == s[dim_ + d]) continue;
      fail("the shape of the mask " + text(t.raw_shape()) + " at dimension " + std::to_string(d) +
           " does not match the shape of the indexed tensor " + text(s) + " at dimension " +
           std::to_string(dim_ + d));
    }
    place_.mask = advanced_ == 0 ? dim_ : -1;
    for (int d = 0; d < t.rank(); ++d) keep(source_++);
    // where it ends: mask_columns() makes index tensors of it
    place_.tensors[place_.tensors.size() - static_cast<size_t>(t.rank())] = t;
    ++advanced_;
  }

  Place place_;
  int dim_ = 0, source_ = 0, skipped_ = 0, advanced_ = 0;
};

// Masks become the indices of their true elements; then all tensors broadcast, as int64.
// Returns their common shape.
Shape resolve(Place& p) {
  for (size_t d = 0; d < p.tensors.size(); ++d) {
    Tensor t = p.tensors[d];
    if (!t.defined() || !is_mask(t)) continue;
    refuse_capture(p.op, p.where);
    NoGrad guard;
    Tensor places = call(OpId::kNonZero, NoAttrs{}, {{t, p.where}});
    for (int k = 0; k < t.rank(); ++k)
      p.tensors[d + static_cast<size_t>(k)] = places.select(0, k, p.where);
  }
  Shape common;
  std::vector<int> dims = p.indexed();
  auto at = [&](int d) -> Tensor& { return p.tensors[static_cast<size_t>(d)]; };
  for (int d : dims) {
    Shape s = at(d).raw_shape(), wider;
    int rank = std::max(common.rank(), s.rank());
    for (int i = 0; i < rank; ++i) {
      int a = i - (rank - common.rank()), b = i - (rank - s.rank());
      int64_t n = a < 0 ? 1 : common[a], m = b < 0 ? 1 : s[b];
      if (n != m && n != 1 && m != 1) {
        throw_error(p.op,
                    "index tensors of shapes " + text(common) + " and " + text(s) +
                        " do not broadcast together",
                    p.where, Code::kShapeMismatch);
      }
      wider.push_back(n == 1 ? m : n);
    }
    common = wider;
  }
  const int rank = common.rank() + p.view.rank() - static_cast<int>(dims.size());
  if (rank > kMaxRank) {
    throw_error(p.op,
                "index tensors of shape " + text(common) + " in a tensor of shape " +
                    text(p.view.raw_shape()) + " make " + std::to_string(rank) +
                    " dimensions; at most " + std::to_string(kMaxRank) + " are supported",
                p.where, Code::kShapeMismatch);
  }
  for (int d : dims) {
    if (dims.size() > 1) at(d) = at(d).to(DType::kI64, p.where);
    if (!(at(d).raw_shape() == common)) at(d) = at(d).expand(common, p.where);
  }
  return common;
}

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

// [b.., rest..] -> rest[0 .. lead), b.., rest[lead ..): adjacent index tensors stand in their
// place.
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

Tensor get(Place p) {
  std::vector<int> dims = p.indexed();
  if (dims.empty()) return p.view;
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

// `value` as the dtype of x, of a shape that broadcasts to the one that is written.
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
                "a value of shape " + text(value.raw_shape()) +
                    " does not broadcast to the indexed shape " + text(want),
                p.where, Code::kShapeMismatch);
  }
  return v;
}
Tensor spread(const Place& p, const Tensor& value, const Shape& want) {
  Tensor v = fitted(p, value, want);
  return v.raw_shape() == want ? v : v.expand(want, p.where);
}

struct Update {
  Tensor lines, at, values;  // ScatterND's inputs
  std::vector<int> order;    // of the view's dims in lines
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

// The view with the elements replaced.
Tensor replaced(Place p, const Tensor& value, bool accumulate) {
  if (p.mask >= 0 && value.rank() == 0) {  // keeps its shape: it can be captured
    Tensor m = p.tensors[static_cast<size_t>(p.mask)].to(DType::kBool);
    AxesAttrs behind;  // dims of the view; those before the mask's are broadcast
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

// Nobody has to hear of the write: no tape, no tangents, no tracer, no watcher.
bool unobserved(const Tensor& x, const Tensor& value) {
  if (active_tracer() != nullptr || modes().watcher != nullptr || modes().forward != 0)
    return false;
  return !grad_enabled() ||
         !(x.requires_grad() || value.requires_grad() || history_root(x.impl())->requires_grad);
}

// Straight into x's bytes, where the indexed dims lead. False: nothing was done.
bool put_bytes(Place& p, const Tensor& value, bool accumulate) {
  Update u = update_of(p, value, accumulate);
  if (!u.lines.is_contiguous()) return false;
  Tensor values = u.values.contiguous(p.where), tuple = u.at.contiguous(p.where);
  for (const Tensor& t : {values, tuple})
    if (t.impl()->storage == p.view.impl()->storage) return false;
  TensorView in[] = {u.lines.raw(), tuple.raw(), values.raw()}, out[] = {u.lines.raw()};
  if (!run_kernel(OpId::kScatterND, &u.attrs, in, out, p.where, kInPlace)) return false;
  p.view.storage().bump_version(p.op, p.where);
  return true;
}

void put(const Tensor& x, const Indices& at, const Tensor& value, bool accumulate,
         const Where& where) {
  Place p = Walk("index_put_", x, at, where).take();
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
  return get(Walk("index", *this, at, where).take());
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
  Place p = Walk("index_put", x.tensor, at, x.where).take();
  if (p.view.is_same(x.tensor) && !p.indexed().empty())
    return replaced(p, value.tensor, accumulate);
  // a part of x: by the flat positions of its elements
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
  Place p = Walk("index_put_", base_, at_, where_).take();
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
