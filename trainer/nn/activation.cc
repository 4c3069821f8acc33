#include "trainer/nn/activation.h"

#include "trainer/nn/default_init.h"
#include "trainer/nn/extra_repr.h"
#include "trainer/tensor/ops/nn.h"

namespace wick::nn {

std::string LeakyReLU::extra_repr() const { return "negative_slope=" + repr_float(slope_); }
std::string ELU::extra_repr() const { return "alpha=" + repr_float(alpha_); }
std::string CELU::extra_repr() const { return "alpha=" + repr_float(alpha_); }

GELU::GELU(const std::string& approximate) : tanh_(approximate == "tanh") {
  if (tanh_ || approximate == "none") return;
  throw Error("[GELU] approximate is \"none\" or \"tanh\", got \"" + approximate + "\"");
}
std::string GELU::extra_repr() const { return tanh_ ? "approximate='tanh'" : "approximate='none'"; }

Hardtanh::Hardtanh(double min_val, double max_val) : min_(min_val), max_(max_val) {
  if (min_val < max_val) return;
  throw Error("[Hardtanh] min_val " + repr_float(min_val) + " must be below max_val " +
              repr_float(max_val));
}
std::string Hardtanh::extra_repr() const {
  return "min_val=" + repr_float(min_) + ", max_val=" + repr_float(max_);
}
std::string Softplus::extra_repr() const {
  return "beta=" + repr_number(beta_) + ", threshold=" + repr_number(threshold_);
}
std::string Softshrink::extra_repr() const { return repr_float(lambd_); }
std::string Hardshrink::extra_repr() const { return repr_float(lambd_); }
std::string Threshold::extra_repr() const {
  return "threshold=" + repr_float(threshold_) + ", value=" + repr_float(value_);
}

PReLU::PReLU(int64_t n, double init) {
  need_size("PReLU", "num_parameters", n);
  weight = register_parameter("weight", full({n}, init));
}
std::string PReLU::extra_repr() const {
  return "num_parameters=" + std::to_string(weight.raw_shape()[0]);
}
std::string RReLU::extra_repr() const {
  return "lower=" + repr_float(lower_) + ", upper=" + repr_float(upper_);
}

Tensor Softmax::forward(const Arg& x) { return softmax(x, dim_); }
Tensor LogSoftmax::forward(const Arg& x) { return log_softmax(x, dim_); }
std::string Softmax::extra_repr() const { return "dim=" + std::to_string(dim_); }
std::string Softmin::extra_repr() const { return "dim=" + std::to_string(dim_); }
std::string LogSoftmax::extra_repr() const { return "dim=" + std::to_string(dim_); }
std::string GLU::extra_repr() const { return "dim=" + std::to_string(dim_); }

Tensor Softmax2d::forward(const Arg& x) {
  const int rank = x.tensor.rank();
  if (rank != 3 && rank != 4) {
    throw_error(
        "Softmax2d",
        std::string("takes [N, C, H, W] or [C, H, W], got ") + to_text(x.tensor.raw_shape()).text,
        x.where, Code::kShapeMismatch);
  }
  return softmax(x, -3);
}

}  // namespace wick::nn
