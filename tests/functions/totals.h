// The totals of a run of the function rows, printed as one line at its end.
#pragma once

#include <algorithm>
#include <map>
#include <string>

namespace wick::test {

struct Totals {
  size_t cases = 0;  // function x sample x dtype x property
  double f64_value = 0, gradient = 0, gradcheck = 0, gradgradcheck = 0, forward = 0;
  std::string f64_value_at, gradient_at, gradcheck_at, gradgradcheck_at, forward_at;

  void worst(double Totals::*what, std::string Totals::*where, double error,
             const std::string& at) {
    if (error <= this->*what) return;
    this->*what = error;
    this->*where = at;
  }
};
Totals& totals();

}  // namespace wick::test
