// Noise in training, the identity in evaluation. p in [0, 1] is what is dropped.
#pragma once

#include "trainer/nn/module.h"

namespace wick::nn {

class DropoutBase : public Module {
 public:
  std::string extra_repr() const override;
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
// What is kept is scaled by 1 / (1 - p), so that means stay: of elements, of whole channels of
// x[N, C, spatial...].
WICK_DROPOUT(Dropout);
WICK_DROPOUT(Dropout1d);
WICK_DROPOUT(Dropout2d);
WICK_DROPOUT(Dropout3d);
// For SELU nets (Klambauer et al., 2017): dropped elements (channels) take SELU's lower bound, and
// mean and variance stay those of a standard normal input.
WICK_DROPOUT(AlphaDropout);
WICK_DROPOUT(FeatureAlphaDropout);
#undef WICK_DROPOUT

}  // namespace wick::nn
