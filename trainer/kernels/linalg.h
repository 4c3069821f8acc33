// Dense linear algebra in double, row-major, one matrix at a time: the linalg rows call it per
// batch entry. float32 is also computed in double and rounded once, which is more accurate than
// LAPACK's single precision, and Eigen is compiled for one type only. Only linalg_solve.cc and
// linalg_factor.cc include Eigen; eig and lu_factor are loops of our own.
#pragma once

#include <cstdint>

namespace wick::dense {

struct Problem {
  const double* in[2];
  double* out[3];
  int64_t m, n;  // of in[0]
  int64_t k;     // columns of in[1]
  const void* attrs;
};

// Each returns 0, or what failed: the order of the leading minor (cholesky), the 1-based pivot
// (solve, inverse), 1 for values that are not finite (svd, eigh, eig). Complex numbers of eig are
// pairs; lu_factor's second and third result are the row that each pivot came from, counted from
// 1, and the rows' order.
int64_t cholesky(const Problem& p);
int64_t triangular_solve(const Problem& p);
int64_t solve(const Problem& p);
int64_t inverse(const Problem& p);
int64_t slogdet(const Problem& p);
int64_t qr(const Problem& p);
int64_t svd(const Problem& p);
int64_t eigh(const Problem& p);
int64_t lu_factor(const Problem& p);
int64_t eig(const Problem& p);

}  // namespace wick::dense
