// The configuration of Eigen for the two linalg files: one thread, and block sizes that do not
// depend on the machine.
#pragma once

#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#include <Eigen/Core>

namespace wick::dense {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic>;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Map = Eigen::Map<RowMajor>;
using ConstMap = Eigen::Map<const RowMajor>;

// Eigen blocks products by the sizes of the caches it finds, and blocking k changes the order of a
// sum: fixed sizes give the same bits on every machine with one instruction set.
inline void fix_block_sizes() {
  static const bool done = [] {
    Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 2 << 20);
    return true;
  }();
  (void)done;
}

// Sizes are Eigen's there, of the machine's width.
inline ConstMap map_of(const double* x, int64_t rows, int64_t columns) {
  return {x, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)};
}
inline ConstMap left(const Problem& p) { return map_of(p.in[0], p.m, p.n); }
inline ConstMap right(const Problem& p) { return map_of(p.in[1], p.n, p.k); }

}  // namespace wick::dense
