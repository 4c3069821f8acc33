// The gradient of a determinant: the matrix of cofactors, which a singular matrix has as well.
//
// The value is the same with a history and without: det(A) A^-T if the inverse is accurate, and by
// singular values otherwise. The history of that product loses as many digits as the inverse.
// Otherwise A = U M V^T with U and V held constant, and M is split into a regular block and a block
// of the small singular values: there every derivative is a sum of products without a division by a
// small number, whatever the rank.
#include <algorithm>
#include <limits>

#include "trainer/autograd/grad/matrices.h"
#include "trainer/tensor/modes.h"

namespace wick {
namespace {

using matrices::extent;
using matrices::inverse;
using matrices::mt;
using matrices::on_diagonal;
using matrices::per_matrix;

// Limit of rows in the block of small singular values. If more of them are 0 to working precision,
// every derivative is 0 too.
constexpr int64_t kMostSmall = 16;

// Above this condition number an inverse is not relied upon.
constexpr double kWorstCondition = 0x1p13;
// A singular value is small if it is this fraction of the largest, and the last one in any case.
constexpr double kSmall = 0x1p-20;
constexpr double kRounding = std::numeric_limits<double>::epsilon();

Tensor det(const Tensor& a) { return call(OpId::kDet, NoAttrs{}, {a}); }
Tensor one_of(const Tensor& a) { return full({}, 1, a.dtype()); }
Tensor identity(const Tensor& a) {
  return where(on_diagonal(extent(a, 1)), one_of(a), zero_like(a));
}
// Returns the matrices of a batch that `mask` selects, and the identity for the others.
Tensor only(const Tensor& mask, const Tensor& a) { return where(per_matrix(mask), a, identity(a)); }
bool any_true(const Tensor& mask) {
  if (mask.layout().numel() == 0) return false;
  return amax(mask.to(DType::kI32).reshape({-1})).item() != 0;
}
// Returns, for each element of s[..., n], the product of the others.
Tensor product_of_others(const Tensor& s) {
  return prod(where(on_diagonal(extent(s, 1)), one_of(s), s.unsqueeze(-2)), {-1});
}
Tensor length(const Tensor& a, Dims dims) { return sqrt(sum(a * a, dims)); }

struct Svd {
  Tensor u, s, vt, sign;  // the sign of det(U) det(V)
  explicit Svd(const Tensor& a) {
    FactorAttrs f;
    Tensor out[3];
    const Tensor* in[] = {&a};
    call(OpId::kSvd, &f, in, out, Where::current());
    u = out[0], s = out[1], vt = out[2], sign = per_matrix(det(u) * det(vt));
  }
  // Returns the cofactors of U M V^T, given those of M.
  Tensor turned(const Tensor& cofactors) const { return sign * matmul(matmul(u, cofactors), vt); }
};

// The inverses of a batch's matrices; `singular` says which have none, or one too inaccurate to be
// used. In the place of those the identity's stands.
struct Inverses {
  Tensor singular, inverse;
};
Inverses inverses_of(const Tensor& whole, const Tensor& det) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor a = whole.detach();
  Tensor rows = prod(length(a, {-1}), {-1});
  Tensor small = le(abs(det), rows * (16 * static_cast<double>(extent(a, 1)) * kRounding));
  // rows of infinite numbers have no singular values
  Tensor singular = logical_or(eq(det, 0), logical_and(small, lt(rows, kInf)));
  Tensor inverted = inverse(only(logical_not(singular), whole)), sure = inverted.detach();
  Tensor rough = logical_and(logical_not(singular),
                             ge(length(a, {-2, -1}) * length(sure, {-2, -1}), kWorstCondition));
  if (any_true(rough)) {  // their inverses, which may be infinite, have no place in the history
    singular = logical_or(singular, rough);
    inverted = inverse(only(logical_not(singular), whole));
  }
  return {singular, inverted};
}

// Scales a so that its rows and columns have norms of about 1, with factors that are held constant:
// a matrix that is small only because of its units is not singular.
struct Scaled {
  Tensor a, factors;  // factors: the factors of the cofactors
  explicit Scaled(const Tensor& whole) {
    auto unless_zero = [](const Tensor& t) { return where(eq(t, 0), one_of(t), t); };
    Tensor fixed = whole.detach(), rows = unless_zero(length(fixed, {-1})).unsqueeze(-1);
    Tensor columns = unless_zero(length(fixed / rows, {-2})).unsqueeze(-2);
    a = whole / rows / columns;
    factors = product_of_others(rows.squeeze(-1)).unsqueeze(-1) *
              product_of_others(columns.squeeze(-2)).unsqueeze(-2);
  }
};

// Faddeev and LeVerrier's recurrence: only products and sums. For few rows of norm 1 or less, as
// the cancellation grows as fast as 2^n.
Tensor cofactors_of_few(const Tensor& a) {
  const int64_t n = extent(a, 1);
  Tensor diagonal = identity(a), m = diagonal.expand(a.raw_shape());
  for (int64_t k = 1; k < n; ++k) {
    Tensor product = matmul(a, m);
    Tensor trace = sum(product * diagonal, {-2, -1}, true);
    m = trace * (1.0 / static_cast<double>(k)) * diagonal - product;
  }
  return mt(m);
}

// Returns the cofactors of m, whose value is the diagonal s[..., n], descending, with k small ones
// at its end. They are put together from X, the inverse of the regular block, and the cofactors of
// the small block's Schur complement.
Tensor cofactors_of_blocks(const Tensor& m, const Tensor& s, int64_t k) {
  const int64_t r = extent(m, 1) - k;
  auto block = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    return m.narrow(-2, row, rows).narrow(-1, column, columns);
  };
  Tensor x, across, down, schur = block(r, k, r, k);
  if (r > 0) {
    x = inverse(block(0, r, 0, r));
    across = matmul(x, block(0, r, r, k)), down = matmul(block(r, k, 0, r), x);
    schur = schur - matmul(block(r, k, 0, r), across);
  }
  // scaled to norm 1 or less
  Tensor size = maximum(s.narrow(-1, r, 1), s.narrow(-1, 0, 1) * kRounding);
  size = where(eq(size, 0), one_of(s), size);
  Tensor scaled = schur / size.unsqueeze(-1), few = cofactors_of_few(scaled);
  auto power = [&](int64_t n) { return pow(size, static_cast<double>(n)).unsqueeze(-1); };
  Tensor corner = power(k - 1) * few;
  if (r == 0) return corner;
  Tensor whole = power(k) * sum(scaled * few, {-2, -1}, true) * (1.0 / static_cast<double>(k));
  Tensor beside = matmul(corner, mt(across)), above = matmul(mt(down), corner);
  Tensor top = cat({whole * mt(x) + matmul(above, mt(across)), -above}, -1);
  Tensor all = cat({top, cat({-beside, corner}, -1)}, -2);
  return per_matrix(det(block(0, r, 0, r))) * all;
}

// Returns `value` with the history of `same`.
Tensor with_history(const Tensor& value, const Tensor& same) {
  Tensor now = same.detach(), is_finite = eq(now * 0, 0);
  return value + where(is_finite, same - now, zero_like(now));
}

// Returns the cofactors of the singular matrices, with or without a history. The others are
// replaced by the identity.
Tensor cofactors_of_singular(const Tensor& singular, const Tensor& whole, bool with_a_history) {
  Scaled scaled(only(singular, whole));
  Svd svd(scaled.a.detach());
  const int64_t n = extent(whole, 1);
  Tensor others = product_of_others(svd.s).unsqueeze(-2);
  Tensor value = svd.sign * matmul(svd.u * others, svd.vt) * scaled.factors;
  if (!with_a_history) return value;
  auto count = [&](double least) {
    Tensor small = le(svd.s, svd.s.narrow(-1, 0, 1) * least);
    return sum(small.to(DType::kI64), {-1}).clamp(1);
  };
  Tensor small = count(kSmall).clamp(1, kMostSmall);
  Tensor has_any = le(count(16 * static_cast<double>(n) * kRounding), kMostSmall);
  Tensor m = matmul(matmul(mt(svd.u), scaled.a), mt(svd.vt)), result = value;
  for (int64_t k = 1; k <= std::min(n, kMostSmall); ++k) {
    Tensor mine = logical_and(logical_and(singular, has_any), eq(small, k));
    if (!any_true(mine)) continue;
    Tensor s = where(mine.unsqueeze(-1), svd.s, one_of(svd.s));
    Tensor same = svd.turned(cofactors_of_blocks(only(mine, m), s, k)) * scaled.factors;
    result = where(per_matrix(mine), with_history(value, same), result);
  }
  return result;
}

}  // namespace

// Computed in double like the determinant itself: in a narrower dtype the small singular values
// would be below the rounding of the large ones.
WICK_GRAD(Det, 1, 1, 0, [](GradCtx& c) {
  Tensor a = c.in(0).to(DType::kF64);
  Tensor of_a = c.in(0).dtype() == DType::kF64 ? c.out() : det(a);
  const bool none = a.layout().numel() == 0;
  const Inverses of = none ? Inverses{full(of_a.raw_shape(), 0, DType::kBool), inverse(a)}
                           : inverses_of(a, of_a.detach());
  const Tensor& singular = of.singular;
  Tensor cofactors = per_matrix(where(singular, one_of(a), of_a)) * mt(of.inverse);
  if (any_true(singular)) {
    const bool with_a_history = grad_enabled() || modes().forward != 0;
    cofactors =
        where(per_matrix(singular), cofactors_of_singular(singular, a, with_a_history), cofactors);
  }
  c.set(0, per_matrix(c.g()) * cofactors.to(c.in_dtype(0)));
});

}  // namespace wick
