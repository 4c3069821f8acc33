#include "trainer/nn/linear.h"

#include "trainer/nn/default_init.h"
#include "trainer/nn/extra_repr.h"
#include "trainer/tensor/ops/matmul.h"
#include "trainer/tensor/ops/view.h"

namespace wick::nn {

Linear::Linear(int64_t in, int64_t out, bool with_bias) {
  need_size("Linear", "in_features", in, 0);
  need_size("Linear", "out_features", out, 0);
  weight = register_parameter("weight", init_uniform({out, in}, in));
  bias = register_parameter("bias", with_bias ? init_uniform({out}, in) : Tensor());
}
Tensor Linear::forward(const Arg& x) { return linear(x, {weight, x.where}, bias); }
std::string Linear::extra_repr() const {
  return "in_features=" + std::to_string(weight.raw_shape()[1]) +
         ", out_features=" + std::to_string(weight.raw_shape()[0]) +
         ", bias=" + repr_bool(bias.defined());
}

Bilinear::Bilinear(int64_t in1, int64_t in2, int64_t out, bool with_bias) {
  need_size("Bilinear", "in1_features", in1);
  need_size("Bilinear", "in2_features", in2);
  need_size("Bilinear", "out_features", out);
  weight = register_parameter("weight", init_uniform({out, in1, in2}, in1));
  bias = register_parameter("bias", with_bias ? init_uniform({out}, in1) : Tensor());
}
Tensor Bilinear::operator()(const Arg& x1, const Arg& x2) {
  return hooked(
      [this](const Arg& a, const Arg& b) {
        return bilinear(a, b, {weight, a.where}, bias);
      },
      x1, x2);
}
std::string Bilinear::extra_repr() const {
  const Shape& s = weight.raw_shape();
  return "in1_features=" + std::to_string(s[1]) + ", in2_features=" + std::to_string(s[2]) +
         ", out_features=" + std::to_string(s[0]) + ", bias=" + repr_bool(bias.defined());
}

std::string Flatten::extra_repr() const {
  return "start_dim=" + std::to_string(start_) + ", end_dim=" + std::to_string(end_);
}

Tensor Unflatten::forward(const Arg& x) { return unflatten(x, dim_, sizes_); }
std::string Unflatten::extra_repr() const {
  return "dim=" + std::to_string(dim_) +
         ", unflattened_size=" + repr_tuple(sizes_.begin(), sizes_.rank());
}

Tensor CosineSimilarity::operator()(const Arg& x1, const Arg& x2) {
  return hooked([this](const auto&... in) { return cosine_similarity(in..., dim_, eps_); }, x1, x2);
}
Tensor PairwiseDistance::operator()(const Arg& x1, const Arg& x2) {
  return hooked([this](const auto&... in) { return pairwise_distance(in..., p_, eps_, keepdim_); },
                x1, x2);
}

}  // namespace wick::nn
