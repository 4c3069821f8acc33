// Activations. All are elementwise, except the softmaxes and GLU, which work along a dimension.
#pragma once

#include "trainer/nn/module.h"
#include "trainer/tensor/ops/elementwise.h"
#include "trainer/tensor/ops/random/random_mask.h"

namespace wick::nn {

// -- without parameters: the functions of the same names, as modules
#define WICK_ACTIVATION(Name, function)                           \
  class Name : public Module {                                    \
   public:                                                        \
    Tensor forward(const Arg& x) override { return function(x); } \
  }
WICK_ACTIVATION(ReLU, wick::relu);                // max(x, 0)
WICK_ACTIVATION(ReLU6, wick::relu6);              // x clamped to [0, 6]
WICK_ACTIVATION(Sigmoid, wick::sigmoid);          // 1 / (1 + e^-x)
WICK_ACTIVATION(Tanh, wick::tanh);                // the hyperbolic tangent
WICK_ACTIVATION(SiLU, wick::silu);                // x sigmoid(x) (Elfwing et al., 2018)
WICK_ACTIVATION(Mish, wick::mish);                // x tanh(softplus(x)) (Misra, 2019)
WICK_ACTIVATION(SELU, wick::selu);                // a scaled ELU (Klambauer et al., 2017)
WICK_ACTIVATION(Hardswish, wick::hardswish);      // x relu6(x + 3) / 6 (Howard et al., 2019)
WICK_ACTIVATION(Hardsigmoid, wick::hardsigmoid);  // relu6(x + 3) / 6
WICK_ACTIVATION(LogSigmoid, wick::logsigmoid);    // log(sigmoid(x))
WICK_ACTIVATION(Softsign, wick::softsign);        // x / (1 + |x|)
WICK_ACTIVATION(Tanhshrink, wick::tanhshrink);    // x - tanh(x)
#undef WICK_ACTIVATION

// -- with one number or two
// x where x > 0, otherwise negative_slope x.
class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : slope_(negative_slope) {}
  Tensor forward(const Arg& x) override { return leaky_relu(x, slope_); }
  std::string extra_repr() const override;

 private:
  double slope_;
};
// x where x > 0, otherwise alpha (e^x - 1) (Clevert et al., 2016).
class ELU : public Module {
 public:
  explicit ELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Arg& x) override { return elu(x, alpha_); }
  std::string extra_repr() const override;

 private:
  double alpha_;
};
// x where x > 0, otherwise alpha (e^(x / alpha) - 1) (Barron, 2017); alpha must not be 0.
class CELU : public Module {
 public:
  explicit CELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Arg& x) override { return celu(x, alpha_); }
  std::string extra_repr() const override;

 private:
  double alpha_;
};
// x times the normal distribution function of x (Hendrycks and Gimpel, 2016): by erf, or
// approximated by tanh. Throws Error for another name than "none" and "tanh".
class GELU : public Module {
 public:
  explicit GELU(bool tanh_approximation = false) : tanh_(tanh_approximation) {}
  explicit GELU(const std::string& approximate);  // "none" or "tanh"
  explicit GELU(const char* approximate) : GELU(std::string(approximate)) {}
  Tensor forward(const Arg& x) override { return gelu(x, tanh_); }
  std::string extra_repr() const override;

 private:
  bool tanh_;
};
// x clamped to [min_val, max_val]. Throws Error unless min_val < max_val.
class Hardtanh : public Module {
 public:
  explicit Hardtanh(double min_val = -1, double max_val = 1);
  Tensor forward(const Arg& x) override { return hardtanh(x, min_, max_); }
  std::string extra_repr() const override;

 private:
  double min_, max_;
};
// log(1 + e^(beta x)) / beta, or x itself where beta x > threshold.
class Softplus : public Module {
 public:
  explicit Softplus(double beta = 1, double threshold = 20) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Arg& x) override { return softplus(x, beta_, threshold_); }
  std::string extra_repr() const override;

 private:
  double beta_, threshold_;
};
// x - lambd where x > lambd, x + lambd where x < -lambd, otherwise 0.
class Softshrink : public Module {
 public:
  explicit Softshrink(double lambd = 0.5) : lambd_(lambd) {}
  Tensor forward(const Arg& x) override { return softshrink(x, lambd_); }
  std::string extra_repr() const override;

 private:
  double lambd_;
};
// x where |x| > lambd, otherwise 0.
class Hardshrink : public Module {
 public:
  explicit Hardshrink(double lambd = 0.5) : lambd_(lambd) {}
  Tensor forward(const Arg& x) override { return hardshrink(x, lambd_); }
  std::string extra_repr() const override;

 private:
  double lambd_;
};
// x where x > threshold, otherwise value.
class Threshold : public Module {
 public:
  Threshold(double threshold, double value) : threshold_(threshold), value_(value) {}
  Tensor forward(const Arg& x) override { return wick::threshold(x, threshold_, value_); }
  std::string extra_repr() const override;

 private:
  double threshold_, value_;
};

// x where it is not below 0, otherwise weight * x with a learned weight: one number, or one per
// channel (dim 1).
class PReLU : public Module {
 public:
  explicit PReLU(int64_t num_parameters = 1, double init = 0.25);
  Tensor forward(const Arg& x) override { return prelu(x, {weight, x.where}); }
  std::string extra_repr() const override;
  Tensor weight;  // [num_parameters]
};
// Leaky ReLU with a random slope from [lower, upper) for each negative element; in eval mode with
// their mean.
class RReLU : public Module {
 public:
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3) : lower_(lower), upper_(upper) {}
  Tensor forward(const Arg& x) override { return rrelu(x, lower_, upper_, training()); }
  std::string extra_repr() const override;

 private:
  double lower_, upper_;
};

// -- along a dimension
// e^x, divided by its sum along dim. Throws Error if x has no such dim.
class Softmax : public Module {
 public:
  explicit Softmax(int dim) : dim_(dim) {}
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;

 private:
  int dim_;
};
// softmax(-x) along dim.
class Softmin : public Module {
 public:
  explicit Softmin(int dim) : dim_(dim) {}
  Tensor forward(const Arg& x) override { return softmin(x, dim_); }
  std::string extra_repr() const override;

 private:
  int dim_;
};
// log(softmax(x)) along dim, computed without the logarithm of a number that became 0.
class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(int dim) : dim_(dim) {}
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;

 private:
  int dim_;
};
// Softmax over the channels of [N, C, H, W] or [C, H, W].
class Softmax2d : public Module {
 public:
  Tensor forward(const Arg& x) override;
};
class GLU : public Module {
  // a sigmoid(b) for the halves a and b of x along dim (Dauphin et al., 2017). Throws Error for an
  // odd size.
 public:
  explicit GLU(int dim = -1) : dim_(dim) {}
  Tensor forward(const Arg& x) override { return glu(x, dim_); }
  std::string extra_repr() const override;

 private:
  int dim_;
};

}  // namespace wick::nn
