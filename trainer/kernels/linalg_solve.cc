// Cholesky, triangular and LU solves, determinants.
#include <cmath>

// clang-format off: Eigen's settings come first
#include "trainer/kernels/linalg.h"
#include "trainer/kernels/linalg_eigen-inl.h"
// clang-format on
#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "runtime/ops/attrs.h"

namespace wick::dense {
namespace {

// Returns the first leading minor that is not positive, found by plain loops for the error's text.
int64_t first_bad_minor(ConstMap a) {
  RowMajor l = a;
  for (int64_t j = 0; j < l.rows(); ++j) {
    double pivot = l(j, j);
    for (int64_t k = 0; k < j; ++k) pivot -= l(j, k) * l(j, k);
    if (!(pivot > 0)) return j + 1;
    l(j, j) = std::sqrt(pivot);
    for (int64_t i = j + 1; i < l.rows(); ++i) {
      double v = l(i, j);
      for (int64_t k = 0; k < j; ++k) v -= l(i, k) * l(j, k);
      l(i, j) = v / l(j, j);
    }
  }
  return l.rows();
}

int64_t zero_pivot(const Matrix& lu) {
  for (int64_t i = 0; i < lu.rows(); ++i) {
    if (lu(i, i) == 0) return i + 1;
  }
  return 0;
}

}  // namespace

int64_t cholesky(const Problem& p) {
  fix_block_sizes();
  Map l(p.out[0], p.m, p.n);
  Eigen::LLT<Matrix> factors(left(p));
  if (factors.info() != Eigen::Success) return first_bad_minor(left(p));
  l = factors.matrixL();
  for (int64_t i = 0; i < p.n; ++i) {
    if (!(l(i, i) > 0)) return first_bad_minor(left(p));  // Eigen's own test accepts NaN
  }
  return 0;
}

int64_t triangular_solve(const Problem& p) {
  if (p.n == 0 || p.k == 0) return 0;  // Eigen's solver accesses a first element
  fix_block_sizes();
  const auto& a = *static_cast<const TriangularAttrs*>(p.attrs);
  Matrix m = left(p), x = right(p);
  if (a.transpose != 0) m.transposeInPlace();
  const bool upper = (a.upper != 0) != (a.transpose != 0);
  if (a.unitriangular != 0) m.diagonal().setOnes();
  if (upper) {
    m.triangularView<Eigen::Upper>().solveInPlace(x);
  } else {
    m.triangularView<Eigen::Lower>().solveInPlace(x);
  }
  Map(p.out[0], p.n, p.k) = x;
  return 0;
}

int64_t solve(const Problem& p) {
  fix_block_sizes();
  Eigen::PartialPivLU<Matrix> lu(left(p));
  if (int64_t pivot = zero_pivot(lu.matrixLU()); pivot != 0) return pivot;
  if (p.n > 0 && p.k > 0) Map(p.out[0], p.n, p.k) = lu.solve(Matrix(right(p)));
  return 0;
}

int64_t inverse(const Problem& p) {
  fix_block_sizes();
  Eigen::PartialPivLU<Matrix> lu(left(p));
  if (int64_t pivot = zero_pivot(lu.matrixLU()); pivot != 0) return pivot;
  if (p.n > 0) Map(p.out[0], p.n, p.n) = lu.solve(Matrix::Identity(p.n, p.n));
  return 0;
}

int64_t slogdet(const Problem& p) {
  fix_block_sizes();
  double sign = 1, log_abs = 0;
  if (p.n > 0) {
    Eigen::PartialPivLU<Matrix> lu(left(p));
    sign = static_cast<double>(lu.permutationP().determinant());
    for (int64_t i = 0; i < p.n; ++i) {
      const double d = lu.matrixLU()(i, i);
      sign = d == 0 ? 0 : d < 0 ? -sign : sign;
      log_abs += std::log(std::fabs(d));
    }
  }
  *p.out[0] = sign;
  *p.out[1] = log_abs;
  return 0;
}

}  // namespace wick::dense
