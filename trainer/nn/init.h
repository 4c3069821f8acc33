// torch.nn.init: fills parameters in place, without a history. Every function returns its tensor, a
// float of any width. Each random fill uses one stream of the generator.
#pragma once

#include <optional>
#include <string>

#include "trainer/tensor/philox.h"
#include "trainer/tensor/tensor.h"

namespace wick::nn::init {

// Returns the gain that preserves the variance through a nonlinearity: "linear", "conv1d" ...
// "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu" (param: its negative slope, by
// default 0.01), "selu".
double calculate_gain(const std::string& nonlinearity, std::optional<double> param = {});

// Fill t with draws from U[a, b), and from N(mean, std^2), in place and without recording; return
// t.
const Tensor& uniform_(const Arg& t, double a = 0, double b = 1,
                       Generator& g = default_generator());
const Tensor& normal_(const Arg& t, double mean = 0, double std = 1,
                      Generator& g = default_generator());
// A normal distribution truncated to [a, b], drawn by the inverse of its cumulative function.
const Tensor& trunc_normal_(const Arg& t, double mean = 0, double std = 1, double a = -2,
                            double b = 2, Generator& g = default_generator());
// Fill t with a value, ones or zeros, in place and without recording; return t.
const Tensor& constant_(const Arg& t, double value);
const Tensor& ones_(const Arg& t);
const Tensor& zeros_(const Arg& t);
const Tensor& eye_(const Arg& t);  // for a matrix
// For convolution weights (rank 3 to 5): channel i of each group is passed on unchanged.
const Tensor& dirac_(const Arg& t, int64_t groups = 1);

// Glorot and Bengio (2010): variance 2 gain^2 / (fan_in + fan_out). Rank >= 2; fan_in is dim 1,
// fan_out dim 0, each times the sizes of the remaining dims.
const Tensor& xavier_uniform_(const Arg& t, double gain = 1, Generator& g = default_generator());
const Tensor& xavier_normal_(const Arg& t, double gain = 1, Generator& g = default_generator());
// He et al. (2015): variance gain^2 / fan; mode "fan_in" or "fan_out"; a: leaky_relu's slope.
const Tensor& kaiming_uniform_(const Arg& t, double a = 0, const std::string& mode = "fan_in",
                               const std::string& nonlinearity = "leaky_relu",
                               Generator& g = default_generator());
const Tensor& kaiming_normal_(const Arg& t, double a = 0, const std::string& mode = "fan_in",
                              const std::string& nonlinearity = "leaky_relu",
                              Generator& g = default_generator());
// Saxe et al. (2013): orthonormal rows or columns (whichever are fewer) times gain; the dims after
// the first are flattened into one. float32 or float64.
const Tensor& orthogonal_(const Arg& t, double gain = 1, Generator& g = default_generator());
// Martens (2010): for a matrix, normal, but in each column the share `sparsity` (rounded up) is 0.
const Tensor& sparse_(const Arg& t, double sparsity, double std = 0.01,
                      Generator& g = default_generator());

}  // namespace wick::nn::init
