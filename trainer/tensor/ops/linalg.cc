#include "trainer/tensor/ops/linalg.h"

#include <cmath>
#include <limits>

#include "trainer/tensor/compose.h"
#include "trainer/tensor/promote.h"

namespace wick {
namespace {

const double kInf = std::numeric_limits<double>::infinity();

void need_matrices(const char* op, const Arg& a, bool square) {
  const Tensor& t = a.tensor;
  if (t.rank() < 2 || (square && dim_of(t, -1) != dim_of(t, -2))) {
    bad_shape(
        op, std::string("needs ") + (square ? "square matrices" : "matrices") + ", got " + text(t),
        a.where);
  }
  if (t.dtype() == DType::kF32 || t.dtype() == DType::kF64) return;
  throw_error(
      op,
      std::string("needs float32 or float64, got ") + dtype_name(t.dtype()) + ": convert with to()",
      a.where, Code::kTypeMismatch);
}

Shape batch_of(const Tensor& t) {
  Shape s;
  for (int i = 0; i + 2 < t.rank(); ++i) s.push_back(t.raw_shape()[i]);
  return s;
}
Tensor with_batch(const Tensor& t, const Shape& batch, const At& at) {
  Shape s = batch;
  s.push_back(dim_of(t, -2));
  s.push_back(dim_of(t, -1));
  return s == t.raw_shape() ? t : t.expand(s, at.where);
}

// Expands both to the broadcast batch dims.
void broadcast_batches(const char* op, Tensor* a, Tensor* b, const At& at) {
  Shape sa = batch_of(*a), sb = batch_of(*b), out;
  const int rank = std::max(sa.rank(), sb.rank());
  for (int i = rank; i > 0; --i) {
    const int64_t da = i > sa.rank() ? 1 : sa[sa.rank() - i];
    const int64_t db = i > sb.rank() ? 1 : sb[sb.rank() - i];
    if (da != db && da != 1 && db != 1) {
      bad_shape(op, "batches do not broadcast: " + text(*a) + " and " + text(*b), at.where);
    }
    out.push_back(da == 1 ? db : da);
  }
  *a = with_batch(*a, out, at);
  *b = with_batch(*b, out, at);
}

void need_sides(const char* op, const Arg& a, const Arg& b, int64_t rows_a) {
  if (a.tensor.dtype() != b.tensor.dtype()) {
    throw_error(op,
                std::string("both sides must have one dtype, got ") + dtype_name(a.tensor.dtype()) +
                    " and " + dtype_name(b.tensor.dtype()),
                a.where, Code::kTypeMismatch);
  }
  if (b.tensor.rank() >= 2 && dim_of(b.tensor, -2) == rows_a) return;
  bad_shape(op, "the two sides do not fit: " + text(a.tensor) + " and " + text(b.tensor), a.where);
}

template <size_t n, class A>
void call_into(OpId op, const A& attrs, const Arg& a, Tensor (&out)[n]) {
  const Tensor* in[] = {&a.tensor};
  call(op, &attrs, in, out, a.where);
}

}  // namespace

namespace linalg {

Tensor solve(const Arg& a, const Arg& b) {
  const At at(a);
  need_matrices("solve", a, true);
  // As in PyTorch, b is a batch of vectors if it has one dim, or a's dims without the last.
  const Tensor &x = a.tensor, &y = b.tensor;
  bool vector = y.rank() == 1;
  if (!vector && y.rank() == x.rank() - 1) {
    vector = true;
    for (int i = 0; i < y.rank(); ++i) vector = vector && y.raw_shape()[i] == x.raw_shape()[i];
  }
  Tensor left = x, right = vector ? y.unsqueeze(-1, a.where) : y;
  need_sides("solve", a, at(right), dim_of(x, -1));
  broadcast_batches("solve", &left, &right, at);
  Tensor out = call(OpId::kSolve, NoAttrs{}, {at(left), at(right)});
  return vector ? out.squeeze(-1, a.where) : out;
}

Tensor inv(const Arg& a) {
  need_matrices("inverse", a, true);
  return call(OpId::kInverse, NoAttrs{}, {a});
}

Tensor solve_triangular(const Arg& a, const Arg& b, bool upper, bool left, bool unitriangular) {
  const At at(a);
  need_matrices("solve_triangular", a, true);
  if (!left) {  // x a = b is a^T x^T = b^T
    if (b.tensor.rank() < 2)
      bad_shape("solve_triangular",
                "needs matrices, got " + text(a.tensor) + " and " + text(b.tensor), a.where);
    Tensor x =
        solve_triangular(at(mt(a.tensor, at)), at(mt(b.tensor, at)), !upper, true, unitriangular);
    return mt(x, at);
  }
  need_sides("solve_triangular", a, b, dim_of(a.tensor, -1));
  Tensor l = a.tensor, r = b.tensor;
  broadcast_batches("solve_triangular", &l, &r, at);
  return call(OpId::kTriangularSolve, TriangularAttrs{upper ? 1 : 0, 0, unitriangular ? 1 : 0},
              {at(l), at(r)});
}

Tensor det(const Arg& a) {
  need_matrices("det", a, true);
  return call(OpId::kDet, NoAttrs{}, {a});
}
SlogdetResult slogdet(const Arg& a) {
  need_matrices("slogdet", a, true);
  Tensor out[2];
  call_into(OpId::kSlogDet, NoAttrs{}, a, out);
  return {out[0], out[1]};
}

Tensor cholesky(const Arg& a, bool upper) {
  need_matrices("cholesky", a, true);
  Tensor l = call(OpId::kCholesky, NoAttrs{}, {a});
  return upper ? mt(l, At(a)) : l;
}

QrResult qr(const Arg& a, const std::string& mode) {
  need_matrices("qr", a, false);
  if (mode != "reduced" && mode != "complete" && mode != "r") {
    throw_error("qr", "mode is \"reduced\", \"complete\" or \"r\", got \"" + mode + "\"", a.where);
  }
  Tensor out[2];
  call_into(OpId::kQr, FactorAttrs{mode == "complete" ? 1 : 0}, a, out);
  return {mode == "r" ? Tensor() : out[0], out[1]};
}

SvdResult svd(const Arg& a, bool full_matrices) {
  need_matrices("svd", a, false);
  Tensor out[3];
  call_into(OpId::kSvd, FactorAttrs{full_matrices ? 1 : 0}, a, out);
  return {out[0], out[1], out[2]};
}
Tensor svdvals(const Arg& a) { return svd(a, false).s; }

EighResult eigh(const Arg& a, char uplo) {
  need_matrices("eigh", a, true);
  if (uplo != 'L' && uplo != 'U') throw_error("eigh", "uplo is 'L' or 'U'", a.where);
  Tensor out[2];
  if (uplo == 'L') {
    call_into(OpId::kEigh, NoAttrs{}, a, out);
  } else {
    Tensor lower = mt(a.tensor, At(a));
    call_into(OpId::kEigh, NoAttrs{}, {lower, a.where}, out);
  }
  return {out[0], out[1]};
}
Tensor eigvalsh(const Arg& a, char uplo) { return eigh(a, uplo).eigenvalues; }

EigResult eig(const Arg& a) {
  need_matrices("eig", a, true);
  Tensor out[2];
  call_into(OpId::kEig, NoAttrs{}, a, out);
  return {out[0], out[1]};
}
Tensor eigvals(const Arg& a) { return eig(a).eigenvalues; }

// Throws if U has a 0 on its diagonal.
static void need_pivots(const Arg& a, const Tensor& lu) {
  if (active_tracer() != nullptr || lu.layout().numel() == 0) return;
  NoGrad guard;
  const std::vector<double> d =
      diagonal(lu.detach(), 0, -2, -1).to(DType::kF64).to_vector<double>(a.where);
  const int64_t n = std::min(dim_of(lu, -2), dim_of(lu, -1));
  for (size_t i = 0; i < d.size(); ++i) {
    if (d[i] != 0) continue;
    auto entry = static_cast<int64_t>(i) / n;
    const Shape batch = batch_of(lu);
    Shape place = batch;
    for (int k = batch.rank() - 1; k >= 0; --k) {
      place[k] = entry % batch[k];
      entry /= batch[k];
    }
    throw_error("lu_factor",
                "the matrix" +
                    (batch.rank() > 0 ? std::string(" at batch ") + to_text(place).text : "") +
                    " of " + to_text(a.tensor.raw_shape()).text + " is singular: pivot " +
                    std::to_string(static_cast<int64_t>(i) % n + 1) +
                    " of its LU factors is 0. lu() gives its factors",
                a.where);
  }
}

// The packed factors, the pivots, and the rows of a in the order of l u.
struct Factored {
  Tensor lu, pivots, rows;
};
static Factored factored(const char* op, const Arg& a) {
  need_matrices(op, a, false);
  Tensor out[3];
  call_into(OpId::kLuFactor, NoAttrs{}, a, out);
  return {out[0], out[1], out[2]};
}

LuFactorResult lu_factor(const Arg& a) {
  const Factored f = factored("lu_factor", a);
  need_pivots(a, f.lu);
  return {f.lu, f.pivots};
}

// Returns the rows of a in the order of l u, int64 [..., m], from the exchanges.
static Tensor rows_of(const char* op, const Arg& lu, const Tensor& pivots) {
  const Tensor& a = lu.tensor;
  const int64_t m = dim_of(a, -2), k = std::min(m, dim_of(a, -1));
  Shape want = batch_of(a);
  want.push_back(k);
  if (!pivots.defined() || pivots.dtype() != DType::kI32 || !(pivots.raw_shape() == want)) {
    throw_error(op,
                "pivots must be what lu_factor() gave with the factors " + text(a) + ": int32 " +
                    to_text(want).text + ", got " +
                    (pivots.defined() ? dtype_name(pivots.dtype()) + text(pivots) : "none"),
                lu.where);
  }
  const std::vector<int32_t> exchanges = pivots.to_vector<int32_t>(lu.where);
  const int64_t batches = numel(batch_of(a));
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(batches * m));
  for (int64_t b = 0; b < batches; ++b) {
    const auto first = static_cast<int64_t>(rows.size());
    for (int64_t i = 0; i < m; ++i) rows.push_back(i);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t with = exchanges[static_cast<size_t>(b * k + i)] - 1;
      if (with < i || with >= m) {
        throw_error(op,
                    "pivot " + std::to_string(with + 1) + " at place " + std::to_string(i) +
                        " is not in [" + std::to_string(i + 1) + ", " + std::to_string(m) +
                        "]: pivots must be what lu_factor() gave",
                    lu.where);
      }
      std::swap(rows[static_cast<size_t>(first + i)], rows[static_cast<size_t>(first + with)]);
    }
  }
  Shape shape = batch_of(a);
  shape.push_back(m);
  return from_blob(rows.data(), shape, DType::kI64, lu.where);
}

static LuResult unpacked(const Tensor& lu, const Tensor& rows, const At& at) {
  const int64_t m = dim_of(lu, -2), n = dim_of(lu, -1), k = std::min(m, n);
  const DType t = lu.dtype();
  LuResult r;
  r.p = eq(at(arange(m).unsqueeze(-1)), at(rows.unsqueeze(-2, at.where))).to(t, at.where);
  r.l = at(tril(at(lu.narrow(-1, 0, k, at.where)), -1)) + at(eye(m, k, t, at.where));
  r.u = triu(at(lu.narrow(-2, 0, k, at.where)));
  return r;
}

LuResult lu(const Arg& a) {
  const Factored f = factored("lu", a);
  return unpacked(f.lu, f.rows, At(a));
}

Tensor lu_solve(const Arg& lu, const Tensor& pivots, const Arg& b, bool left, bool adjoint) {
  const At at(b);
  need_matrices("lu_solve", lu, true);
  if (b.tensor.rank() < 2) bad_shape("lu_solve", "needs matrices, got " + text(b.tensor), b.where);
  if (!left) {  // x a = b is a^T x^T = b^T
    return mt(lu_solve(lu, pivots, at(mt(b.tensor, at)), true, !adjoint), at);
  }
  need_sides("lu_solve", lu, b, dim_of(lu.tensor, -1));
  const Tensor rows = rows_of("lu_solve", lu, pivots);
  Tensor factors = lu.tensor, x = b.tensor;
  broadcast_batches("lu_solve", &factors, &x, at);
  auto ordered = [&](const Tensor& y, const Tensor& by) {
    const Tensor index = by.unsqueeze(-1, at.where).expand(y.raw_shape(), at.where);
    return y.layout().numel() == 0 ? y : gather(at(y), -2, at(index));
  };
  if (!adjoint) {
    const Tensor half = solve_triangular(at(factors), at(ordered(x, rows)), false, true, true);
    return solve_triangular(at(factors), at(half), true);
  }
  const Tensor turned = mt(factors, at);
  const Tensor half = solve_triangular(at(turned), at(x), false);
  const Tensor y = solve_triangular(at(turned), at(half), true, true, true);
  return y.layout().numel() == 0 ? y : ordered(y, argsort(at(rows)));
}

// Checks R of the QR of a (or its transpose): a column that depends on those before it leaves only
// rounding errors on the diagonal.
static void need_full_rank(const Arg& a, const Tensor& r) {
  if (active_tracer() != nullptr) return;
  const int64_t n = dim_of(r, -1), rows = std::max(dim_of(a.tensor, -1), dim_of(a.tensor, -2));
  const double eps = finfo(r.dtype()).eps * static_cast<double>(rows);
  const std::vector<double> all = r.detach().to(DType::kF64).to_vector<double>();
  const size_t step = static_cast<size_t>(n * n);
  for (size_t from = 0; from < all.size(); from += step) {
    double least = kInf, most = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double d = std::fabs(all[from + static_cast<size_t>(i * (n + 1))]);
      least = std::min(least, d);
      most = std::max(most, d);
    }
    if (least <= eps * most) {
      throw_error(
          "lstsq",
          text(a.tensor) + " has not full rank: pinv(a) times b gives the shortest solution",
          a.where);
    }
  }
}

LstsqResult lstsq(const Arg& a, const Arg& b) {
  const At at(a);
  need_matrices("lstsq", a, false);
  need_sides("lstsq", a, b, dim_of(a.tensor, -2));
  Tensor x = a.tensor, y = b.tensor;
  broadcast_batches("lstsq", &x, &y, at);
  const int64_t m = dim_of(x, -2), n = dim_of(x, -1);
  LstsqResult result;
  if (m >= n) {
    QrResult f = linalg::qr(at(x));
    need_full_rank(a, f.r);
    Tensor projected = matmul(at(mt(f.q, at)), at(y));
    result.solution = solve_triangular(at(f.r), at(projected), true);
  } else {  // the minimum-norm solution: a^T = q r, x = q r^-T b
    QrResult f = linalg::qr(at(mt(x, at)));
    need_full_rank(a, f.r);
    Tensor inner = solve_triangular(at(mt(f.r, at)), at(y), false);
    result.solution = matmul(at(f.q), at(inner));
  }
  if (m > n) {
    Tensor off = at(matmul(at(x), at(result.solution))) - at(y);
    result.residuals = sum(at(square(at(off))), {-2});
  } else {
    result.residuals = empty({0}, x.dtype());
  }
  return result;
}

static double default_rtol(const Tensor& a) {
  const double eps = a.dtype() == DType::kF32 ? std::numeric_limits<float>::epsilon()
                                              : std::numeric_limits<double>::epsilon();
  return eps * static_cast<double>(std::max(dim_of(a, -1), dim_of(a, -2)));
}

Tensor pinv(const Arg& a, std::optional<double> rtol) {
  const At at(a);
  need_matrices("pinv", a, false);
  if (a.tensor.layout().numel() == 0) {
    Shape s = batch_of(a.tensor);
    s.push_back(dim_of(a.tensor, -1));
    s.push_back(dim_of(a.tensor, -2));
    return zeros(s, a.tensor.dtype());
  }
  SvdResult f = svd(a, false);
  Tensor cut = at(amax(at(f.s), {-1}, true)) * rtol.value_or(default_rtol(a.tensor));
  Tensor kept = gt(at(f.s), at(cut));
  Tensor one = full({}, 1, f.s.dtype()), none = full({}, 0, f.s.dtype());
  Tensor safe = where(at(kept), at(f.s), at(one));
  Tensor inverse = where(at(kept), at(reciprocal(at(safe))), at(none));
  Tensor left = at(mt(f.vh, at)) * at(inverse.unsqueeze(-2, a.where));
  return matmul(at(left), at(mt(f.u, at)));
}

Tensor matrix_rank(const Arg& a, std::optional<double> rtol) {
  const At at(a);
  need_matrices("matrix_rank", a, false);
  if (a.tensor.layout().numel() == 0) return zeros(batch_of(a.tensor), DType::kI64);
  Tensor s = svdvals(at(a.tensor.detach()));
  Tensor cut = at(amax(at(s), {-1}, true)) * rtol.value_or(default_rtol(a.tensor));
  return sum(at(gt(at(s), at(cut)).to(DType::kI64, a.where)), {-1});
}

Tensor cond(const Arg& a, double p) {
  const At at(a);
  const bool spectral = p == 2 || p == -2;
  need_matrices("cond", a, !spectral);
  if (spectral) {
    Tensor s = svdvals(a);
    Tensor largest = amax(at(s), {-1}), smallest = amin(at(s), {-1});
    return p == 2 ? at(largest) / at(smallest) : at(smallest) / at(largest);
  }
  return at(matrix_norm(a, p)) * at(matrix_norm(at(inv(a)), p));
}

Tensor vector_norm(const Arg& x, double ord, Dims dims, bool keepdim) {
  const At at(x);
  if (!is_float(x.tensor.dtype())) {
    throw_error("vector_norm",
                std::string("needs a floating-point tensor, got ") + dtype_name(x.tensor.dtype()),
                x.where, Code::kTypeMismatch);
  }
  if (ord == 2) {
    Tensor s = sum(at(mul(x, x)), dims, keepdim);
    return where_positive(s, at, [&](const Tensor& safe) { return sqrt(at(safe)); });
  }
  Tensor magnitude = abs(x);
  const DType t = x.tensor.dtype();
  if (ord == kInf) return amax(at(magnitude), dims, keepdim);
  if (ord == -kInf) return amin(at(magnitude), dims, keepdim);
  if (ord == 0) return sum(at(ne(x, 0).to(t, x.where)), dims, keepdim);
  if (ord == 1) return sum(at(magnitude), dims, keepdim);
  // Returns f(s), but the constant `there` where s is 0, so that an infinite slope gives a gradient
  // of 0.
  auto off_zero = [&](const Tensor& s, double there, const auto& f) {
    Tensor zero = eq(at(s), 0), safe = where(at(zero), at(full({}, 1, t)), at(s));
    return where(at(zero), at(full({}, there, t)), at(f(safe)));
  };
  const double of_zero = ord > 0 ? 0 : kInf;  // 0 to the power of ord, or of 1 / ord
  Tensor powers =
      ord < 1 ? off_zero(magnitude, of_zero, [&](const Tensor& m) { return pow(at(m), ord); })
              : pow(at(magnitude), ord);
  Tensor s = sum(at(powers), dims, keepdim);
  return off_zero(s, of_zero, [&](const Tensor& safe) { return pow(at(safe), 1 / ord); });
}

// Returns the two dims of a matrix norm, as non-negative numbers.
static void matrix_dims(const Arg& a, Dims* dims) {
  if (dims->count != 2) throw_error("matrix_norm", "needs two dims", a.where);
  for (int i = 0; i < 2; ++i) {
    dims->values[i] = wrap_dim("matrix_norm", (*dims)[i], a.tensor.rank(), a.where);
  }
  if ((*dims)[0] == (*dims)[1]) throw_error("matrix_norm", "the two dims are one", a.where);
}

// Returns the singular values along a new last dim, without the two matrix dims.
static Tensor singular_values(const Arg& a, const Dims& dims) {
  TransposeAttrs p;
  for (int i = 0; i < a.tensor.rank(); ++i) {
    if (i != dims[0] && i != dims[1]) p.perm.values[p.perm.count++] = i;
  }
  p.perm.values[p.perm.count++] = dims[0];
  p.perm.values[p.perm.count++] = dims[1];
  const At at(a);
  return svdvals(at(call(OpId::kTranspose, p, {a})));
}
static Tensor keep(Tensor y, const Dims& dims, bool keepdim, const At& at) {
  if (!keepdim) return y;
  const int lo = static_cast<int>(std::min(dims[0], dims[1]));
  const int hi = static_cast<int>(std::max(dims[0], dims[1]));
  return y.unsqueeze(lo, at.where).unsqueeze(hi, at.where);
}

Tensor matrix_norm(const Arg& a, const char* ord, Dims dims, bool keepdim) {
  const At at(a);
  matrix_dims(a, &dims);
  const std::string name = ord;
  if (name == "fro") return vector_norm(a, 2, dims, keepdim);
  if (name == "nuc") {
    return keep(sum(at(singular_values(a, dims)), {-1}), dims, keepdim, at);
  }
  throw_error("matrix_norm", "ord is \"fro\", \"nuc\" or a number, got \"" + name + "\"", a.where);
}
Tensor matrix_norm(const Arg& a, double ord, Dims dims, bool keepdim) {
  const At at(a);
  matrix_dims(a, &dims);
  const double size = std::fabs(ord);
  if (size == 2) {
    Tensor s = singular_values(a, dims);
    return keep(ord > 0 ? amax(at(s), {-1}) : amin(at(s), {-1}), dims, keepdim, at);
  }
  if (size != 1 && size != kInf) {
    throw_error("matrix_norm", "ord is 1, 2, inf or their negative", a.where);
  }
  // Sums over columns (1) or rows (inf), then the extreme sum.
  const int64_t summed = size == 1 ? dims[0] : dims[1], other = size == 1 ? dims[1] : dims[0];
  Tensor sums = sum(at(abs(a)), {summed}, true);
  Tensor y = ord > 0 ? amax(at(sums), {other}, true) : amin(at(sums), {other}, true);
  if (keepdim) return y;
  const int lo = static_cast<int>(std::min(dims[0], dims[1]));
  const int hi = static_cast<int>(std::max(dims[0], dims[1]));
  return y.squeeze(hi, a.where).squeeze(lo, a.where);
}

Tensor norm(const Arg& x, std::optional<double> ord, Dims dims, bool keepdim) {
  if (!ord.has_value()) return vector_norm(x, 2, dims, keepdim);
  if (dims.count == 2) return matrix_norm(x, *ord, dims, keepdim);
  if (dims.count == 0 && x.tensor.rank() == 2) return matrix_norm(x, *ord, {-2, -1}, keepdim);
  return vector_norm(x, *ord, dims, keepdim);
}

Tensor matrix_power(const Arg& a, int64_t n) { return wick::matrix_power(a, n); }
Tensor matrix_exp(const Arg& a) { return wick::matrix_exp(a); }
Tensor multi_dot(const std::vector<Tensor>& matrices, Where where) {
  return chain_matmul(matrices, where);
}
Tensor cross(const Arg& a, const Arg& b, int dim) { return wick::cross(a, b, dim); }

}  // namespace linalg

Tensor cholesky(const Arg& a, bool upper) { return linalg::cholesky(a, upper); }

Tensor matrix_exp(const Arg& a) {
  const At at(a);
  need_matrices("matrix_exp", a, true);
  const DType dtype = a.tensor.dtype();
  if (a.tensor.layout().numel() == 0) return a.tensor.clone(a.where);
  const Tensor x = a.tensor.to(DType::kF64, a.where);
  double most = 0;  // the largest 1-norm decides how often all of them are halved
  {
    NoGrad guard;
    most = amax(at(sum(at(abs(at(x))), {-2}))).item(a.where);
  }
  if (!(most < 1e300)) return a.tensor * at(full({}, std::nan(""), dtype));
  const int halvings = most <= 0.5 ? 0 : static_cast<int>(std::ceil(std::log2(most / 0.5)));
  const Tensor half = at(x) * std::ldexp(1.0, -halvings);
  const Tensor one = eye(dim_of(x, -1), DType::kF64, a.where);
  constexpr int kTerms = 16;  // 0.5^17 / 17! is below 2e-20
  Tensor y = at(half) * (1.0 / kTerms) + one;
  for (int k = kTerms - 1; k >= 1; --k) y = at(matmul(at(half), at(y))) * (1.0 / k) + one;
  for (int i = 0; i < halvings; ++i) y = matmul(at(y), at(y));
  return y.to(dtype, a.where);
}

Tensor cov(const Arg& x, int64_t correction) {
  const At at(x);
  const int rank = x.tensor.rank(x.where);
  if (rank > 2 || !is_float(x.tensor.dtype()))
    bad_shape("cov", "needs floats [variables, observations], got " + text(x.tensor), x.where);
  const Tensor rows = rank == 2 ? x.tensor : x.tensor.reshape({1, -1}, x.where);
  const Tensor centred = at(rows) - mean(at(rows), {1}, true);
  const auto n = static_cast<double>(dim_of(rows, 1));
  const Tensor c = at(matmul(at(centred), at(mt(centred, at)))) /
                   std::max(0.0, n - static_cast<double>(correction));
  return dim_of(rows, 0) == 1 ? c.squeeze(x.where) : c;  // a number, as PyTorch's
}

Tensor corrcoef(const Arg& x) {
  const At at(x);
  const Tensor c = cov(x);
  if (c.rank() == 0) return at(c) / at(c);
  const Tensor d = sqrt(at(diagonal(at(c))));
  return clamp(at(at(at(c) / d.unsqueeze(1, x.where)) / d.unsqueeze(0, x.where)), -1, 1);
}

Tensor cholesky_solve(const Arg& b, const Arg& factor, bool upper) {
  const At at(b);
  Tensor l = upper ? mt(factor.tensor, at) : factor.tensor;
  Tensor half = linalg::solve_triangular(at(l), b, false);
  return linalg::solve_triangular(at(mt(l, at)), at(half), true);
}

Tensor triangular_solve(const Arg& b, const Arg& a, bool upper, bool transpose,
                        bool unitriangular) {
  const At at(b);
  if (!transpose) return linalg::solve_triangular(a, b, upper, true, unitriangular);
  return linalg::solve_triangular(at(mt(a.tensor, at)), b, !upper, true, unitriangular);
}

Tensor inverse(const Arg& a) { return linalg::inv(a); }
Tensor pinverse(const Arg& a, double rcond) { return linalg::pinv(a, rcond); }
Tensor det(const Arg& a) { return linalg::det(a); }
Tensor logdet(const Arg& a) {
  const At at(a);
  SlogdetResult d = linalg::slogdet(a);
  Tensor nan = full({}, std::numeric_limits<double>::quiet_NaN(), a.tensor.dtype());
  return where(at(lt(at(d.sign), 0)), at(nan), at(d.logabsdet));
}
SlogdetResult slogdet(const Arg& a) { return linalg::slogdet(a); }
LuFactorResult lu(const Arg& a) {
  const linalg::Factored f = linalg::factored("lu", a);
  return {f.lu, f.pivots};
}
Tensor lu_solve(const Arg& b, const Arg& lu, const Tensor& pivots) {
  return linalg::lu_solve(lu, pivots, b);
}
LuResult lu_unpack(const Arg& lu, const Tensor& pivots) {
  need_matrices("lu_unpack", lu, false);
  return linalg::unpacked(lu.tensor, linalg::rows_of("lu_unpack", lu, pivots), At(lu));
}
QrResult qr(const Arg& a, bool some) { return linalg::qr(a, some ? "reduced" : "complete"); }

}  // namespace wick
