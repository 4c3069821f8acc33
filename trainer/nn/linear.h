// Affine maps, changes of the shape, and distances between two tensors.
#pragma once

#include "trainer/nn/module.h"

namespace wick::nn {

// Maps x[..., in] to [..., out]. Weight and bias are initialized with U(-1/sqrt(in), 1/sqrt(in)),
// Maps x[..., in] to [..., out]: x W^T + b. Weight and bias are initialized with U(-1/sqrt(in),
// 1/sqrt(in)), PyTorch's default. Throws Error if the last size of x is not `in`.
class Linear : public Module {
 public:
  Linear(int64_t in_features, int64_t out_features, bool bias = true);
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;
  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined
};

// y_o = x1^T weight_o x2 + bias_o, for x1[..., in1] and x2[..., in2]. Initialized with
// U(-1/sqrt(in1), 1/sqrt(in1)). It takes two tensors, so it cannot be in a Sequential.
class Bilinear : public Module {
 public:
  Bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features, bool bias = true);
  Tensor operator()(const Arg& x1, const Arg& x2);
  std::string extra_repr() const override;
  Tensor weight;  // [out, in1, in2]
  Tensor bias;    // [out], or undefined
};

// Returns x itself.
class Identity : public Module {
 public:
  Tensor forward(const Arg& x) override { return x.tensor; }
};

// Joins the dimensions from start_dim to end_dim into one; torch.nn.Flatten.
class Flatten : public Module {
 public:
  explicit Flatten(int start_dim = 1, int end_dim = -1) : start_(start_dim), end_(end_dim) {}
  Tensor forward(const Arg& x) override { return x.tensor.flatten(start_, end_, x.where); }
  std::string extra_repr() const override;

 private:
  int start_, end_;
};

// Splits dimension `dim` into several; one of the sizes may be -1.
class Unflatten : public Module {
 public:
  Unflatten(int dim, const Shape& unflattened_size) : dim_(dim), sizes_(unflattened_size) {}
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;

 private:
  int dim_;
  Shape sizes_;
};

// Cosine similarity of x1 and x2 along a dimension; takes two tensors.
class CosineSimilarity : public Module {
 public:
  explicit CosineSimilarity(int dim = 1, double eps = 1e-8) : dim_(dim), eps_(eps) {}
  Tensor operator()(const Arg& x1, const Arg& x2);

 private:
  int dim_;
  double eps_;
};
// |x1 - x2 + eps|_p over the last dimension.
class PairwiseDistance : public Module {
 public:
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false)
      : p_(p), eps_(eps), keepdim_(keepdim) {}
  Tensor operator()(const Arg& x1, const Arg& x2);

 private:
  double p_, eps_;
  bool keepdim_;
};

}  // namespace wick::nn
