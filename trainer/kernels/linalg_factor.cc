// QR, singular values, symmetric eigenvalues.
// clang-format off: Eigen's settings come first
#include "trainer/kernels/linalg.h"
#include "trainer/kernels/linalg_eigen-inl.h"
// clang-format on
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

#include "runtime/ops/attrs.h"

namespace wick::dense {
namespace {

bool wants_full(const Problem& p) { return static_cast<const FactorAttrs*>(p.attrs)->full != 0; }

}  // namespace

int64_t qr(const Problem& p) {
  fix_block_sizes();
  const int64_t inner = wants_full(p) ? p.m : std::min(p.m, p.n);
  Map q(p.out[0], p.m, inner), r(p.out[1], inner, p.n);
  r.setZero();
  if (p.m == 0 || p.n == 0) {
    q.setIdentity();
    return 0;
  }
  Eigen::HouseholderQR<Matrix> factors(left(p));
  q = factors.householderQ() * Matrix::Identity(p.m, inner);
  for (int64_t i = 0; i < std::min(inner, p.n); ++i) {
    for (int64_t j = i; j < p.n; ++j) r(i, j) = factors.matrixQR()(i, j);
  }
  return 0;
}

int64_t svd(const Problem& p) {
  fix_block_sizes();
  const int64_t k = std::min(p.m, p.n);
  const bool full = wants_full(p);
  Map u(p.out[0], p.m, full ? p.m : k), vh(p.out[2], full ? p.n : k, p.n);
  if (k == 0) {
    u.setIdentity();
    vh.setIdentity();
    return 0;
  }
  if (!left(p).allFinite()) return 1;
  const unsigned factors =
      full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  Eigen::BDCSVD<Matrix> s(left(p), factors);
  u = s.matrixU();
  Map(p.out[1], k, 1) = s.singularValues();
  vh = s.matrixV().transpose();
  return 0;
}

int64_t eigh(const Problem& p) {
  fix_block_sizes();
  if (p.n == 0) return 0;
  Matrix a = left(p).selfadjointView<Eigen::Lower>();
  if (!a.allFinite()) return 1;
  Eigen::SelfAdjointEigenSolver<Matrix> s(a);
  Map(p.out[0], p.n, 1) = s.eigenvalues();
  Map(p.out[1], p.n, p.n) = s.eigenvectors();
  return 0;
}

}  // namespace wick::dense
