// Dropout: noise in training mode, the identity in eval mode. p in [0, 1] is the fraction that is
// dropped.
#pragma once

#include "trainer/nn/module.h"

namespace wick::nn {

// The common part of the layers below. p outside of [0, 1] throws Error.
class DropoutBase : public Module {
 public:
  std::string extra_repr() const override;
  // Returns the fraction that is dropped.
  double p() const { return p_; }

 protected:
  DropoutBase(const char* kind, double p);

 private:
  double p_;
};

#define WICK_DROPOUT(Name)                                   \
  class Name : public DropoutBase {                          \
   public:                                                   \
    explicit Name(double p = 0.5) : DropoutBase(#Name, p) {} \
    Tensor forward(const Arg& x) override;                   \
  }
// Values that are kept are scaled by 1 / (1 - p), which preserves the mean. Dropout drops single
// elements, the others whole channels of x[N, C, spatial...].
WICK_DROPOUT(Dropout);
WICK_DROPOUT(Dropout1d);
WICK_DROPOUT(Dropout2d);
WICK_DROPOUT(Dropout3d);
// For SELU networks (Klambauer et al., 2017): dropped elements (channels) get SELU's lower bound,
// and the mean and variance of a standard normal input are preserved.
WICK_DROPOUT(AlphaDropout);
WICK_DROPOUT(FeatureAlphaDropout);
#undef WICK_DROPOUT

}  // namespace wick::nn
