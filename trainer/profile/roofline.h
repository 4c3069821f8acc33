// What the machine can do at most, measured, and which of the two roofs an op is under.
#pragma once

#include <cstddef>
#include <string>

namespace wick {

// S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual performance model for
// multicore architectures. CACM 52(4), 2009.
struct Roofline {
  double flops_per_second = 0;  // the best of a few matrix products in float32
  double bytes_per_second = 0;  // the best of a few sums of two arrays of 48 MiB
  int threads = 1;
  // FLOPs a byte from which on arithmetic is the limit.
  double ridge() const { return flops_per_second / bytes_per_second; }
  // What `flops` on `bytes` can reach: FLOP/s under the roof.
  double roof(double flops, double bytes) const;
  // "compute" or "memory"; "-" for no work at all.
  const char* bound(double flops, double bytes) const;
  std::string text() const;
};

// With num_threads() as it is. Measured once a process and number of threads (about 0.2 s), kept
// then.
Roofline machine_roofline();

}  // namespace wick
