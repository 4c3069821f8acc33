// Makes models permanently smaller: removes channels, factors matrices. Masks are in prune.h.
#pragma once

#include <string>
#include <vector>

#include "trainer/nn/change/prune.h"

namespace wick::nn {

// -- channels
// One layer of a chain, the layers between it and the next one, and the output channels to keep.
struct ChannelGroup {
  std::string layer;               // path of a Linear or convolution
  std::vector<std::string> norms;  // batch norms after it
  std::string next;                // the layer that reads the channels
  std::vector<int64_t> keep;       // ascending
  int64_t channels = 0;            // number before
};
// Plans which channels to remove, those with the smallest n-norm of their weights first, for each
// pair of consecutive layers of a Sequential (also nested ones): Linear -> Linear, convolution ->
// batch norm -> convolution or, after a Flatten, Linear. Only modules that keep zero channels zero
// (ReLU, pools, Dropout ...) may be between them: a pair with anything else, such as Sigmoid or an
// addition, is not changed. At least one channel is kept. The last layer's outputs are those of the
// model and are kept. Throws Error if there is no such pair.
std::vector<ChannelGroup> plan_channels(Module& model, prune::Amount amount, double n = 2,
                                        Where where = Where::current());
// Zeroes the weights, biases and norms of the channels that the plan drops. The result is equal to
// that of remove_channels().
void zero_channels(Module& model, const std::vector<ChannelGroup>& plan);
// Puts smaller tensors into the same layers. Gradients are dropped, so make a new optimizer.
void remove_channels(Module& model, const std::vector<ChannelGroup>& plan,
                     Where where = Where::current());
// Plans and removes; returns the plan.
std::vector<ChannelGroup> structured_prune(Module& model, prune::Amount amount, double n = 2,
                                           Where where = Where::current());

// -- low rank
// W [out, in] approximated by left [out, k] times right [k, in], the best such product (Eckart &
// Young, 1936).
struct LowRank {
  Tensor left, right;
  double error = 0;  // Frobenius norm of W - left right, from the dropped singular values
};
// Returns the two factors of a matrix. Throws Error for another rank than 1 to min(out, in), and
// for a weight that is no matrix.
LowRank low_rank_approximate(const Arg& weight, int64_t rank);
// Returns whether the two factors are smaller than the matrix: rank < out in / (out + in).
bool low_rank_helps(int64_t out, int64_t in, int64_t rank);
// Replaces the Linear at `path` by Sequential(Linear(in, rank, no bias), Linear(rank, out));
// returns the error.
double low_rank_linear(Module& model, const std::string& path, int64_t rank,
                       Where where = Where::current());

// -- all of these in one call
// How much compress_model() removes; the default changes nothing.
struct CompressOptions {
  prune::Amount channels = 0;   // removed from each layer
  double rank_energy = 1;       // below 1: keep this share of the squared singular values, and
                                // factor every Linear that gets smaller by it
  prune::Amount magnitude = 0;  // set to zero, among all weights together
};
// Says what compress_model() did.
struct CompressReport {
  int64_t parameters_before = 0, parameters_after = 0;  // numbers in all parameters
  uint64_t bytes_before = 0, bytes_after = 0;           // of the state_dict()
  int64_t nonzero_after = 0;                            // in the parameters
  double sparsity = 0;                                  // of the weights, afterwards
  std::vector<std::string> steps;                       // "fc1: 64 of 128 channels"
  std::string text() const;                             // one line for each step and for the sizes
};
// Removes channels, factors Linears by low rank and masks small weights, in this order. Throws
// Error for an amount that is out of range, and for a rank_energy outside of (0, 1].
CompressReport compress_model(Module& model, const CompressOptions& options,
                              Where where = Where::current());

// Statistics of one parameter, of this name and shape.
// Statistics of one parameter.
struct WeightDistribution {
  std::string name;  // its path in the model
  Shape shape;
  double mean = 0, std = 0, min = 0, max = 0, mean_abs = 0,
         sparsity = 0;             // sparsity: the share of zeros
  double near_zero = 0;            // share with |w| below 1/100 of the largest
  std::vector<int64_t> histogram;  // `bins` of equal width from min to max
};
// Returns the statistics of every parameter that is not empty. Throws Error for bins < 1.
std::vector<WeightDistribution> analyze_weight_distribution(const Module& model, int64_t bins = 20);

}  // namespace wick::nn
