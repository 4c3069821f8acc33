// Checks an op of one's own by its test row: what Wick's own ops are checked by.
#pragma once

#include <string>
#include <vector>

#include "wick/op_test.h"

namespace wick::tool {

// One property of the op.
struct OpCheck {
  std::string what;  // "gradient"
  bool ok = true;
  std::string detail;  // what was looked at, or the first thing that is wrong
};

// Checks, in this order: answers worked out by hand; that all kernels of a dtype give the same
// bits, at any address, with any number of threads; that float32 is near float64; the gradient to
// the second order against differences; that a graph, ONNX and .wick give the bits of eager mode;
// and that the shape rule answers whatever it is asked. A property that throws has failed.
std::vector<OpCheck> check_op(const OpTest& test);

// How fast a kernel is on the row's `bench` sample, on one thread.
struct OpTime {
  std::string kernel;
  double seconds = 0;           // the least of several runs
  double bytes_per_second = 0;  // of inputs and outputs, each moved once
};
std::vector<OpTime> time_op(const OpTest& test);

}  // namespace wick::tool
