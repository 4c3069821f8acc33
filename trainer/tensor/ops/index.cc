#include "trainer/tensor/ops/index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "runtime/core/int_at.h"

#include "trainer/autograd/forward.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/inplace.h"
#include "trainer/tensor/lines.h"
#include "trainer/tensor/ops/pointwise.h"
#include "trainer/tensor/recorder.h"

namespace wick {
namespace {

ScatterAttrs scatter_attrs(int dim, ScatterReduction how) {
  return {dim, static_cast<int64_t>(how)};
}

Tensor scattered(const Line& line, const Tensor& index, const Tensor& src, ScatterReduction how) {
  return call(OpId::kScatterElements, scatter_attrs(line.dim, how),
              {{line.x, line.where}, index, src});
}

// Treats rank 0 as one element; src may be larger than the index, as in PyTorch.
struct Scattering {
  Line line;
  Tensor index, src;

  Scattering(const char* op, const Arg& x, int dim, const Tensor& at, const Tensor& from)
      : line(op, x, dim), index(at), src(from) {
    if (index.rank() == 0) index = index.reshape({1}, x.where);
    if (src.rank() == 0) src = src.reshape({1}, x.where);
    if (index.rank() != line.x.rank() || src.rank() != index.rank()) {
      throw_error(op,
                  "input, index and src must have the same number of dimensions: " +
                      text(x.tensor) + ", " + text(at) + " and " + text(from),
                  x.where, Code::kShapeMismatch);
    }
    for (int d = 0; d < index.rank(); ++d) {
      int64_t n = index.raw_shape()[d];
      if (n > src.raw_shape()[d]) {
        throw_error(op,
                    "index " + text(index) + " is larger than src " + text(src) + " in dimension " +
                        std::to_string(d),
                    x.where, Code::kShapeMismatch);
      }
      if (n < src.raw_shape()[d]) src = src.slice(d, 0, n, 1, x.where);
    }
  }
  Tensor run(ScatterReduction how) const { return line.back(scattered(line, index, src, how)); }
};

ScatterReduction reduction_of(const char* op, const std::string& reduce, const Where& where) {
  if (reduce.empty()) return ScatterReduction::kNone;
  if (reduce == "add") return ScatterReduction::kAdd;
  if (reduce == "multiply") return ScatterReduction::kMul;
  throw_error(op, "reduce must be add or multiply, got '" + reduce + "'", where);
}

// Returns x with slices index[i] of a dim replaced by source's slices i, or incremented by them:
// lines of dim 0.
Tensor put_slices(const char* op, const Arg& x, int dim, const Tensor& index, const Tensor& source,
                  ScatterReduction how) {
  Composite composite(op, x.where);
  Line line(op, x, dim);
  Tensor at = index.rank() == 0 ? index.reshape({1}, x.where) : index;
  Tensor src = source.rank() == 0 ? source.reshape({1}, x.where) : source;
  if (src.rank() + 1 == line.x.rank() && index.rank() == 0) src = src.unsqueeze(line.dim, x.where);
  Shape want = line.x.raw_shape();
  if (at.rank() == 1) want[line.dim] = at.raw_shape()[0];
  if (at.rank() != 1 || !(src.raw_shape() == want)) {
    throw_error(op,
                "index " + text(index) + " and source " + text(source) + " do not fit dimension " +
                    std::to_string(line.dim) + " of " + text(x.tensor),
                x.where, Code::kShapeMismatch);
  }
  Tensor y = call(OpId::kScatterND, ScatterNDAttrs{static_cast<int64_t>(how)},
                  {{line.x.transpose(0, line.dim, x.where), x.where},
                   at.unsqueeze(-1, x.where),
                   src.transpose(0, line.dim, x.where)});
  return line.back(y.transpose(0, line.dim, x.where));
}

Tensor same_shape_mask(const char* op, const Arg& x, const Arg& mask) {
  if (mask.tensor.dtype() == DType::kBool || mask.tensor.dtype() == DType::kU8)
    return mask.tensor.to(DType::kBool, x.where);
  throw_error(op, std::string("the mask must be bool, got ") + dtype_name(mask.tensor.dtype()),
              x.where, Code::kTypeMismatch);
}

}  // namespace

Tensor nonzero(const Arg& x) {
  refuse_capture("nonzero", x.where);
  return call(OpId::kNonZero, NoAttrs{}, {x}).transpose(0, 1, x.where).contiguous(x.where);
}
Tensor argwhere(const Arg& x) { return nonzero(x); }
std::vector<Tensor> where(const Arg& condition) {
  Tensor x = condition.tensor;
  if (x.rank() == 0) x = x.reshape({1}, condition.where);
  refuse_capture("where", condition.where);
  Tensor places = call(OpId::kNonZero, NoAttrs{}, {{x, condition.where}});
  std::vector<Tensor> columns;
  for (int d = 0; d < x.rank(); ++d) columns.push_back(places.select(0, d, condition.where));
  return columns;
}

// Expands a tensor and a mask to their common shape.
static std::pair<Tensor, Tensor> of_one_shape(const Tensor& v, const Tensor& mask,
                                              const Where& where) {
  if (v.raw_shape() == mask.raw_shape()) return {v, mask};
  const Shape shape = logical_or(zeros(v.raw_shape(), DType::kBool), mask).raw_shape();
  return {v.raw_shape() == shape ? v : v.expand(shape, where),
          mask.raw_shape() == shape ? mask : mask.expand(shape, where)};
}

Tensor masked_select(const Arg& x, const Arg& mask) {
  Tensor m = same_shape_mask("masked_select", x, mask), v = x.tensor;
  std::tie(v, m) = of_one_shape(v, m, x.where);
  return v.reshape({-1}, x.where).index({m.reshape({-1}, x.where)}, x.where);
}
Tensor masked_fill(const Arg& x, const Arg& mask, Scalar value) {
  return masked_fill(x, mask, Arg(number(value, x.tensor.dtype()), x.where));
}
Tensor masked_fill(const Arg& x, const Arg& mask, const Arg& value) {
  if (value.tensor.rank() != 0)
    throw_error("masked_fill",
                "the value must be a number or a tensor of rank 0, got " + text(value.tensor),
                x.where, Code::kShapeMismatch);
  return where({same_shape_mask("masked_fill", x, mask), mask.where},
               {value.tensor.to(x.tensor.dtype(), x.where), x.where}, x);
}
Tensor masked_scatter(const Arg& x, const Arg& mask, const Arg& source) {
  Tensor m = same_shape_mask("masked_scatter", x, mask), v = x.tensor;
  std::tie(v, m) = of_one_shape(v, m, x.where);
  const Shape shape = v.raw_shape();
  m = m.reshape({-1}, x.where);
  Tensor from = source.tensor.reshape({-1}, x.where), place;
  {
    NoGrad guard;
    place = cumsum(m, 0) - 1;
    if (active_tracer() == nullptr && m.numel() > 0) {
      int64_t need = place.slice(0, -1, INT64_MAX).item_int() + 1;
      if (need > from.numel())
        throw_error("masked_scatter",
                    "the mask has " + std::to_string(need) + " true elements, source only " +
                        std::to_string(from.numel()),
                    x.where, Code::kShapeMismatch);
    }
    if (from.numel() == 0) return v.clone(x.where);
    place = minimum(maximum(place, number(0, DType::kI64)), number(from.numel() - 1, DType::kI64));
  }
  Tensor taken = index_select({from, x.where}, 0, place);
  return where(m, taken, {v.reshape({-1}, x.where), x.where}).reshape(shape, x.where);
}

Tensor take(const Arg& x, const Arg& index) {
  return index_select({x.tensor.reshape({-1}, x.where), x.where}, 0, index);
}
Tensor take_along_dim(const Arg& x, const Arg& index, std::optional<int> dim) {
  Tensor v = x.tensor, at = index.tensor;
  if (!dim) {
    return gather({v.reshape({-1}, x.where), x.where}, 0, at.reshape({-1}, x.where));
  }
  if (v.rank() != at.rank())
    throw_error("take_along_dim",
                "input and indices must have the same number of dimensions: " + text(v) + " and " +
                    text(at),
                x.where, Code::kShapeMismatch);
  int d = wrap_dim("take_along_dim", *dim, v.rank(), x.where);
  Shape vs = v.raw_shape(), is = at.raw_shape();
  for (int i = 0; i < v.rank(); ++i) {
    if (i == d || vs[i] == is[i]) continue;
    if (vs[i] != 1 && is[i] != 1)
      throw_error("take_along_dim", text(v) + " and " + text(at) + " do not broadcast", x.where,
                  Code::kShapeMismatch);
    vs[i] = is[i] = vs[i] == 1 ? is[i] : vs[i];
  }
  if (!(vs == v.raw_shape())) v = v.expand(vs, x.where);
  if (!(is == at.raw_shape())) at = at.expand(is, x.where);
  return gather({v, x.where}, d, at);
}

Tensor scatter(const Arg& x, int dim, const Arg& index, const Arg& src, const std::string& reduce) {
  Composite composite("scatter", x.where);
  ScatterReduction how = reduction_of("scatter", reduce, x.where);
  return Scattering("scatter", x, dim, index.tensor, src.tensor).run(how);
}
Tensor scatter(const Arg& x, int dim, const Arg& index, Scalar value, const std::string& reduce) {
  const Tensor src = full(index.tensor.raw_shape(), value, x.tensor.dtype());
  return scatter(x, dim, index, Arg(moved_beside(x.tensor, src, x.where), x.where), reduce);
}

Tensor scatter_reduce(const Arg& x, int dim, const Arg& index, const Arg& src,
                      const std::string& reduce, bool include_self) {
  const char* op = "scatter_reduce";
  Composite composite(op, x.where);
  Scattering s(op, x, dim, index.tensor, src.tensor);
  DType t = x.tensor.dtype();
  auto limit = [&](bool lowest) {
    if (is_float(t)) return number(lowest ? -INFINITY : INFINITY, t);
    int bits = dtype_bits(t);
    bool has_sign = t == DType::kI8 || t == DType::kI16 || t == DType::kI32 || t == DType::kI64;
    if (!has_sign)
      return number(lowest ? int64_t{0} : (int64_t{1} << (bits < 63 ? bits : 62)) - 1, t);
    auto low = static_cast<int64_t>(-(uint64_t{1} << (bits - 1)));
    return number(lowest ? low : -(low + 1), t);
  };
  // old elements that are written to become the reduction's neutral element
  auto start = [&](const Tensor& neutral) {
    if (include_self) return;
    Tensor none = neutral.expand(s.index.raw_shape(), x.where);
    s.line.x = scattered(s.line, s.index, none, ScatterReduction::kNone);
  };
  if (reduce == "sum") {
    start(number(0, t));
    return s.run(ScatterReduction::kAdd);
  }
  if (reduce == "prod") {
    start(number(1, t));
    return s.run(ScatterReduction::kMul);
  }
  if (reduce == "amax" || reduce == "amin") {
    start(limit(reduce == "amax"));
    return s.run(reduce == "amax" ? ScatterReduction::kMax : ScatterReduction::kMin);
  }
  if (reduce != "mean")
    throw_error(op, "reduce must be sum, prod, mean, amax or amin, got '" + reduce + "'", x.where);
  start(number(0, t));
  Tensor count, total = scattered(s.line, s.index, s.src, ScatterReduction::kAdd);
  {
    NoGrad guard;
    Line counts = s.line;
    counts.x = ones(s.line.x.raw_shape(), t);
    if (!include_self)
      counts.x = scattered(counts, s.index, zeros(s.index.raw_shape(), t), ScatterReduction::kNone);
    count = scattered(counts, s.index, ones(s.index.raw_shape(), t), ScatterReduction::kAdd);
    count = maximum(count, number(1, t));
  }
  if (is_float(t)) return s.line.back(total / count);
  // integers are rounded down
  Tensor q = call(OpId::kDiv, NoAttrs{}, {{total, x.where}, count});
  Tensor over = gt(q * count, total);
  return s.line.back(q - over.to(t));
}

Tensor index_add(const Arg& x, int dim, const Arg& index, const Arg& source, Scalar alpha) {
  Tensor src = source.tensor;
  if (alpha.value != 1) {
    Composite composite("index_add", x.where);
    src = pointwise::times({src, x.where}, alpha);
  }
  return put_slices("index_add", x, dim, index.tensor, src, ScatterReduction::kAdd);
}
Tensor index_copy(const Arg& x, int dim, const Arg& index, const Arg& source) {
  return put_slices("index_copy", x, dim, index.tensor, source.tensor, ScatterReduction::kNone);
}
Tensor index_fill(const Arg& x, int dim, const Arg& index, Scalar value) {
  Line line("index_fill", x, dim);
  Shape s = line.x.raw_shape();
  s[line.dim] = index.tensor.numel();
  Tensor at = index.tensor.rank() == 0 ? index.tensor.reshape({1}) : index.tensor;
  const Tensor source = moved_beside(x.tensor, full(s, value, x.tensor.dtype()), x.where);
  return line.back(
      put_slices("index_fill", {line.x, x.where}, line.dim, at, source, ScatterReduction::kNone));
}

Tensor select_scatter(const Arg& x, const Arg& src, int dim, SizeArg index) {
  int d = wrap_dim("select_scatter", dim, x.tensor.rank(), x.where);
  int64_t n = x.tensor.raw_shape()[d];
  if (index < -n || index >= n)
    throw_error("select_scatter",
                "index " + std::to_string(index) + " is out of bounds for dimension " +
                    std::to_string(d) + " with size " + std::to_string(n),
                x.where);
  const Tensor at = moved_beside(x.tensor, full({1}, index, DType::kI64), x.where);
  return put_slices("select_scatter", x, d, at, src.tensor.unsqueeze(d, x.where),
                    ScatterReduction::kNone);
}
Tensor slice_scatter(const Arg& x, const Arg& src, int dim, std::optional<SizeArg> start,
                     std::optional<SizeArg> end, int64_t step) {
  int d = wrap_dim("slice_scatter", dim, x.tensor.rank(), x.where);
  if (step < 1) throw_error("slice_scatter", "step must be positive", x.where);
  Tensor at = arange(x.tensor.raw_shape()[d]);
  at = at.slice(0, start.value_or(0), end.value_or(INT64_MAX), step, x.where).contiguous();
  at = moved_beside(x.tensor, at, x.where);
  return put_slices("slice_scatter", x, d, at, src.tensor, ScatterReduction::kNone);
}
Tensor diagonal_scatter(const Arg& x, const Arg& src, SizeArg offset, int dim1, int dim2) {
  const Tensor& t = x.tensor;
  int a = wrap_dim("diagonal_scatter", dim1, t.rank(), x.where);
  int b = wrap_dim("diagonal_scatter", dim2, t.rank(), x.where);
  if (a == b) throw_error("diagonal_scatter", "the two dimensions must differ", x.where);
  int64_t row = std::max<int64_t>(0, -offset), column = std::max<int64_t>(0, offset);
  int64_t n = std::max<int64_t>(0, std::min(t.raw_shape()[a] - row, t.raw_shape()[b] - column));
  TransposeAttrs to, back;  // moves the two dims first
  to.perm = {a, b};
  for (int i = 0; i < t.rank(); ++i) {
    if (i != a && i != b) to.perm.values[to.perm.count++] = i;
  }
  back.perm.count = to.perm.count;
  for (int i = 0; i < t.rank(); ++i) back.perm.values[to.perm[i]] = i;
  Tensor at = stack({arange(row, row + n), arange(column, column + n)}, -1);
  at = moved_beside(t, at, x.where);
  Shape want;
  for (int i = 2; i < t.rank(); ++i) want.push_back(t.raw_shape()[static_cast<int>(to.perm[i])]);
  want.push_back(n);
  if (!(src.tensor.raw_shape() == want))
    throw_error(
        "diagonal_scatter",
        "src " + text(src.tensor) + " should have the diagonal's shape " + to_text(want).text,
        x.where, Code::kShapeMismatch);
  // the diagonal is the last dim of src, and the first of the updates
  TransposeAttrs first;
  first.perm = {t.rank() - 2};
  for (int i = 0; i + 2 < t.rank(); ++i) first.perm.values[first.perm.count++] = i;
  Tensor y =
      call(OpId::kScatterND, ScatterNDAttrs{},
           {{call(OpId::kTranspose, to, {x}), x.where}, at, call(OpId::kTranspose, first, {src})});
  return call(OpId::kTranspose, back, {{y, x.where}});
}

Tensor one_hot(const Arg& x, SizeArg num_classes) {
  NoGrad guard;
  const Tensor& t = x.tensor;
  if (!is_int(t.dtype()))
    throw_error("one_hot",
                std::string("needs class indices of integers, got ") + dtype_name(t.dtype()) +
                    ": call .to(DType::kI64)",
                x.where, Code::kTypeMismatch);
  if (num_classes < -1 || num_classes == 0)
    throw_error("one_hot", "num_classes must be positive, or -1", x.where);
  if (t.numel() == 0 && num_classes == -1)
    throw_error("one_hot", "num_classes must be given for a tensor without elements", x.where);
  Tensor at = t.to(DType::kI64, x.where);
  if (t.numel() > 0 && (active_tracer() == nullptr || num_classes == -1)) {
    int64_t top = amax({at, x.where}).item_int(x.where);
    if (amin({at, x.where}).item_int(x.where) < 0)
      throw_error("one_hot", "class indices must not be negative", x.where);
    if (num_classes == -1) num_classes = top + 1;
    if (top >= num_classes)
      throw_error("one_hot",
                  "class " + std::to_string(top) + " is out of range for " +
                      std::to_string(num_classes) + " classes",
                  x.where);
  }
  const Tensor classes = moved_beside(t, arange(num_classes), x.where);
  return eq({at.unsqueeze(-1, x.where), x.where}, classes).to(DType::kI64);
}

// Throws an Error that names the first position of `value`, which is not a row of a table of n.
[[noreturn]] static void outside_table(const Arg& indices, int64_t value, int64_t n) {
  std::vector<int64_t> flat = indices.tensor.to(DType::kI64).to_vector<int64_t>();
  int64_t left = std::find(flat.begin(), flat.end(), value) - flat.begin();
  Shape at = indices.tensor.raw_shape();
  for (int d = at.rank() - 1; d >= 0; --d) {
    const int64_t size = at[d];
    at[d] = left % size;
    left /= size;
  }
  throw_error("embedding",
              "index " + std::to_string(value) + " at " + to_text(at).text +
                  " is out of range for a weight of " + std::to_string(n) + " rows",
              indices.where);
}

Tensor embedding(const Arg& indices, const Arg& weight, std::optional<int64_t> padding_idx) {
  const Tensor& w = weight.tensor;
  if (w.rank() < 1 ||
      (indices.tensor.dtype() != DType::kI64 && indices.tensor.dtype() != DType::kI32))
    throw_error("embedding",
                std::string("needs int64 or int32 indices and a weight [n, d], got ") +
                    dtype_name(indices.tensor.dtype()) + " and " + text(w),
                indices.where, Code::kTypeMismatch);
  int64_t n = w.raw_shape()[0];
  if (active_tracer() == nullptr && indices.tensor.numel() > 0) {
    NoGrad guard;
    const Tensor at = to_host(indices.tensor, indices.where);
    int64_t low = 0, high = 0;
    {
      UnrecordedScope scope;  // the check below says the same
      low = amin(at).item_int(), high = amax(at).item_int();
    }
    if (low < 0 || high >= n) outside_table(indices, low < 0 ? low : high, n);
    if (Recorder* r = modes().recorder) [[unlikely]] {
      r->on_check(
          at.contiguous(),
          [n](const TensorView& v) {
            for (int64_t k = 0, count = v.numel(); k < count; ++k) {
              if (int_at(v, k) < 0 || int_at(v, k) >= n) return false;
            }
            return true;
          },
          "embedding", indices.where);
    }
  }
  Tensor y = index_select({w, indices.where}, 0, indices);
  if (!padding_idx) return y;
  int64_t pad = *padding_idx < 0 ? *padding_idx + n : *padding_idx;
  if (pad < 0 || pad >= n)
    throw_error("embedding",
                "padding_idx " + std::to_string(*padding_idx) + " is out of range for " +
                    std::to_string(n) + " rows",
                indices.where);
  bool recorded = grad_enabled() && w.requires_grad();
  if (!recorded && !tangent_of(w).defined()) return y;
  Shape mask = indices.tensor.raw_shape();
  for (int i = 1; i < w.rank(); ++i) mask.push_back(1);
  return where(eq(indices, pad).reshape(mask), y.detach(), y);
}

// -- in place
const Tensor& Tensor::masked_fill_(const Tensor& mask, Scalar value, Where where) const {
  return in_place("masked_fill_", {*this, where}, [&](const Arg& x) {
    return wick::masked_fill(x, {mask, where}, value);
  });
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value, Where where) const {
  return in_place("masked_fill_", {*this, where}, [&](const Arg& x) {
    return wick::masked_fill(x, {mask, where}, Arg(value, where));
  });
}
const Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source, Where where) const {
  return in_place("masked_scatter_", {*this, where}, [&](const Arg& x) {
    return wick::masked_scatter(x, {mask, where}, {source, where});
  });
}
const Tensor& Tensor::scatter_(int dim, const Tensor& index, const Tensor& src, Where where) const {
  return in_place("scatter_", {*this, where}, [&](const Arg& x) {
    return wick::scatter(x, dim, {index, where}, Arg(src, where));
  });
}
const Tensor& Tensor::scatter_(int dim, const Tensor& index, Scalar value, Where where) const {
  return in_place("scatter_", {*this, where}, [&](const Arg& x) {
    return wick::scatter(x, dim, {index, where}, value);
  });
}
const Tensor& Tensor::scatter_add_(int dim, const Tensor& index, const Tensor& src,
                                   Where where) const {
  return in_place("scatter_add_", {*this, where}, [&](const Arg& x) {
    return wick::scatter_add(x, dim, {index, where}, {src, where});
  });
}
const Tensor& Tensor::index_add_(int dim, const Tensor& index, const Tensor& source, Scalar alpha,
                                 Where where) const {
  return in_place("index_add_", {*this, where}, [&](const Arg& x) {
    return wick::index_add(x, dim, {index, where}, {source, where}, alpha);
  });
}
const Tensor& Tensor::index_copy_(int dim, const Tensor& index, const Tensor& source,
                                  Where where) const {
  return in_place("index_copy_", {*this, where}, [&](const Arg& x) {
    return wick::index_copy(x, dim, {index, where}, {source, where});
  });
}
const Tensor& Tensor::index_fill_(int dim, const Tensor& index, Scalar value, Where where) const {
  return in_place("index_fill_", {*this, where}, [&](const Arg& x) {
    return wick::index_fill(x, dim, {index, where}, value);
  });
}
const Tensor& Tensor::cumsum_(int dim, Where where) const {
  return in_place("cumsum_", {*this, where},
                  [&](const Arg& x) { return wick::cumsum(x, dim, dtype()); });
}

}  // namespace wick
