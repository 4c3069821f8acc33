// Helpers that the elementwise families share; not public.
#pragma once

#include <initializer_list>
#include <utility>

#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/promote.h"

namespace wick {

// While it lives, errors of this thread's ops name the public function that is composed of them,
// and its line. The outermost one takes precedence.
class Composite {
 public:
  Composite(const char* name, const Where& where) : site_{name, where} {
    if (modes().site == nullptr) {
      modes().site = &site_;
      outermost_ = true;
    }
  }
  ~Composite() {
    if (outermost_) modes().site = nullptr;
  }
  Composite(const Composite&) = delete;
  Composite& operator=(const Composite&) = delete;

 private:
  CallSite site_;
  bool outermost_ = false;
};

namespace pointwise {

inline bool is_bool(const Arg& a) { return a.tensor.dtype() == DType::kBool; }

// Returns a number as a 0-dim tensor for use with `like`, in the dtype of a result of both.
Tensor scalar_like(const Arg& like, Scalar s);
// Converts integers and bools to float32.
Tensor as_float(const Arg& a);
// Converts both to one dtype, by PyTorch's promotion.
std::pair<Tensor, Tensor> promoted(const char* name, const Arg& a, const Arg& b);
// ... and that to a float dtype.
std::pair<Tensor, Tensor> promoted_floats(const char* name, const Arg& a, const Arg& b);
// Throws unless all are defined.
void need_defined(const char* name, std::initializer_list<Arg> args);
// Returns alpha * x; for an integer tensor alpha must be an integer.
Tensor times(const Arg& x, Scalar alpha);
// Returns a 0-dim constant of x's dtype.
inline Tensor constant(const Tensor& like, Scalar v) { return full({}, v, like.dtype()); }
// Returns whether x may get a gradient or a tangent. If not, and in a capture, a function may omit
// what only the slope at a kink needs.
inline bool differentiated(const Tensor& x) {
  if (active_tracer() != nullptr) return false;
  return modes().forward != 0 || (grad_enabled() && x.requires_grad());
}
[[noreturn]] void refuse_bool(const char* name, const char* why, const Where& where);
// Throws if an integer divisor contains a 0.
void need_divisor(const char* name, const Tensor& divisor, const Where& where);

}  // namespace pointwise
}  // namespace wick
