// What the elementwise families share; not public.
#pragma once

#include <initializer_list>
#include <utility>

#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/promote.h"

namespace wick {

// While it lives, ops of this thread carry the name and the line of the public function that is
// made of them; the outermost wins.
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

// A number as a 0-dim tensor beside `like`, in the dtype the two share.
Tensor scalar_like(const Tensor& like, Scalar s);
// Integers and bools as float32.
Tensor as_float(const Arg& a);
// Of one dtype, as PyTorch promotes them.
std::pair<Tensor, Tensor> promoted(const char* name, const Arg& a, const Arg& b);
// ... and of a float dtype.
std::pair<Tensor, Tensor> promoted_floats(const char* name, const Arg& a, const Arg& b);
// Both are defined, else an error.
void need_defined(const char* name, std::initializer_list<Arg> args);
// alpha * x; an integer tensor's alpha is a whole number.
Tensor times(const Arg& x, Scalar alpha);
// A 0-dim constant of x's dtype.
inline Tensor constant(const Tensor& like, Scalar v) { return full({}, v, like.dtype()); }
// Whether a gradient or a tangent may be asked through x. Where it is not, and in a capture, a
// function may leave out what only its slope at a kink needs.
inline bool differentiated(const Tensor& x) {
  if (active_tracer() != nullptr) return false;
  return modes().forward != 0 || (grad_enabled() && x.requires_grad());
}
[[noreturn]] void refuse_bool(const char* name, const char* why, const Where& where);
// Refuses an integer divisor that holds a 0.
void need_divisor(const char* name, const Tensor& divisor, const Where& where);

}  // namespace pointwise
}  // namespace wick
