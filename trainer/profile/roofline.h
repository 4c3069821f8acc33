// The machine's measured peak performance, and which of the two limits applies to an op.
#pragma once

#include <cstddef>
#include <string>

namespace wick {

// S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual performance model for
// multicore architectures. CACM 52(4), 2009.
struct Roofline {
  double flops_per_second = 0;  // the best of several float32 matrix products
  double bytes_per_second = 0;  // the best of several sums of two arrays of 48 MiB
  int threads = 1;              // num_threads() of the measurement
  // FLOPs per byte above which arithmetic is the limit.
  double ridge() const { return flops_per_second / bytes_per_second; }
  // Returns the FLOP/s under the roof that `flops` on `bytes` can reach.
  double roof(double flops, double bytes) const;
  // Returns "compute" or "memory"; "-" if there is no work.
  const char* bound(double flops, double bytes) const;
  std::string text() const;  // both limits and the ridge
};

// Measures with the present num_threads(), once per process and number of threads (about 0.2 s);
// later calls return the saved result.
Roofline machine_roofline();

}  // namespace wick
