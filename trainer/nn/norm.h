// Normalization by channel statistics. LayerNorm and RMSNorm are in layer_norm.h.
#pragma once

#include <optional>

#include "trainer/nn/module.h"

namespace wick::nn {

// Normalizes each channel of x[N, C, ...] (1d: also [N, C]) by the mean and variance of the batch
// in training mode, and by running averages in eval mode (Ioffe and Szegedy, 2015). momentum {}:
// plain averages of all batches so far. affine = false: no weight and bias. track_running_stats =
// false: the batch's statistics in both modes, and no buffers. Throws Error for a single value per
// channel in training mode, and for a wrong rank.
class BatchNormNd : public Module {
 public:
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;
  Tensor weight, bias;  // [C], or undefined
  // [C], [C] and int64 []; or undefined
  Tensor running_mean, running_var, num_batches_tracked;
  // Return the arguments of the constructor.
  int64_t num_features() const { return features_; }
  double eps() const { return eps_; }
  std::optional<double> momentum() const { return momentum_; }

 protected:
  BatchNormNd(const char* kind, int min_rank, int max_rank, int64_t num_features, double eps,
              std::optional<double> momentum, bool affine, bool track_running_stats);

 private:
  const char* kind_;
  int min_rank_, max_rank_;
  int64_t features_;
  double eps_;
  std::optional<double> momentum_;
};

class BatchNorm1d : public BatchNormNd {  // [N, C] or [N, C, L]
 public:
  explicit BatchNorm1d(int64_t num_features, double eps = 1e-5,
                       std::optional<double> momentum = 0.1, bool affine = true,
                       bool track_running_stats = true)
      : BatchNormNd("BatchNorm1d", 2, 3, num_features, eps, momentum, affine, track_running_stats) {
  }
};
class BatchNorm2d : public BatchNormNd {  // [N, C, H, W]
 public:
  explicit BatchNorm2d(int64_t num_features, double eps = 1e-5,
                       std::optional<double> momentum = 0.1, bool affine = true,
                       bool track_running_stats = true)
      : BatchNormNd("BatchNorm2d", 4, 4, num_features, eps, momentum, affine, track_running_stats) {
  }
};
class BatchNorm3d : public BatchNormNd {  // [N, C, D, H, W]
 public:
  explicit BatchNorm3d(int64_t num_features, double eps = 1e-5,
                       std::optional<double> momentum = 0.1, bool affine = true,
                       bool track_running_stats = true)
      : BatchNormNd("BatchNorm3d", 5, 5, num_features, eps, momentum, affine, track_running_stats) {
  }
};

// Normalizes each channel of each item by its own mean and variance (Ulyanov et al., 2016); in eval
// mode by running averages, if they are tracked. For x[N, C, spatial...], or without N.
class InstanceNormNd : public Module {
 public:
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;
  Tensor weight, bias;  // [C]; undefined unless affine
  // [C], [C] and int64 []; undefined unless they are tracked.
  Tensor running_mean, running_var, num_batches_tracked;

 protected:
  InstanceNormNd(const char* kind, int spatial, int64_t num_features, double eps, double momentum,
                 bool affine, bool track_running_stats);

 private:
  const char* kind_;
  int spatial_;
  int64_t features_;
  double eps_, momentum_;
};

// x[N, C, L], [N, C, H, W] and [N, C, D, H, W], or without N.
class InstanceNorm1d : public InstanceNormNd {
 public:
  explicit InstanceNorm1d(int64_t num_features, double eps = 1e-5, double momentum = 0.1,
                          bool affine = false, bool track_running_stats = false)
      : InstanceNormNd("InstanceNorm1d", 1, num_features, eps, momentum, affine,
                       track_running_stats) {}
};
class InstanceNorm2d : public InstanceNormNd {
 public:
  explicit InstanceNorm2d(int64_t num_features, double eps = 1e-5, double momentum = 0.1,
                          bool affine = false, bool track_running_stats = false)
      : InstanceNormNd("InstanceNorm2d", 2, num_features, eps, momentum, affine,
                       track_running_stats) {}
};
class InstanceNorm3d : public InstanceNormNd {
 public:
  explicit InstanceNorm3d(int64_t num_features, double eps = 1e-5, double momentum = 0.1,
                          bool affine = false, bool track_running_stats = false)
      : InstanceNormNd("InstanceNorm3d", 3, num_features, eps, momentum, affine,
                       track_running_stats) {}
};

// Normalizes groups of channels of each item (Wu and He, 2018); the same in both modes.
class GroupNorm : public Module {
 public:
  GroupNorm(int64_t num_groups, int64_t num_channels, double eps = 1e-5, bool affine = true);
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;
  Tensor weight, bias;  // [C], or undefined

 private:
  int64_t groups_, channels_;
  double eps_;
};

// x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta (Krizhevsky et al., 2012)
class LocalResponseNorm : public Module {
 public:
  explicit LocalResponseNorm(int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1)
      : size_(size), alpha_(alpha), beta_(beta), k_(k) {}
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;

 private:
  int64_t size_;
  double alpha_, beta_, k_;
};

}  // namespace wick::nn
