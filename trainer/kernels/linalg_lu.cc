// The LU factors of any matrix, by plain loops: the same bits on every machine.
#include <cmath>
#include <utility>

#include "trainer/kernels/linalg.h"

namespace wick::dense {

int64_t lu_factor(const Problem& p) {
  const int64_t m = p.m, n = p.n, k = m < n ? m : n;
  double* a = p.out[0];
  double *pivots = p.out[1], *rows = p.out[2];
  for (int64_t i = 0; i < m * n; ++i) a[i] = p.in[0][i];
  for (int64_t i = 0; i < m; ++i) rows[i] = static_cast<double>(i);
  for (int64_t c = 0; c < k; ++c) {
    int64_t best = c;
    for (int64_t i = c + 1; i < m; ++i) {
      if (std::fabs(a[i * n + c]) > std::fabs(a[best * n + c])) best = i;
    }
    pivots[c] = static_cast<double>(best + 1);
    if (best != c) {
      for (int64_t j = 0; j < n; ++j) std::swap(a[c * n + j], a[best * n + j]);
      std::swap(rows[c], rows[best]);
    }
    const double pivot = a[c * n + c];
    if (pivot == 0) continue;  // what is below is 0, too
    for (int64_t i = c + 1; i < m; ++i) {
      const double factor = a[i * n + c] /= pivot;
      for (int64_t j = c + 1; j < n; ++j) a[i * n + j] -= factor * a[c * n + j];
    }
  }
  return 0;
}

}  // namespace wick::dense
