#include "trainer/tensor/ops/matmul.h"

#include <limits>

#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"

namespace wick {
namespace {

void need_ranks(const char* op, const Arg& a, int rank_a, const Arg& b, int rank_b,
                const char* what) {
  if (a.tensor.rank() == rank_a && b.tensor.rank() == rank_b) return;
  bad_shape(op, std::string("needs ") + what + ", got " + text(a.tensor) + " and " + text(b.tensor),
            a.where);
}
void need_equal(const char* op, const Arg& a, int dim_a, const Arg& b, int dim_b) {
  if (dim_of(a.tensor, dim_a) == dim_of(b.tensor, dim_b)) return;
  bad_shape(op, "inner dimensions differ: " + text(a.tensor) + " x " + text(b.tensor), a.where);
}
void need_one_dtype(const char* op, const Arg& a, const Arg& b) {
  const DType ta = a.tensor.dtype(), tb = b.tensor.dtype();
  if (ta == tb || autocast_joins(ta, tb)) return;
  throw_error(op,
              std::string("operands must have one dtype, got ") + dtype_name(a.tensor.dtype()) +
                  " and " + dtype_name(b.tensor.dtype()) + ": convert one with to()",
              a.where, Code::kTypeMismatch);
}

// beta * x + alpha * product, with x broadcast to the product.
Tensor blend(const char* op, const Arg& x, const Tensor& product, Scalar beta, Scalar alpha) {
  const At at(x.where);
  if (!is_float(product.dtype()) && !(beta.integral && alpha.integral)) {
    throw_error(op, "beta and alpha must be integers for integer tensors", x.where,
                Code::kTypeMismatch);
  }
  need_one_dtype(op, x, at(product));
  const Shape& s = x.tensor.raw_shape();
  bool fits = s.rank() <= product.rank();
  for (int i = 1; fits && i <= s.rank(); ++i) {
    fits = dim_of(x.tensor, -i) == 1 || dim_of(x.tensor, -i) == dim_of(product, -i);
  }
  if (!fits) {
    bad_shape(op, "input " + text(x.tensor) + " does not broadcast to the product " + text(product),
              x.where);
  }
  Tensor y = alpha.value == 1 ? product : at(product) * alpha;
  if (beta.value == 0) return y;
  return beta.value == 1 ? add(x, at(y)) : add(at(x * beta), at(y));
}

}  // namespace

Tensor reshape_to(const Tensor& x, const Dims& dims, const At& at) {
  if (x.layout().numel() != 0) {
    ReshapeAttrs a;
    a.shape = dims;
    std::replace(a.shape.values, a.shape.values + a.shape.count, kCopy, int64_t{0});
    return call(OpId::kReshape, a, {at(x)});
  }
  // -1 is undefined for an empty tensor: there is no batch to keep, so the sizes are known.
  Shape s;
  s.set_rank(static_cast<int>(dims.count));
  int64_t known = 1, total = 1;
  bool zero = false;
  for (int i = 0; i < s.rank(); ++i) {
    s[i] = dims[i] == kCopy ? x.raw_shape()[i] : dims[i];
    zero = zero || s[i] == 0;
    known = saturated_product(known, s[i] > 0 ? s[i] : 1);  // reshape() refuses what is too large
  }
  for (int64_t d : x.raw_shape()) total *= d == 0 ? 1 : d;
  for (int i = 0; i < s.rank(); ++i) {
    if (s[i] == -1) s[i] = zero ? total / known : 0;
  }
  return x.reshape(s, at.where);
}

Tensor matmul(const Arg& a, const Arg& b) { return call(OpId::kMatMul, NoAttrs{}, {a, b}); }

Tensor mm(const Arg& a, const Arg& b) {
  need_ranks("mm", a, 2, b, 2, "two matrices");
  need_equal("mm", a, 1, b, 0);
  need_one_dtype("mm", a, b);
  return matmul(a, b);
}
Tensor bmm(const Arg& a, const Arg& b) {
  need_ranks("bmm", a, 3, b, 3, "two batches of matrices");
  if (dim_of(a.tensor, 0) != dim_of(b.tensor, 0)) {
    bad_shape("bmm", "batch sizes differ: " + text(a.tensor) + " x " + text(b.tensor), a.where);
  }
  need_equal("bmm", a, 2, b, 1);
  need_one_dtype("bmm", a, b);
  return matmul(a, b);
}
Tensor mv(const Arg& a, const Arg& x) {
  need_ranks("mv", a, 2, x, 1, "a matrix and a vector");
  need_equal("mv", a, 1, x, 0);
  need_one_dtype("mv", a, x);
  return matmul(a, x);
}
Tensor dot(const Arg& a, const Arg& b) {
  need_ranks("dot", a, 1, b, 1, "two vectors");
  need_equal("dot", a, 0, b, 0);
  need_one_dtype("dot", a, b);
  return matmul(a, b);
}
Tensor vdot(const Arg& a, const Arg& b) { return dot(a, b); }

Tensor inner(const Arg& a, const Arg& b) {
  if (a.tensor.rank() == 0 || b.tensor.rank() == 0) return mul(a, b);
  need_equal("inner", a, -1, b, -1);
  need_one_dtype("inner", a, b);
  return tensordot(a, b, {a.tensor.rank() - 1}, {b.tensor.rank() - 1});
}
Tensor outer(const Arg& a, const Arg& b) {
  need_ranks("outer", a, 1, b, 1, "two vectors");
  const At at(a);
  return mul(at(a.tensor.unsqueeze(1, a.where)), at(b.tensor.unsqueeze(0, a.where)));
}
Tensor ger(const Arg& a, const Arg& b) { return outer(a, b); }

Tensor linear(const Arg& x, const Arg& weight, const Tensor& bias) {
  if (weight.tensor.rank() == 1) {  // as in PyTorch: one output feature, whose dim is dropped
    Tensor y = matmul(x, weight);
    return bias.defined() ? add({y, x.where}, {bias, x.where}) : y;
  }
  return call(OpId::kLinear, NoAttrs{}, {x, weight, {bias, x.where}});
}

Tensor bilinear(const Arg& x1, const Arg& x2, const Arg& weight, const Tensor& bias) {
  const At at(x1);
  if (weight.tensor.rank() != 3 || x1.tensor.rank() < 1 || x1.tensor.rank() != x2.tensor.rank() ||
      dim_of(x1.tensor, -1) != dim_of(weight.tensor, 1) ||
      dim_of(x2.tensor, -1) != dim_of(weight.tensor, 2)) {
    bad_shape("bilinear",
              "needs x1[..., i], x2[..., j], weight[o, i, j], got " + text(x1.tensor) + ", " +
                  text(x2.tensor) + ", " + text(weight.tensor),
              x1.where);
  }
  Tensor y = einsum("...i,oij,...j->...o", {x1, weight, x2});
  return bias.defined() ? add(at(y), at(bias)) : y;
}

Tensor addmm(const Arg& x, const Arg& a, const Arg& b, Scalar beta, Scalar alpha) {
  need_ranks("addmm", a, 2, b, 2, "two matrices");
  need_equal("addmm", a, 1, b, 0);
  need_one_dtype("addmm", a, b);
  return blend("addmm", x, matmul(a, b), beta, alpha);
}
Tensor addmv(const Arg& x, const Arg& a, const Arg& v, Scalar beta, Scalar alpha) {
  need_ranks("addmv", a, 2, v, 1, "a matrix and a vector");
  need_equal("addmv", a, 1, v, 0);
  need_one_dtype("addmv", a, v);
  return blend("addmv", x, matmul(a, v), beta, alpha);
}
Tensor addr(const Arg& x, const Arg& a, const Arg& b, Scalar beta, Scalar alpha) {
  need_ranks("addr", a, 1, b, 1, "two vectors");
  return blend("addr", x, outer(a, b), beta, alpha);
}
Tensor baddbmm(const Arg& x, const Arg& a, const Arg& b, Scalar beta, Scalar alpha) {
  return blend("baddbmm", x, bmm(a, b), beta, alpha);
}
Tensor addbmm(const Arg& x, const Arg& a, const Arg& b, Scalar beta, Scalar alpha) {
  const At at(x);
  return blend("addbmm", x, sum(at(bmm(a, b)), {0}), beta, alpha);
}

Tensor tensordot(const Arg& a, const Arg& b, Dims a_dims, Dims b_dims) {
  const At at(a);
  if (a_dims.count != b_dims.count) {
    throw_error("tensordot",
                "both lists of dims must be as long, got " + std::to_string(a_dims.count) +
                    " and " + std::to_string(b_dims.count),
                a.where);
  }
  need_one_dtype("tensordot", a, b);
  bool used_a[kMaxRank] = {}, used_b[kMaxRank] = {};
  int64_t k = 1;
  for (int64_t i = 0; i < a_dims.count; ++i) {
    const int da = wrap_dim("tensordot", a_dims[i], a.tensor.rank(), a.where);
    const int db = wrap_dim("tensordot", b_dims[i], b.tensor.rank(), a.where);
    a_dims.values[i] = da, b_dims.values[i] = db;
    if (used_a[da] || used_b[db]) throw_error("tensordot", "a dim is contracted twice", a.where);
    used_a[da] = used_b[db] = true;
    if (dim_of(a.tensor, da) != dim_of(b.tensor, db)) {
      bad_shape("tensordot",
                "dim " + std::to_string(da) + " of " + text(a.tensor) + " and dim " +
                    std::to_string(db) + " of " + text(b.tensor) + " differ",
                a.where);
    }
    k *= dim_of(a.tensor, da);
  }
  TransposeAttrs pa, pb;
  Shape out;
  int64_t m = 1, n = 1;
  for (int i = 0; i < a.tensor.rank(); ++i) {
    if (used_a[i]) continue;
    pa.perm.values[pa.perm.count++] = i;
    m *= dim_of(a.tensor, i);
    out.push_back(dim_of(a.tensor, i));
  }
  for (int64_t d : a_dims.span()) pa.perm.values[pa.perm.count++] = d;
  pb.perm = b_dims;
  for (int i = 0; i < b.tensor.rank(); ++i) {
    if (used_b[i]) continue;
    pb.perm.values[pb.perm.count++] = i;
    n *= dim_of(b.tensor, i);
    out.push_back(dim_of(b.tensor, i));
  }
  Tensor x = a.tensor, y = b.tensor;
  if (x.rank() > 0) x = call(OpId::kTranspose, pa, {a});
  if (y.rank() > 0) y = call(OpId::kTranspose, pb, {at(y)});
  Tensor z = matmul(at(x.reshape({m, k}, a.where)), at(y.reshape({k, n}, a.where)));
  return z.reshape(out, a.where);
}
Tensor tensordot(const Arg& a, const Arg& b, int64_t dims) {
  if (dims < 0 || dims > a.tensor.rank() || dims > b.tensor.rank()) {
    bad_shape("tensordot",
              "cannot contract " + std::to_string(dims) + " dims of " + text(a.tensor) + " and " +
                  text(b.tensor),
              a.where);
  }
  Dims da, db;
  for (int64_t i = 0; i < dims; ++i) {
    da.values[da.count++] = a.tensor.rank() - dims + i;
    db.values[db.count++] = i;
  }
  return tensordot(a, b, da, db);
}

Tensor kron(const Arg& a, const Arg& b) {
  const At at(a);
  const int rank = std::max(a.tensor.rank(), b.tensor.rank());
  if (2 * rank > kMaxRank) {
    bad_shape("kron", "rank " + std::to_string(rank) + " is too high: at most 4", a.where);
  }
  // a[i, 1, j, 1] * b[1, p, 1, q], with pairs of dims merged
  Shape sa, sb, out;
  for (int i = rank; i > 0; --i) {
    const int64_t da = i > a.tensor.rank() ? 1 : dim_of(a.tensor, -i);
    const int64_t db = i > b.tensor.rank() ? 1 : dim_of(b.tensor, -i);
    sa.push_back(da);
    sa.push_back(1);
    sb.push_back(1);
    sb.push_back(db);
    out.push_back(da * db);
  }
  Tensor y = mul(at(a.tensor.reshape(sa, a.where)), at(b.tensor.reshape(sb, a.where)));
  return y.reshape(out, a.where);
}

Tensor chain_matmul(const std::vector<Tensor>& given, Where where) {
  const At at(where);
  if (given.empty()) throw_error("chain_matmul", "needs at least one matrix", where);
  const size_t n = given.size();
  for (size_t i = 0; i < n; ++i) {
    if (!given[i].defined())
      throw_error("chain_matmul", "operand " + std::to_string(i) + " is undefined", where);
  }
  std::vector<Tensor> m = given;
  const bool row = n > 1 && m.front().rank() == 1, column = n > 1 && m.back().rank() == 1;
  if (row) m.front() = m.front().unsqueeze(0, where);
  if (column) m.back() = m.back().unsqueeze(1, where);
  for (size_t i = 0; i < n; ++i) {
    if (m[i].rank() != 2) {
      bad_shape("chain_matmul", "operand " + std::to_string(i) + " is no matrix: " + text(given[i]),
                where);
    }
    if (i > 0 && dim_of(m[i - 1], 1) != dim_of(m[i], 0)) {
      bad_shape("chain_matmul",
                "inner dimensions of operands " + std::to_string(i - 1) + " and " +
                    std::to_string(i) + " differ: " + text(given[i - 1]) + " x " + text(given[i]),
                where);
    }
  }
  // cost[i][j]: multiplications for m[i] ... m[j]; split[i][j]: where to split
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] +
                         static_cast<double>(dim_of(m[i], 0)) *
                             static_cast<double>(dim_of(m[k], 1)) *
                             static_cast<double>(dim_of(m[j], 1));
        if (c < cost[i][j]) cost[i][j] = c, split[i][j] = k;
      }
    }
  }
  auto product = [&](auto& self, size_t i, size_t j) -> Tensor {
    if (i == j) return m[i];
    const size_t k = split[i][j];
    return matmul(at(self(self, i, k)), at(self(self, k + 1, j)));
  };
  Tensor y = product(product, 0, n - 1);
  if (row) y = y.squeeze(0, where);
  if (column) y = y.squeeze(-1, where);
  return y;
}

Tensor matrix_power(const Arg& a, int64_t n) {
  const At at(a);
  if (a.tensor.rank() < 2 || dim_of(a.tensor, -1) != dim_of(a.tensor, -2)) {
    bad_shape("matrix_power", "needs square matrices, got " + text(a.tensor), a.where);
  }
  Tensor base = a.tensor;
  if (n < 0) {
    base = linalg::inv(a);
    n = -n;
  }
  if (n == 0) {
    return eye(dim_of(base, -1), base.dtype()).expand(base.raw_shape(), a.where).clone(a.where);
  }
  Tensor y;
  for (;; base = matmul(at(base), at(base)), n >>= 1) {
    if ((n & 1) != 0) y = y.defined() ? matmul(at(y), at(base)) : base;
    if (n == 1) return y.is_same(a.tensor) ? y.clone(a.where) : y;
  }
}

Tensor trace(const Arg& a) {
  const At at(a);
  if (a.tensor.rank() != 2) bad_shape("trace", "needs a matrix, got " + text(a.tensor), a.where);
  const int64_t rows = dim_of(a.tensor, 0), cols = dim_of(a.tensor, 1), n = std::min(rows, cols);
  Tensor square = a.tensor.narrow(0, 0, n, a.where).narrow(1, 0, n, a.where);
  Tensor flat = square.reshape({n * n}, a.where);
  return sum(at(flat.slice(0, 0, n * n, n + 1, a.where)));
}

Tensor cross(const Arg& a, const Arg& b, std::optional<int> dim) {
  const At at(a);
  const Tensor &x = a.tensor, &y = b.tensor;
  int d = -1;
  if (dim.has_value()) {
    d = wrap_dim("cross", *dim, std::max(x.rank(), y.rank()), a.where);
  } else {
    for (int i = 0; i < x.rank() && d < 0; ++i) d = x.raw_shape()[i] == 3 ? i : -1;
  }
  if (d < 0 || x.rank() != y.rank() || dim_of(x, d) != 3 || dim_of(y, d) != 3) {
    bad_shape("cross",
              "needs two tensors of one rank with 3 elements along the dim, got " + text(x) +
                  " and " + text(y),
              a.where);
  }
  auto part = [&](const Tensor& t, int i) { return t.narrow(d, i, 1, a.where); };
  std::vector<Tensor> out;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    out.push_back(at(at(part(x, j)) * at(part(y, k))) - at(at(part(x, k)) * at(part(y, j))));
  }
  return cat(out, d, a.where);
}

Tensor dist(const Arg& a, const Arg& b, double p) { return norm({sub(a, b), a.where}, p); }

Tensor cdist(const Arg& a, const Arg& b, double p) {
  const At at(a);
  const Tensor &x = a.tensor, &y = b.tensor;
  if (x.rank() < 2 || y.rank() < 2 || dim_of(x, -1) != dim_of(y, -1)) {
    bad_shape("cdist", "needs [..., m, d] and [..., n, d], got " + text(x) + " and " + text(y),
              a.where);
  }
  Tensor d = at(x.unsqueeze(-2, a.where)) - at(y.unsqueeze(-3, a.where));
  return linalg::vector_norm(at(d), p, {-1});
}

Tensor cosine_similarity(const Arg& a, const Arg& b, int dim, double eps) {
  const At at(a);
  const int rank = std::max({a.tensor.rank(), b.tensor.rank(), 1});
  const int d = wrap_dim("cosine_similarity", dim, rank, a.where) - rank;
  // A vector that is repeated along the dim has the length of the repeated one.
  auto size = [d](const Tensor& t) { return -d > t.rank() ? -1 : t.raw_shape()[t.rank() + d]; };
  if (size(a.tensor) != size(b.tensor)) {
    const std::vector<Tensor> both = broadcast_tensors({a.tensor, b.tensor}, a.where);
    return cosine_similarity(at(both[0]), at(both[1]), d, eps);
  }
  auto unit = [&](const Arg& x) {
    Tensor square_norm = sum(at(square(x)), {d}, true);
    Tensor norm = sqrt(at(maximum(at(square_norm), at(full({}, eps * eps, x.tensor.dtype())))));
    return div(x, at(norm));
  };
  return sum(at(at(unit(a)) * at(unit(b))), {d});
}

Tensor pairwise_distance(const Arg& a, const Arg& b, double p, double eps, bool keepdim) {
  const At at(a);
  return linalg::vector_norm(at(at(sub(a, b)) + eps), p, {-1}, keepdim);
}

}  // namespace wick
