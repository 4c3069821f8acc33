#include "trainer/tensor/ops/arrange.h"

#include <algorithm>

#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/lines.h"
#include "trainer/tensor/own_memory.h"
#include "trainer/tensor/promote.h"

namespace wick {
namespace {

std::vector<Tensor> raised(const std::vector<Tensor>& tensors, int rank, const Where& where) {
  std::vector<Tensor> all;
  for (Tensor t : tensors) {
    if (t.rank() == 0) t = t.reshape({1}, where);
    if (rank >= 2 && t.rank() == 1) t = t.unsqueeze(0, where);
    if (rank >= 3 && t.rank() == 2) t = t.unsqueeze(2, where);
    all.push_back(t);
  }
  return all;
}

Tensor trilu(const char* name, const Arg& x, bool upper, int64_t diagonal) {
  if (x.tensor.rank() < 2)
    throw_error(
        name, std::string("needs at least 2 dimensions, got ") + to_text(x.tensor.raw_shape()).text,
        x.where, Code::kShapeMismatch);
  return call(OpId::kTrilu, TriluAttrs{upper ? 1 : 0, diagonal}, {x});
}

template <class Keep>
Tensor triangle(const char* name, int64_t rows, int64_t columns, DType dtype, Keep&& keep) {
  if (rows < 0 || columns < 0) throw_error(name, "sizes must not be negative", Where::current());
  std::vector<int64_t> places[2];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      if (!keep(r, c)) continue;
      places[0].push_back(r);
      places[1].push_back(c);
    }
  }
  auto n = static_cast<int64_t>(places[0].size());
  places[0].insert(places[0].end(), places[1].begin(), places[1].end());
  return from_blob(places[0].data(), {2, n}, DType::kI64).to(dtype);
}

}  // namespace

Tensor flip(const Arg& x, Dims dims) {
  SliceAttrs a;
  bool seen[kMaxRank] = {};
  for (int64_t dim : dims.span()) {
    int d = wrap_dim("flip", dim, x.tensor.rank(), x.where);
    if (seen[d]) throw_error("flip", "dimension " + std::to_string(d) + " is given twice", x.where);
    seen[d] = true;
    int64_t i = a.starts.count;
    a.starts.values[i] = -1;
    a.ends.values[i] = INT64_MIN;
    a.axes.values[i] = d;
    a.steps.values[i] = -1;
    a.starts.count = a.ends.count = a.axes.count = a.steps.count = i + 1;
  }
  if (a.starts.count == 0) return x.tensor.clone(x.where);
  return call(OpId::kSlice, a, {x}).clone(x.where);
}
Tensor fliplr(const Arg& x) {
  if (x.tensor.rank() < 2)
    throw_error("fliplr", "needs at least 2 dimensions", x.where, Code::kShapeMismatch);
  return flip(x, {1});
}
Tensor flipud(const Arg& x) {
  if (x.tensor.rank() < 1)
    throw_error("flipud", "needs at least 1 dimension", x.where, Code::kShapeMismatch);
  return flip(x, {0});
}

Tensor roll(const Arg& x, Dims shifts, Dims dims) {
  if (dims.empty()) {
    if (shifts.count != 1) throw_error("roll", "without dims it takes one shift", x.where);
    Tensor flat = x.tensor.reshape({-1}, x.where);
    return roll({flat, x.where}, shifts, {0}).reshape(x.tensor.raw_shape(), x.where);
  }
  if (shifts.count != dims.count)
    throw_error(
        "roll",
        std::to_string(shifts.count) + " shifts for " + std::to_string(dims.count) + " dimensions",
        x.where);
  Tensor t = x.tensor;
  for (int64_t i = 0; i < dims.count; ++i) {
    int d = wrap_dim("roll", dims[i], t.rank(), x.where);
    int64_t n = t.raw_shape()[d];
    int64_t by = n == 0 ? 0 : ((shifts[i] % n) + n) % n;
    if (by == 0) continue;
    t = cat(std::vector{t.slice(d, n - by, n, 1, x.where), t.slice(d, 0, n - by, 1, x.where)}, d,
            x.where);
  }
  return t.is_same(x.tensor) ? t.clone(x.where) : t;
}

Tensor rot90(const Arg& x, int64_t k, Dims dims) {
  if (dims.count != 2) throw_error("rot90", "needs two dimensions to rotate in", x.where);
  int a = wrap_dim("rot90", dims[0], x.tensor.rank(), x.where);
  int b = wrap_dim("rot90", dims[1], x.tensor.rank(), x.where);
  if (a == b) throw_error("rot90", "the two dimensions must differ", x.where);
  switch (((k % 4) + 4) % 4) {
    case 1: return flip(x, {b}).transpose(a, b, x.where);
    case 2: return flip(x, {a, b});
    case 3: return flip(x, {a}).transpose(a, b, x.where);
    default: return x.tensor.clone(x.where);
  }
}

Tensor repeat(const Arg& x, const SizeList& repeats) {
  Tensor t = x.tensor;
  sizes_of("repeat", repeats, x.where);
  if (repeats.rank() < t.rank())
    throw_error("repeat",
                std::string(to_text(repeats).text) + " has fewer numbers than " +
                    to_text(t.raw_shape()).text + " has dimensions",
                x.where, Code::kShapeMismatch);
  while (t.rank() < repeats.rank()) t = t.unsqueeze(0, x.where);
  for (int d = 0; d < repeats.rank(); ++d) {
    if (repeats[d] < 0) throw_error("repeat", "repeats must not be negative", x.where);
    if (repeats[d] == 1 && active_tracer() == nullptr)
      continue;  // under capture it may be a size that is only 1 now
    if (t.rank() == kMaxRank) {
      Shape whole = t.raw_shape(), flat{1, 1};  // there is no room for one more dimension
      for (int i = 0; i < whole.rank(); ++i)
        flat[i < d ? 0 : 1] = saturated_product(flat[i < d ? 0 : 1], whole[i]);
      whole[d] = saturated_product(whole[d], repeats[d]);
      t = t.reshape(flat, x.where).unsqueeze(1, x.where);
      t = t.expand({flat[0], repeats[d], flat[1]}, x.where).reshape(whole, x.where);
      continue;
    }
    Shape wide = t.raw_shape(), merged = t.raw_shape();
    merged[d] = saturated_product(merged[d], repeats[d]);
    Shape spread;
    for (int i = 0; i < wide.rank(); ++i) {
      if (i == d) spread.push_back(repeats[d]);
      spread.push_back(wide[i]);
    }
    t = t.unsqueeze(d, x.where).expand(spread, x.where).reshape(merged, x.where);
  }
  return &t.storage() == &x.tensor.storage() ? t.clone(x.where) : t;
}
Tensor tile(const Arg& x, const SizeList& repeats) {
  sizes_of("tile", repeats, x.where);
  Shape all;
  for (int i = repeats.rank(); i < x.tensor.rank(); ++i) all.push_back(1);
  for (int64_t r : repeats) all.push_back(r);
  return repeat(x, all);
}

Tensor repeat_interleave(const Arg& x, SizeArg repeats, std::optional<int> dim) {
  if (repeats < 0) throw_error("repeat_interleave", "repeats must not be negative", x.where);
  Tensor t = dim ? x.tensor : x.tensor.reshape({-1}, x.where);
  int d = wrap_dim("repeat_interleave", dim.value_or(0), t.rank(), x.where);
  if (t.rank() == kMaxRank)
    return repeat_interleave(x, {full({1}, repeats, DType::kI64), x.where}, dim);
  Shape spread, merged = t.raw_shape();
  for (int i = 0; i < t.rank(); ++i) {
    spread.push_back(merged[i]);
    if (i == d) spread.push_back(repeats);
  }
  merged[d] *= repeats;
  Tensor wide = t.unsqueeze(d + 1, x.where).expand(spread, x.where).reshape(merged, x.where);
  // Of one element all copies would be the same memory.
  return repeats == 1 ? wide.clone(x.where) : own_memory(wide, t, x.where);
}
Tensor repeat_interleave(const Arg& x, const Arg& repeats, std::optional<int> dim) {
  refuse_capture("repeat_interleave", x.where);
  Tensor t = dim ? x.tensor : x.tensor.reshape({-1}, x.where);
  int d = wrap_dim("repeat_interleave", dim.value_or(0), t.rank(), x.where);
  int64_t n = t.raw_shape()[d];
  std::vector<int64_t> each = repeats.tensor.to(DType::kI64).to_vector<int64_t>();
  if (repeats.tensor.rank() > 1 || (each.size() != 1 && static_cast<int64_t>(each.size()) != n)) {
    throw_error("repeat_interleave",
                std::string("repeats must be one number or one a slice: ") +
                    to_text(repeats.tensor.raw_shape()).text + " for dimension " +
                    std::to_string(d) + " of " + to_text(t.raw_shape()).text,
                x.where, Code::kShapeMismatch);
  }
  std::vector<int64_t> at;
  for (int64_t i = 0; i < n; ++i) {
    int64_t times = each[each.size() == 1 ? 0 : static_cast<size_t>(i)];
    if (times < 0) throw_error("repeat_interleave", "repeats must not be negative", x.where);
    at.insert(at.end(), static_cast<size_t>(times), i);
  }
  return index_select({t, x.where}, d, moved_beside(t, tensor(at), x.where));
}

Tensor tril(const Arg& x, SizeArg diagonal) { return trilu("tril", x, false, diagonal); }
Tensor triu(const Arg& x, SizeArg diagonal) { return trilu("triu", x, true, diagonal); }
Tensor tril_indices(SizeArg rows, SizeArg columns, SizeArg offset, DType dtype) {
  return triangle("tril_indices", rows, columns, dtype,
                  [&](int64_t r, int64_t c) { return c - r <= offset; });
}
Tensor triu_indices(SizeArg rows, SizeArg columns, SizeArg offset, DType dtype) {
  return triangle("triu_indices", rows, columns, dtype,
                  [&](int64_t r, int64_t c) { return c - r >= offset; });
}

namespace {

// Refuses the matrix of a diagonal of t's last dim, `offset` away from the middle, that memory does
// not hold: before anything of its size is computed.
void need_square(const Tensor& t, int64_t offset, const Where& where) {
  constexpr int64_t kTooFar = int64_t{1} << 40;  // its square has no number of bytes
  const Shape& s = t.raw_shape();
  const int last = s.rank() - 1;
  const int64_t side = std::abs(std::clamp(offset, -kTooFar, kTooFar)) + s[last];
  Shape square;
  for (int i = 0; i < last; ++i) square.push_back(s[i]);
  square.push_back(side);
  square.push_back(side);
  const auto bytes = checked_bytes(square, dtype_bits(t.dtype()));
  if (!bytes.ok())
    throw_error("diag_embed", bytes.status().message(), where, bytes.status().code());
  (void)empty(square, t.dtype(), where);
}

}  // namespace

Tensor diag(const Arg& x, SizeArg diagonal) {
  const Shape& s = x.tensor.raw_shape();
  if (s.rank() == 1) return diag_embed(x, diagonal);
  if (s.rank() != 2)
    throw_error("diag", std::string("needs a vector or a matrix, got ") + to_text(s).text, x.where,
                Code::kShapeMismatch);
  const int64_t k = std::clamp<int64_t>(diagonal, -s[0], s[1]);  // none beyond has an element
  const int64_t row = std::max<int64_t>(0, -k), column = std::max<int64_t>(0, k);
  int64_t n = std::max<int64_t>(0, std::min(s[0] - row, s[1] - column));
  const Tensor at = stack({arange(row, row + n), arange(column, column + n)}, -1);
  return call(OpId::kGatherND, GatherNDAttrs{}, {x, moved_beside(x.tensor, at, x.where)});
}

Tensor diag_embed(const Arg& x, SizeArg offset, int dim1, int dim2) {
  const Tensor& t = x.tensor;
  if (t.rank() == 0)
    throw_error("diag_embed", "needs at least one dimension", x.where, Code::kShapeMismatch);
  int rank = t.rank() + 1;
  int d1 = wrap_dim("diag_embed", dim1, rank, x.where);
  int d2 = wrap_dim("diag_embed", dim2, rank, x.where);
  if (d1 == d2) throw_error("diag_embed", "the two dimensions must differ", x.where);
  need_square(t, offset, x.where);
  int64_t above = std::max<int64_t>(0, offset), below = std::max<int64_t>(0, -offset);
  // row i of the square has x[i - below] in column i + offset
  Tensor padded = pad(x, {below, above});
  int64_t n = padded.raw_shape()[rank - 2];
  Tensor rows = positions(n, 0, 2), columns = positions(n, 1, 2);
  const Tensor on = moved_beside(t, eq(columns - rows, offset.number), x.where);
  Tensor y = where(on, padded.unsqueeze(-1, x.where), number(0, t.dtype()));
  TransposeAttrs to;
  for (int i = 0, from = 0; i < rank; ++i)
    to.perm.values[to.perm.count++] = i == d1 ? rank - 2 : i == d2 ? rank - 1 : from++;
  return call(OpId::kTranspose, to, {{y, x.where}});
}
Tensor diagflat(const Arg& x, SizeArg offset) {
  return diag_embed({x.tensor.reshape({-1}, x.where), x.where}, offset);
}

Tensor concat(const std::vector<Tensor>& tensors, int dim, Where where) {
  return cat(tensors, dim, where);
}
Tensor hstack(const std::vector<Tensor>& tensors, Where where) {
  std::vector<Tensor> all = raised(tensors, 1, where);
  return cat(all, !all.empty() && all[0].rank() == 1 ? 0 : 1, where);
}
Tensor vstack(const std::vector<Tensor>& tensors, Where where) {
  return cat(raised(tensors, 2, where), 0, where);
}
Tensor dstack(const std::vector<Tensor>& tensors, Where where) {
  return cat(raised(tensors, 3, where), 2, where);
}
Tensor column_stack(const std::vector<Tensor>& tensors, Where where) {
  std::vector<Tensor> all;
  for (const Tensor& t : tensors)
    all.push_back(t.rank() <= 1
                      ? t.reshape({t.raw_shape().rank() == 0 ? 1 : t.raw_shape()[0], 1}, where)
                      : t);
  return hstack(all, where);
}
Tensor block_diag(const std::vector<Tensor>& tensors, Where where) {
  std::vector<Tensor> all = raised(tensors, 2, where), rows;
  int64_t total = 0, at = 0;
  for (const Tensor& t : all) {
    if (t.rank() != 2)
      throw_error(
          "block_diag",
          std::string("takes matrices, vectors and numbers, got ") + to_text(t.raw_shape()).text,
          where, Code::kShapeMismatch);
    total += t.raw_shape()[1];
  }
  for (const Tensor& t : all) {
    int64_t n = t.raw_shape()[1];
    rows.push_back(pad({t, where}, {at, total - at - n}));
    at += n;
  }
  return rows.empty() ? zeros({1, 0}) : cat(rows, 0, where);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, const std::string& indexing,
                             Where where) {
  if (indexing != "ij" && indexing != "xy")
    throw_error("meshgrid", "indexing must be 'ij' or 'xy', got '" + indexing + "'", where);
  int rank = static_cast<int>(tensors.size());
  if (rank > kMaxRank) throw_error("meshgrid", "takes at most 8 tensors", where);
  for (const Tensor& t : tensors)
    if (!t.defined()) throw_error("meshgrid", "a tensor is undefined: it was never made", where);
  bool swapped = indexing == "xy" && rank >= 2;
  auto place = [&](int i) { return swapped && i < 2 ? 1 - i : i; };
  Shape all;
  all.set_rank(rank);
  for (int i = 0; i < rank; ++i) {
    const Tensor& t = tensors[static_cast<size_t>(i)];
    if (t.rank() > 1)
      throw_error("meshgrid", std::string("takes vectors, got ") + to_text(t.raw_shape()).text,
                  where, Code::kShapeMismatch);
    all[place(i)] = t.rank() == 0 ? 1 : t.raw_shape()[0];
  }
  std::vector<Tensor> grids;
  for (int i = 0; i < rank; ++i) {
    Shape line = ones_shape(rank);
    line[place(i)] = all[place(i)];
    grids.push_back(tensors[static_cast<size_t>(i)].reshape(line, where).expand(all, where));
  }
  return grids;
}
Tensor cartesian_prod(const std::vector<Tensor>& tensors, Where where) {
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& g : meshgrid(tensors, "ij", where)) columns.push_back(g.reshape({-1}, where));
  return stack(columns, 1, where);
}
Tensor combinations(const Arg& x, int64_t r, bool with_replacement) {
  if (x.tensor.rank() != 1)
    throw_error("combinations",
                std::string("needs a vector, got ") + to_text(x.tensor.raw_shape()).text, x.where,
                Code::kShapeMismatch);
  if (r < 0) throw_error("combinations", "r must not be negative", x.where);
  if (r == 0) return empty({0}, x.tensor.dtype());
  int64_t n = x.tensor.raw_shape()[0], count = 0;
  std::vector<int64_t> at, pick(static_cast<size_t>(r));
  for (size_t i = 0; i < pick.size(); ++i) pick[i] = with_replacement ? 0 : static_cast<int64_t>(i);
  while (n > 0 && pick.back() < n) {
    at.insert(at.end(), pick.begin(), pick.end());
    ++count;
    // increment the last place that can grow; those after it follow
    size_t i = pick.size();
    auto most = [&](size_t place) {
      return with_replacement ? n - 1 : n - r + static_cast<int64_t>(place);
    };
    while (i > 0 && pick[i - 1] == most(i - 1)) --i;
    if (i == 0) break;
    int64_t next = ++pick[i - 1];
    for (; i < pick.size(); ++i) pick[i] = with_replacement ? next : ++next;
  }
  const Tensor places = from_blob(at.data(), {count, r}, DType::kI64);
  return index_select(x, 0, moved_beside(x.tensor, places, x.where));
}

}  // namespace wick
