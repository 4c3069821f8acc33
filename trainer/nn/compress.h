// Models made smaller for good: channels removed, matrices factored. Masks are in prune.h.
#pragma once

#include <string>
#include <vector>

#include "trainer/nn/prune.h"

namespace wick::nn {

// -- channels
// One layer of a chain, what lies between it and the next, and the output channels that stay.
struct ChannelGroup {
  std::string layer;               // Linear or convolution, by path
  std::vector<std::string> norms;  // batch norms behind it
  std::string next;                // the layer that reads the channels
  std::vector<int64_t> keep;       // ascending
  int64_t channels = 0;            // before
};
// Which channels go, least n-norm of their weights first, in each pair of neighbouring layers of a
// Sequential (nested ones too): Linear -> Linear, convolution -> batch norm -> convolution or, past
// a Flatten, Linear. Between them only what keeps zero channels zero (ReLU, pools, Dropout ...): a
// pair with anything else, Sigmoid or an addition, stays whole. At least one channel stays. The
// last layer's outputs are the model's and stay. No such pair at all is an Error.
std::vector<ChannelGroup> plan_channels(Module& model, prune::Amount amount, double n = 2,
                                        Where where = Where::current());
// Zeros in weights, biases and norms of what the plan drops: the model that remove_channels() is
// equal to.
void zero_channels(Module& model, const std::vector<ChannelGroup>& plan);
// Smaller tensors in the same layers. Gradients are dropped; make a new optimizer.
void remove_channels(Module& model, const std::vector<ChannelGroup>& plan,
                     Where where = Where::current());
// Plans and removes; what was done.
std::vector<ChannelGroup> structured_prune(Module& model, prune::Amount amount, double n = 2,
                                           Where where = Where::current());

// -- low rank
// W [out, in] as left [out, k] times right [k, in], the best such product (Eckart & Young, 1936).
struct LowRank {
  Tensor left, right;
  double error = 0;  // |W - left right|, Frobenius: the root of the sum of the squares left out
};
LowRank low_rank_approximate(const Arg& weight, int64_t rank);
// Whether two factors are smaller than the matrix: rank < out in / (out + in).
bool low_rank_helps(int64_t out, int64_t in, int64_t rank);
// Puts Sequential(Linear(in, rank, no bias), Linear(rank, out)) in the place of the Linear at
// `path`; its error.
double low_rank_linear(Module& model, const std::string& path, int64_t rank,
                       Where where = Where::current());

// -- together
struct CompressOptions {
  prune::Amount channels = 0;   // of each layer, removed
  double rank_energy = 1;       // below 1: factor every Linear that this share of the squared
                                // singular values makes smaller
  prune::Amount magnitude = 0;  // of all weights together, set to zero
};
struct CompressReport {
  int64_t parameters_before = 0, parameters_after = 0;
  uint64_t bytes_before = 0, bytes_after = 0;  // of state_dict()
  int64_t nonzero_after = 0;                   // of the parameters
  double sparsity = 0;                         // of the weights, after
  std::vector<std::string> steps;              // "fc1: 64 of 128 channels"
  std::string text() const;
};
CompressReport compress_model(Module& model, const CompressOptions& options,
                              Where where = Where::current());

// -- a look at the weights
struct WeightDistribution {
  std::string name;
  Shape shape;
  double mean = 0, std = 0, min = 0, max = 0, mean_abs = 0, sparsity = 0;
  double near_zero = 0;            // share with |w| below a hundredth of the largest
  std::vector<int64_t> histogram;  // `bins` of equal width from min to max
};
std::vector<WeightDistribution> analyze_weight_distribution(const Module& model, int64_t bins = 20);

}  // namespace wick::nn
