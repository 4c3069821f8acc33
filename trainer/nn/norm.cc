#include "trainer/nn/norm.h"

#include "trainer/nn/default_init.h"
#include "trainer/nn/extra_repr.h"
#include "trainer/tensor/ops/nn.h"

namespace wick::nn {
namespace {

std::string statistics_repr(int64_t features, double eps, const std::string& momentum, bool affine,
                            bool tracked) {
  return std::to_string(features) + ", eps=" + repr_float(eps) + ", momentum=" + momentum +
         ", affine=" + repr_bool(affine) + ", track_running_stats=" + repr_bool(tracked);
}

// Checks x's rank and channels; errors name the layer.
void check_input(const char* kind, const Arg& x, int min_rank, int max_rank, int channel_dim,
                 int64_t channels) {
  const Shape& s = x.tensor.raw_shape();
  if (s.rank() < min_rank || s.rank() > max_rank) {
    throw_error(kind,
                "takes " + std::to_string(min_rank) +
                    (min_rank == max_rank ? "" : " or " + std::to_string(max_rank)) +
                    " dimensions, got " + to_text(s).text,
                x.where, Code::kShapeMismatch);
  }
  if (s[channel_dim] == channels) return;
  throw_error(kind,
              "has " + std::to_string(channels) + " channels, dimension " +
                  std::to_string(channel_dim) + " of the input " + to_text(s).text + " has " +
                  std::to_string(s[channel_dim]),
              x.where, Code::kShapeMismatch);
}

void need_eps(const char* kind, double eps) {
  if (!(eps >= 0)) refuse(kind, "eps must not be negative, got " + repr_float(eps));
}

// Returns the present number of channels: pruning may have removed some. `made` if there are no
// tensors.
int64_t channels_now(const Tensor& weight, const Tensor& running_mean, int64_t made) {
  const Tensor& t = weight.defined() ? weight : running_mean;
  return t.defined() ? t.raw_shape()[0] : made;
}

}  // namespace

BatchNormNd::BatchNormNd(const char* kind, int min_rank, int max_rank, int64_t n, double eps,
                         std::optional<double> momentum, bool affine, bool track)
    : kind_(kind),
      min_rank_(min_rank),
      max_rank_(max_rank),
      features_(n),
      eps_(eps),
      momentum_(momentum) {
  need_size(kind, "num_features", n);
  need_eps(kind, eps);
  weight = register_parameter("weight", affine ? ones({n}) : Tensor());
  bias = register_parameter("bias", affine ? zeros({n}) : Tensor());
  if (!track) return;
  running_mean = register_buffer("running_mean", zeros({n}));
  running_var = register_buffer("running_var", ones({n}));
  num_batches_tracked = register_buffer("num_batches_tracked", zeros({}, DType::kI64));
}

Tensor BatchNormNd::forward(const Arg& x) {
  check_input(kind_, x, min_rank_, max_rank_, 1, channels_now(weight, running_mean, features_));
  const bool tracked = running_mean.defined(), by_batch = training() || !tracked;
  double momentum = momentum_.value_or(0);
  if (training() && tracked) {
    NoGrad guard;
    num_batches_tracked.add_(ones({}, DType::kI64), 1, x.where);
    // Without momentum the k-th batch counts 1/k: the average of all of them.
    if (!momentum_) momentum = 1 / num_batches_tracked.item(x.where);
  }
  return batch_norm(x, running_mean, running_var, weight, bias, by_batch, momentum, eps_);
}

std::string BatchNormNd::extra_repr() const {
  return statistics_repr(channels_now(weight, running_mean, features_), eps_,
                         momentum_ ? repr_float(*momentum_) : "None", weight.defined(),
                         running_mean.defined());
}

InstanceNormNd::InstanceNormNd(const char* kind, int spatial, int64_t n, double eps,
                               double momentum, bool affine, bool track)
    : kind_(kind), spatial_(spatial), features_(n), eps_(eps), momentum_(momentum) {
  need_size(kind, "num_features", n);
  need_eps(kind, eps);
  weight = register_parameter("weight", affine ? ones({n}) : Tensor());
  bias = register_parameter("bias", affine ? zeros({n}) : Tensor());
  if (!track) return;
  running_mean = register_buffer("running_mean", zeros({n}));
  running_var = register_buffer("running_var", ones({n}));
  num_batches_tracked = register_buffer("num_batches_tracked", zeros({}, DType::kI64));
}

Tensor InstanceNormNd::forward(const Arg& x) {
  const bool alone = x.tensor.rank() == spatial_ + 1;
  check_input(kind_, x, spatial_ + 1, spatial_ + 2, alone ? 0 : 1,
              channels_now(weight, running_mean, features_));
  const bool by_item = training() || !running_mean.defined();
  Tensor in = alone ? x.tensor.unsqueeze(0, x.where) : x.tensor;
  Tensor y = instance_norm({in, x.where}, running_mean, running_var, weight, bias, by_item,
                           momentum_, eps_);
  return alone ? y.squeeze(0, x.where) : y;
}

std::string InstanceNormNd::extra_repr() const {
  return statistics_repr(channels_now(weight, running_mean, features_), eps_, repr_float(momentum_),
                         weight.defined(), running_mean.defined());
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels, double eps, bool affine)
    : groups_(groups), channels_(channels), eps_(eps) {
  need_size("GroupNorm", "num_groups", groups);
  need_size("GroupNorm", "num_channels", channels);
  need_eps("GroupNorm", eps);
  if (channels % groups != 0) {
    throw Error("[GroupNorm] " + std::to_string(channels) + " channels do not divide into " +
                std::to_string(groups) + " groups");
  }
  weight = register_parameter("weight", affine ? ones({channels}) : Tensor());
  bias = register_parameter("bias", affine ? zeros({channels}) : Tensor());
}
Tensor GroupNorm::forward(const Arg& x) {
  check_input("GroupNorm", x, 2, kMaxRank, 1, channels_);
  return group_norm(x, groups_, weight, bias, eps_);
}
std::string GroupNorm::extra_repr() const {
  return std::to_string(groups_) + ", " + std::to_string(channels_) + ", eps=" + repr_float(eps_) +
         ", affine=" + repr_bool(weight.defined());
}

Tensor LocalResponseNorm::forward(const Arg& x) {
  return local_response_norm(x, size_, alpha_, beta_, k_);
}
std::string LocalResponseNorm::extra_repr() const {
  return std::to_string(size_) + ", alpha=" + repr_float(alpha_) + ", beta=" + repr_float(beta_) +
         ", k=" + repr_float(k_);
}

}  // namespace wick::nn
