// torch.linalg: solvers, decompositions and norms of matrices [..., m, n], batched over the leading
// dims. float32 and float64; values are computed by Eigen in double.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// The factors of a = q r: q has orthonormal columns, r is upper triangular.
struct QrResult {
  Tensor q, r;
};
// The factors of a = u diag(s) vh: u and vh^T have orthonormal columns, s descends.
struct SvdResult {
  Tensor u, s, vh;
};
// The eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as columns.
struct EighResult {
  Tensor eigenvalues, eigenvectors;
};
// The eigenvalues of a general matrix, [..., n, 2], and its eigenvectors as columns, [..., n, n,
// 2]: complex numbers as pairs of real and imaginary part.
struct EigResult {
  Tensor eigenvalues, eigenvectors;
};
// lu: L below the diagonal and U in one matrix [..., m, n]; int32 pivots [..., min(m, n)]: row i
// was exchanged with row pivots[i], counted from 1.
struct LuFactorResult {
  Tensor lu, pivots;
};
// The factors of a = p l u: p[..., m, m] is a permutation, l[..., m, k] has ones on its diagonal,
// u[..., k, n] is upper triangular; k = min(m, n).
struct LuResult {
  Tensor p, l, u;
};
// The determinant as sign e^logabsdet.
struct SlogdetResult {
  Tensor sign, logabsdet;
};
// The solution x of least |a x - b|, and the squared residuals of each column; empty unless a has
// more rows than columns.
struct LstsqResult {
  Tensor solution, residuals;
};

namespace linalg {

// -- systems
// Returns x of a x = b, for a[..., n, n] and b[..., n, k] or [..., n]. A singular matrix throws an
// Error that names the batch entry and the pivot.
Tensor solve(const Arg& a, const Arg& b);
// The inverse of a[..., n, n]. A singular matrix throws the same Error.
Tensor inv(const Arg& a);
Tensor solve_triangular(const Arg& a, const Arg& b, bool upper, bool left = true,
                        bool unitriangular = false);  // the other triangle is not read
Tensor det(const Arg& a);  // the gradient of a singular matrix is its cofactors
// The sign and the logarithm of |det|; 0 and -inf for a singular matrix.
SlogdetResult slogdet(const Arg& a);

// The LU factors of a[..., m, n] with partial pivoting (the largest element, the first of equals).
// A matrix with a pivot of 0, square or not, throws an Error that names the batch entry and the
// pivot; lu() takes it.
LuFactorResult lu_factor(const Arg& a);
// Returns x of a x = b for b[..., n, k], from a's lu_factor(); with left = false, of x a = b for
// b[..., k, n]; with adjoint, for a^T. Differentiable by lu and b. The batches broadcast.
Tensor lu_solve(const Arg& lu, const Tensor& pivots, const Arg& b, bool left = true,
                bool adjoint = false);

// -- decompositions
// The LU factors as three matrices; a may be singular. p has no gradient.
LuResult lu(const Arg& a);
// a = l l^T with l lower triangular (or u^T u). Reads the lower triangle; the gradient is
// symmetric. A matrix that is not positive definite throws an Error that names the batch entry and
// the minor.
Tensor cholesky(const Arg& a, bool upper = false);
// mode: "reduced", "complete" (no gradient), "r" (q is undefined). There is a gradient for m >= n.
QrResult qr(const Arg& a, const std::string& mode = "reduced");
// s is in descending order. u and vh have gradients if no two singular values are equal.
SvdResult svd(const Arg& a, bool full_matrices = true);
Tensor svdvals(const Arg& a);
// For symmetric matrices; eigenvalues are in ascending order. Reads the given triangle: 'L' or 'U'.
EighResult eigh(const Arg& a, char uplo = 'L');
Tensor eigvalsh(const Arg& a, char uplo = 'L');
// For general square matrices; real ones have complex eigenvalues in conjugate pairs, the positive
// imaginary part first. There is no other order. Each vector has norm 1, and its largest element is
// real and positive. There are gradients if no two eigenvalues are equal, for functions that do not
// depend on the vectors' phases. Values that are not finite throw an Error.
EigResult eig(const Arg& a);
Tensor eigvals(const Arg& a);  // [..., n, 2]

// -- least squares, rank
// a[..., m, n] must have full rank; b[..., m, k]. Residuals are squared; empty unless m > n.
LstsqResult lstsq(const Arg& a, const Arg& b);
// Singular values <= rtol * the largest are treated as 0; the default is max(m, n) * eps.
Tensor pinv(const Arg& a, std::optional<double> rtol = {});
Tensor matrix_rank(const Arg& a, std::optional<double> rtol = {});  // int64
Tensor cond(const Arg& a, double p = 2);  // 2, -2: any matrix; 1, -1, inf, -inf: square ones

// -- norms
// (sum |x|^ord)^(1/ord); inf, -inf: the largest, smallest |x|; 0: the number of nonzeros. Empty
// dims mean all. The gradient at 0 is 0.
Tensor vector_norm(const Arg& x, double ord = 2, Dims dims = {}, bool keepdim = false);
// "fro", "nuc"; 2, -2 (singular values), 1, -1 (columns), inf, -inf (rows)
Tensor matrix_norm(const Arg& a, const char* ord = "fro", Dims dims = {-2, -1},
                   bool keepdim = false);
Tensor matrix_norm(const Arg& a, double ord, Dims dims = {-2, -1}, bool keepdim = false);
// With one or no dim it is a vector norm, with two dims a matrix norm.
Tensor norm(const Arg& x, std::optional<double> ord = {}, Dims dims = {}, bool keepdim = false);

// a multiplied with itself n times; n < 0: the inverse is. n = 0: the identity.
Tensor matrix_power(const Arg& a, int64_t n);
Tensor matrix_exp(const Arg& a);
// The product of all matrices, in the order of least work.
Tensor multi_dot(const std::vector<Tensor>& matrices, Where where = Where::current());
// The vector product of vectors of 3 elements along dim.
Tensor cross(const Arg& a, const Arg& b, int dim = -1);

}  // namespace linalg

// -- functions of the torch namespace
// The sum of a^k / k! for a[..., n, n]: by scaling and squaring.
Tensor matrix_exp(const Arg& a);
// The covariances of the rows of x[variables, observations], or the variance of x[observations]:
// divided by n - correction. corrcoef divides them by the standard deviations, and clips to [-1,
// 1].
Tensor cov(const Arg& x, int64_t correction = 1);
Tensor corrcoef(const Arg& x);
// The functions of wick::linalg with the arguments that torch's older names have.
Tensor cholesky(const Arg& a, bool upper = false);
Tensor cholesky_solve(const Arg& b, const Arg& factor, bool upper = false);
Tensor triangular_solve(const Arg& b, const Arg& a, bool upper = true, bool transpose = false,
                        bool unitriangular = false);
Tensor inverse(const Arg& a);
Tensor pinverse(const Arg& a, double rcond = 1e-15);
Tensor det(const Arg& a);
Tensor logdet(const Arg& a);  // NaN if det < 0
SlogdetResult slogdet(const Arg& a);
QrResult qr(const Arg& a, bool some = true);
LuFactorResult lu(const Arg& a);  // linalg::lu_factor(), of singular matrices, too
Tensor lu_solve(const Arg& b, const Arg& lu, const Tensor& pivots);
// Returns as three matrices what lu_factor() and lu() put into one.
LuResult lu_unpack(const Arg& lu, const Tensor& pivots);

}  // namespace wick
