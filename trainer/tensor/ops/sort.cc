#include "trainer/tensor/ops/sort.h"

#include <algorithm>
#include <cmath>

#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/lines.h"
#include "trainer/tensor/ops/line_places.h"
#include "trainer/tensor/ops/pointwise.h"
#include "trainer/tensor/promote.h"

namespace wick {
namespace {

// the kernels have no order for bool
Tensor ordered(const Tensor& x) { return x.dtype() == DType::kBool ? x.to(DType::kU8) : x; }

ValuesIndices top(const Line& line, int64_t k, bool largest, bool sorted) {
  TopKAttrs a{k, line.dim, largest ? 1 : 0, sorted ? 1 : 0};
  Tensor x = ordered(line.x), out[2];
  const Tensor* in[] = {&x};
  call(OpId::kTopK, &a, in, out, line.where);
  return {out[0].to(line.x.dtype()), out[1]};
}

ValuesIndices whole(const Line& line, bool descending) {
  return top(line, line.size(), descending, true);
}

// Selects element at[...] of each sorted line; `at` has size 1 along the dim.
ValuesIndices pick(const Line& line, const ValuesIndices& sorted, const Tensor& at, bool keepdim) {
  return {line.reduced(gather({sorted.values, line.where}, line.dim, at), keepdim),
          line.reduced(gather({sorted.indices, line.where}, line.dim, at), keepdim)};
}

// Returns the elements at these places of their lines, and the places.
ValuesIndices at_places(const Line& line, const Tensor& at, bool keepdim) {
  return {line.reduced(gather({line.x, line.where}, line.dim, at), keepdim),
          line.reduced(at, keepdim)};
}

void need_elements(const char* op, const Line& line) {
  if (line.size() > 0) return;
  throw_error(op,
              "dimension " + std::to_string(line.dim) + " of " + to_text(line.x.raw_shape()).text +
                  " is empty: there is no element to pick",
              line.where, Code::kShapeMismatch);
}

Shape kept_shape(const Line& line) {
  Shape s = line.x.raw_shape();
  s[line.dim] = 1;
  return s;
}

// Returns the number of elements of each line that are not NaN.
Tensor count_numbers(const Line& line) {
  const Tensor x = line.x.detach(line.where);
  const Tensor is_number = eq({x, line.where}, {x, line.where});
  return sum({is_number.to(DType::kI64, line.where), line.where}, {line.dim}, true);
}

ValuesIndices median_of(const char* op, const Arg& x, int dim, bool keepdim, bool leave_nan_out) {
  Line line(op, x, dim);
  need_elements(op, line);
  if (detail::walks(line)) {
    const auto which = leave_nan_out ? detail::Rank::kNanMedian : detail::Rank::kMedian;
    return at_places(line, detail::ranked_places(line, which), keepdim);
  }
  Tensor at;
  if (floats(line.x)) {
    Tensor valid = count_numbers(line);
    // truncation turns -1 / 2 into the first element, which is NaN then
    const Where& w = line.where;
    at = call(OpId::kDiv, NoAttrs{}, {{sub({valid, w}, 1), w}, {number(2, DType::kI64), w}});
    if (!leave_nan_out) at = where({lt({valid, w}, line.size()), w}, {valid, w}, {at, w});
  } else {
    at = full(kept_shape(line), (line.size() - 1) / 2, DType::kI64);
  }
  return pick(line, whole(line, false), at, keepdim);
}

Tensor flat(const Arg& x) { return x.tensor.reshape({-1}, x.where); }

// The gradient of a median of all elements is shared by the elements equal to it.
Tensor shared_median(const char* op, const Arg& x, bool leave_nan_out) {
  Tensor v = flat(x);
  if (!floats(v) || !pointwise::differentiated(v)) {
    return median_of(op, {v, x.where}, 0, false, leave_nan_out).values;
  }
  Tensor value = median_of(op, {v.detach(), x.where}, 0, false, leave_nan_out).values;
  const bool is_nan = std::isnan(value.item(x.where));
  return amax({v.index({is_nan ? isnan(v) : eq(v, value)}, x.where), x.where});
}

Tensor nothing_to_pick(const char* op, const Arg& x) {
  if (floats(x.tensor)) return number(std::nan(""), x.tensor.dtype());
  throw_error(op, "the tensor is empty: there is no element to pick", x.where,
              Code::kShapeMismatch);
}

Tensor quantile_of(const char* op, const Arg& x, const Tensor& q, std::optional<int> dim,
                   bool keepdim, const std::string& how, bool leave_nan_out) {
  const Where& where_at = x.where;
  if (x.tensor.dtype() != DType::kF32 && x.tensor.dtype() != DType::kF64)
    throw_error(op, std::string("needs float32 or float64, got ") + dtype_name(x.tensor.dtype()),
                where_at, Code::kTypeMismatch);
  if (q.rank() > 1 || q.dtype() != x.tensor.dtype())
    throw_error(op,
                std::string("q must be a number or a vector of the input's dtype, got ") +
                    to_text(q.raw_shape()).text + " of " + dtype_name(q.dtype()),
                where_at);
  if (active_tracer() == nullptr) {
    for (double v : q.detach().to(DType::kF64).to_vector<double>()) {
      if (!(v >= 0 && v <= 1))
        throw_error(op, "q must be in [0, 1], got " + std::to_string(v), where_at);
    }
  }
  Tensor base = dim ? x.tensor : flat(x);
  Line line(op, {base, where_at}, dim.value_or(0));
  need_elements(op, line);
  // s[..., n]
  Line last(op, {line.x.transpose(line.dim, -1, where_at), where_at}, -1);
  Tensor s = whole(last, false).values, valid = count_numbers(last).to(s.dtype());
  int64_t m = q.numel();
  Tensor ranks = q.reshape({m}) * (valid - 1);  // [..., m]
  if (!leave_nan_out) {                         // a NaN is the last element, and becomes the result
    Tensor end = number(static_cast<double>(last.size() - 1), s.dtype());
    ranks = where(lt(valid, last.size()), end, ranks);
  }
  ranks = maximum(ranks, number(0, s.dtype()));
  Tensor below = floor(ranks.detach()), above = ceil(ranks.detach());
  if (how == "nearest") {
    below = above = round(ranks.detach());
  } else if (how == "lower") {
    above = below;
  } else if (how == "higher") {
    below = above;
  } else if (how != "linear" && how != "midpoint") {
    throw_error(
        op, "interpolation must be linear, lower, higher, midpoint or nearest, got '" + how + "'",
        where_at);
  }
  Tensor low = gather({s, where_at}, -1, below.to(DType::kI64)), result = low;
  if (how == "linear" || how == "midpoint") {
    Tensor high = gather({s, where_at}, -1, above.to(DType::kI64));
    Tensor weight = how == "linear" ? ranks - below : full_like(low, 0.5);
    Tensor d = high - low;
    // as torch.lerp: from the nearer end
    result = where(lt(weight, 0.5), low + weight * d, high - d * (1 - weight));
  }
  // [..., m], with the dim and the last one swapped -> [..., m, ...], with m in the dim's place. No
  // step has more dimensions than the result, as a tensor of the highest rank has none to spare.
  result = result.transpose(line.dim, -1, where_at);
  const bool keep = keepdim && !line.scalar, one = q.rank() == 0;
  if (keep && !dim) {
    Shape shape;
    if (!one) shape.push_back(m);
    for (int64_t e : ones_shape(x.tensor.rank())) shape.push_back(e);
    return result.reshape(shape, where_at);
  }
  if (one) return keep ? result : result.squeeze(line.dim, where_at);
  if (keep) return result.unsqueeze(0, where_at).transpose(0, line.dim + 1, where_at);
  return movedim(result, line.dim, 0);
}

ValuesIndices extreme(OpId op, const char* name, const Arg& x, int dim, bool keepdim) {
  Line line(name, x, dim);
  need_elements(name, line);
  Tensor at;
  {
    NoGrad guard;
    at = call(op, ArgAttrs{line.dim, 1, 0}, {{ordered(line.x), x.where}});
  }
  return at_places(line, at, keepdim);
}

// Returns whether slice i of dim 0 differs from slice i - 1, for i >= 1.
Tensor changes(const Tensor& x, const Where& where_at) {
  int64_t n = x.raw_shape()[0];
  Tensor differ = ne({x.slice(0, 1, n, 1, where_at), where_at}, x.slice(0, 0, n - 1, 1, where_at));
  if (differ.rank() == 1) return differ;
  if (differ.numel() == 0) return zeros({n - 1}, DType::kBool);
  return amax(differ.reshape({n - 1, -1}), {1});
}

}  // namespace

ValuesIndices sort(const Arg& x, int dim, bool descending, bool /*stable*/) {
  Line line("sort", x, dim);
  ValuesIndices r = whole(line, descending);
  return {line.back(r.values), line.back(r.indices)};
}
Tensor argsort(const Arg& x, int dim, bool descending, bool stable) {
  NoGrad guard;
  return sort(x, dim, descending, stable).indices;
}
Tensor msort(const Arg& x) { return sort(x, 0).values; }

ValuesIndices topk(const Arg& x, SizeArg k, int dim, bool largest, bool sorted) {
  Line line("topk", x, dim);
  if (k < 0 || k > line.size())
    throw_error("topk",
                "k = " + std::to_string(k) + " is out of range for dimension " +
                    std::to_string(line.dim) + " of " + to_text(line.x.raw_shape()).text,
                x.where);
  ValuesIndices r = top(line, k, largest, sorted);
  if (line.scalar && k == 0) return r;
  return {line.back(r.values), line.back(r.indices)};
}

ValuesIndices kthvalue(const Arg& x, SizeArg k, int dim, bool keepdim) {
  Line line("kthvalue", x, dim);
  if (k < 1 || k > line.size())
    throw_error("kthvalue",
                "k = " + std::to_string(k) + " is out of range for dimension " +
                    std::to_string(line.dim) + " of " + to_text(line.x.raw_shape()).text,
                x.where);
  if (detail::walks(line))
    return at_places(line, detail::ranked_places(line, detail::Rank::kGiven, k - 1), keepdim);
  ValuesIndices r = top(line, k, false, true);
  return {line.reduced(line.slice(r.values, k - 1, k), keepdim),
          line.reduced(line.slice(r.indices, k - 1, k), keepdim)};
}

Tensor median(const Arg& x) {
  if (x.tensor.numel() == 0) return nothing_to_pick("median", x);
  return shared_median("median", x, false);
}
ValuesIndices median(const Arg& x, int dim, bool keepdim) {
  return median_of("median", x, dim, keepdim, false);
}
Tensor nanmedian(const Arg& x) {
  if (x.tensor.numel() == 0) return nothing_to_pick("nanmedian", x);
  return shared_median("nanmedian", x, true);
}
ValuesIndices nanmedian(const Arg& x, int dim, bool keepdim) {
  return median_of("nanmedian", x, dim, keepdim, true);
}

ValuesIndices mode(const Arg& x, int dim, bool keepdim) {
  Line line("mode", x, dim);
  need_elements("mode", line);
  ValuesIndices sorted = whole(line, false);
  int64_t n = line.size();
  Tensor s = sorted.values.detach();
  // The length of a run is its last position minus its start, found by a cumulative maximum.
  Tensor places = positions(n, line.dim, s.rank()).expand(s.raw_shape());
  places = moved_beside(s, places, x.where);
  Tensor starts = places;
  if (n > 1) {
    Tensor same = eq(line.slice(s, 1, n), line.slice(s, 0, n - 1));
    Tensor first = where(same, number(0, DType::kI64), line.slice(places, 1, n));
    starts = cummax(cat({line.slice(places, 0, 1), first}, line.dim), line.dim).values;
  }
  // the first of the longest runs, at the run's last position
  Tensor at = call(OpId::kArgMax, ArgAttrs{line.dim, 1, 0}, {places - starts});
  return pick(line, sorted, at, keepdim);
}

Tensor quantile(const Arg& x, double q, std::optional<int> dim, bool keepdim,
                const std::string& how) {
  return quantile_of("quantile", x, moved_beside(x.tensor, number(q, x.tensor.dtype()), x.where),
                     dim, keepdim, how, false);
}
Tensor quantile(const Arg& x, const Arg& q, std::optional<int> dim, bool keepdim,
                const std::string& how) {
  return quantile_of("quantile", x, q.tensor, dim, keepdim, how, false);
}
Tensor nanquantile(const Arg& x, double q, std::optional<int> dim, bool keepdim,
                   const std::string& how) {
  return quantile_of("nanquantile", x, moved_beside(x.tensor, number(q, x.tensor.dtype()), x.where),
                     dim, keepdim, how, true);
}
Tensor nanquantile(const Arg& x, const Arg& q, std::optional<int> dim, bool keepdim,
                   const std::string& how) {
  return quantile_of("nanquantile", x, q.tensor, dim, keepdim, how, true);
}

ValuesIndices max(const Arg& x, int dim, bool keepdim) {
  return extreme(OpId::kArgMax, "max", x, dim, keepdim);
}
ValuesIndices min(const Arg& x, int dim, bool keepdim) {
  return extreme(OpId::kArgMin, "min", x, dim, keepdim);
}
MinMax aminmax(const Arg& x, std::optional<int> dim, bool keepdim) {
  Dims dims;
  if (dim) dims = {*dim};
  if (x.tensor.rank() == 0) {
    if (dim) wrap_dim("aminmax", *dim, 1, x.where);
    return {x.tensor.clone(x.where), x.tensor.clone(x.where)};
  }
  if (!dim && x.tensor.numel() == 0)
    throw_error("aminmax", "the tensor is empty: there is no element to pick", x.where,
                Code::kShapeMismatch);
  return {amin(x, dims, keepdim), amax(x, dims, keepdim)};
}
Tensor argmax(const Arg& x) {
  NoGrad guard;
  return extreme(OpId::kArgMax, "argmax", {flat(x), x.where}, 0, false).indices;
}
Tensor argmin(const Arg& x) {
  NoGrad guard;
  return extreme(OpId::kArgMin, "argmin", {flat(x), x.where}, 0, false).indices;
}

UniqueResult unique(const Arg& x, bool sorted, bool return_inverse, bool return_counts,
                    std::optional<int> dim) {
  refuse_capture("unique", x.where);
  UniqueAttrs a;
  a.sorted = sorted ? 1 : 0;
  if (dim) a.axis = {wrap_dim("unique", *dim, x.tensor.rank(), x.where)};
  Tensor out[4];
  const Tensor* in[] = {&x.tensor};
  call(OpId::kUnique, &a, in, out, x.where);
  UniqueResult r{out[0], Tensor(), Tensor()};
  if (return_inverse) r.inverse = dim ? out[2] : out[2].reshape(x.tensor.raw_shape());
  if (return_counts) r.counts = out[3];
  return r;
}

UniqueResult unique_consecutive(const Arg& x, bool return_inverse, bool return_counts,
                                std::optional<int> dim) {
  refuse_capture("unique_consecutive", x.where);
  NoGrad guard;
  Tensor base = dim ? x.tensor : flat(x);
  int d = dim ? wrap_dim("unique_consecutive", *dim, base.rank(), x.where) : 0;
  Tensor lead = base.transpose(0, d, x.where);
  int64_t n = lead.raw_shape()[0];
  Tensor begins = ones({n}, DType::kBool);
  if (n > 1) begins = cat({ones({1}, DType::kBool), changes(lead, x.where)}, 0);
  Tensor first = nonzero(begins).reshape({-1});
  UniqueResult r{index_select({base, x.where}, d, first), Tensor(), Tensor()};
  if (return_inverse) {
    r.inverse = cumsum(begins.to(DType::kI64), 0) - 1;
    if (!dim) r.inverse = r.inverse.reshape(x.tensor.raw_shape());
  }
  if (return_counts)
    r.counts = cat({first, full({1}, n, DType::kI64)}, 0).slice(0, 1, INT64_MAX) - first;
  return r;
}

// Binary search for all values at once: one gather per bit of the length.
Tensor searchsorted(const Arg& sequence, const Arg& values, bool out_int32, bool right,
                    const Tensor& sorter) {
  NoGrad guard;
  Tensor seq = sequence.tensor, v = values.tensor;
  if (seq.rank() == 0)
    throw_error("searchsorted", "sorted_sequence must have a dimension to search in",
                sequence.where, Code::kShapeMismatch);
  bool agree = seq.rank() == 1 || seq.rank() == v.rank();
  for (int i = 0; agree && seq.rank() > 1 && i + 1 < seq.rank(); ++i)
    agree = seq.raw_shape()[i] == v.raw_shape()[i];
  if (!agree) {
    throw_error("searchsorted",
                std::string("sorted_sequence and values must agree but for the last dimension: ") +
                    to_text(seq.raw_shape()).text + " and " + to_text(v.raw_shape()).text,
                sequence.where, Code::kShapeMismatch);
  }
  if (sorter.defined()) seq = gather({seq, sequence.where}, -1, {sorter, sequence.where});
  DType common = promote_types(seq.dtype(), v.dtype());
  seq = seq.to(common);
  v = v.to(common);
  int64_t n = seq.raw_shape()[seq.rank() - 1], step = 1;
  while (step * 2 <= n) step *= 2;
  Tensor found = moved_beside(v, zeros(v.raw_shape(), DType::kI64), sequence.where);
  for (; n > 0 && step > 0; step /= 2) {
    Tensor next = found + step;  // elements known to be before the value, if this step is taken
    Tensor at = minimum(next, number(n, DType::kI64)) - 1;
    Tensor element = seq.rank() == 1 ? index_select(seq, 0, at) : gather(seq, -1, at);
    // in this form, a NaN is after everything
    Tensor before = right ? logical_not(gt(element, v)) : logical_not(ge(element, v));
    found = where(logical_and(before, le(next, n)), next, found);
  }
  return out_int32 ? found.to(DType::kI32) : found;
}
Tensor searchsorted(const Arg& sequence, Scalar value, bool out_int32, bool right) {
  DType t = value.integral || floats(sequence.tensor) ? sequence.tensor.dtype() : DType::kF32;
  return searchsorted(sequence, {number(value, t), sequence.where}, out_int32, right);
}
Tensor bucketize(const Arg& x, const Arg& boundaries, bool out_int32, bool right) {
  if (boundaries.tensor.rank() != 1)
    throw_error("bucketize",
                std::string("boundaries must have rank 1, got ") +
                    to_text(boundaries.tensor.raw_shape()).text,
                x.where, Code::kShapeMismatch);
  return searchsorted(boundaries, x, out_int32, right);
}

Tensor isin(const Arg& x, const Arg& test_elements, bool /*assume_unique*/, bool invert) {
  NoGrad guard;
  DType common = promote_types(x.tensor.dtype(), test_elements.tensor.dtype());
  Tensor v = ordered(x.tensor.to(common));
  Tensor tests = sort({ordered(flat(test_elements).to(common)), x.where}).values;
  Tensor hit = zeros(v.raw_shape(), DType::kBool);
  if (int64_t n = tests.numel(); n > 0) {
    Tensor at = minimum(searchsorted(tests, v), number(n - 1, DType::kI64));
    hit = eq(index_select(tests, 0, at), v);
  }
  return invert ? logical_not(hit) : hit;
}

Tensor bincount(const Arg& x, const Tensor& weights, int64_t minlength) {
  NoGrad guard;
  const Tensor& t = x.tensor;
  if (t.rank() != 1 || !is_int(t.dtype()))
    throw_error("bincount",
                std::string("needs a vector of integers, got ") + dtype_name(t.dtype()) +
                    to_text(t.raw_shape()).text,
                x.where, Code::kTypeMismatch);
  if (minlength < 0) throw_error("bincount", "minlength must not be negative", x.where);
  if (weights.defined() && !(weights.raw_shape() == t.raw_shape()))
    throw_error("bincount",
                std::string("input and weights must have one shape: ") +
                    to_text(t.raw_shape()).text + " and " + to_text(weights.raw_shape()).text,
                x.where, Code::kShapeMismatch);
  Tensor at = t.to(DType::kI64);
  int64_t bins = minlength;
  if (t.numel() > 0) {
    if (amin(at).item_int(x.where) < 0)
      throw_error("bincount", "the elements must not be negative", x.where);
    bins = std::max(bins, amax(at).item_int(x.where) + 1);
  }
  const auto none = [&](DType sums) { return moved_beside(t, zeros({bins}, sums), x.where); };
  if (!weights.defined()) return scatter_add(none(DType::kI64), 0, at, ones_like(at));
  DType sums = weights.dtype() == DType::kF32 ? DType::kF32 : DType::kF64;
  return scatter_add(none(sums), 0, at, weights.to(sums));
}

Tensor histc(const Arg& x, int64_t bins, double lo, double hi) {
  NoGrad guard;
  Tensor v = x.tensor.reshape({-1}, x.where);
  if (!floats(v) || bins < 1)
    throw_error("histc",
                std::string("needs a float tensor and at least one bin, got ") +
                    dtype_name(v.dtype()) + " and " + std::to_string(bins),
                x.where);
  if (lo == hi && v.numel() > 0) {
    lo = amin(v).item(x.where);
    hi = amax(v).item(x.where);
  }
  if (lo == hi) {
    lo -= 1;
    hi += 1;
  }
  if (!(lo < hi) || !std::isfinite(lo) || !std::isfinite(hi))
    throw_error("histc", "min must be below max, and both finite", x.where);
  DType t = v.dtype();
  Tensor inside = logical_and(ge(v, lo), le(v, hi));
  Tensor place = where(inside, (v - lo) * static_cast<double>(bins) / (hi - lo), number(0, t));
  Tensor bin = minimum(place.to(DType::kI64), number(bins - 1, DType::kI64));
  return scatter_add(moved_beside(v, zeros({bins}, t), x.where), 0, bin, inside.to(t));
}

}  // namespace wick
