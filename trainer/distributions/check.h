// Helpers that the families of distributions share; not public.
#pragma once

#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "trainer/distributions/distribution.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/ops/pointwise.h"
#include "trainer/tensor/promote.h"

namespace wick::distributions {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kLog2Pi = 1.8378770664093454836;  // log(2 pi)

// Returns the parameters in one dtype of floats, expanded to the shape that they broadcast to.
std::vector<Tensor> parameters(const char* op, std::initializer_list<Param> list);

// Throws unless all elements of `good` are true: "[op] what, got 3 at [0,1]", with the first
// element of `shown`, which broadcasts to good's shape, that is not.
void refuse_first(const char* op, const std::string& what, const Tensor& shown, const Tensor& good,
                  const Where& where);
std::string short_number(double x);

// Returns the draws that f makes, which are neither recorded nor traced.
template <class F>
Tensor unrecorded(F f) {
  NoGrad guard;
  TracerScope untraced(nullptr);
  return f();
}

// Checks `t`: ok(t) returns bools, without a history. A capture has no values to look at.
template <class F>
void require(const char* op, const std::string& what, const Tensor& t, const Where& where, F ok) {
  if (active_tracer() != nullptr) return;
  NoGrad guard;
  refuse_first(op, what, t, ok(t.detach(where)), where);
}
// The check of most parameters.
inline void require_positive(const char* op, const char* name, const Tensor& t,
                             const Where& where) {
  require(op, std::string(name) + " must be > 0", t, where,
          [](const Tensor& x) { return gt(x, 0); });
}
// NaN is no parameter and no value.
inline void require_real(const char* op, const char* name, const Tensor& t, const Where& where) {
  require(op, std::string(name) + " must not be NaN", t, where,
          [](const Tensor& x) { return eq(x, x); });
}

// Returns q as a P; throws Error if it is of another family.
[[noreturn]] void refuse_pair(const Distribution& p, const Distribution& q, const Where& where);
template <class P>
const P& of_family(const P& p, const Distribution& q, const Where& where) {
  const P* same = dynamic_cast<const P*>(&q);
  if (same == nullptr) refuse_pair(p, q, where);
  return *same;
}

// Returns x summed over its last n dims.
Tensor sum_of_last(const Tensor& x, int n);

}  // namespace wick::distributions
