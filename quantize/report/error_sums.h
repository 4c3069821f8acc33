// Measures how far one tensor is from another: sums over any number of batches, and numbers derived
// from them.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/host_tensor.h"

namespace wick::quantize {

// Means "no error at all" in decibels; its negative means "no signal, only error".
inline constexpr double kExactDb = 200;

// How far values are from what they should be.
struct ErrorNumbers {
  double sqnr_db = kExactDb;  // 10 log10(sum x^2 / sum (x - y)^2)
  // The same, averaged over the channels that are not 0 everywhere: a channel with large numbers
  // does not hide what happens to the others, which a later layer may need as much.
  double channel_db = kExactDb;
  double cosine = 1;     // of the angle between the values and what they should be
  double max_error = 0;  // max |x - y|
  // Returns whether the values are equal.
  bool exact() const { return sqnr_db >= kExactDb; }
};

// Sums up ErrorNumbers over batches.
class ErrorSums {
 public:
  // Adds the error of y, the actual tensor, against x, the expected one: float32 of one shape.
  // `axis` is that of the channels, -1: none. `part` says which of several values, each with
  // channels of its own, is added. An element where x is infinite or NaN (a mask) does not count;
  // if y alone is, x is lost. Throws Error for other dtypes or shapes. An axis whose size differs
  // from before (the width of a line of text) is not one of channels: all of that part counts as
  // one from then on.
  void add(const HostTensor& x, const HostTensor& y, int axis, size_t part = 0);
  // The same of a graph's output, which has no channels: where y has another shape or dtype (a size
  // that depends on values), all of x is lost.
  void add_output(const HostTensor& x, const HostTensor& y);
  // Returns the numbers of all that was added.
  ErrorNumbers numbers() const;

 private:
  struct Sums {
    double xx = 0, yy = 0, xy = 0, ee = 0;
  };
  std::vector<std::vector<Sums>> parts_;  // by channel
  double max_error_ = 0;
};

// Returns 10 log10(signal / error): kExactDb where the error is 0.
double decibels(double signal, double error);

}  // namespace wick::quantize
