// torch.nn.init: values for parameters, in place and without a history. Every function returns its
// tensor, a float of any width. Draws take one stream of the generator each.
#pragma once

#include <optional>
#include <string>

#include "trainer/tensor/philox.h"
#include "trainer/tensor/tensor.h"

namespace wick::nn::init {

// What keeps the variance through a nonlinearity: "linear", "conv1d" ... "conv_transpose3d",
// "sigmoid", "tanh", "relu", "leaky_relu" (param: its negative slope, 0.01 unless given), "selu".
double calculate_gain(const std::string& nonlinearity, std::optional<double> param = {});

const Tensor& uniform_(const Arg& t, double a = 0, double b = 1,
                       Generator& g = default_generator());
const Tensor& normal_(const Arg& t, double mean = 0, double std = 1,
                      Generator& g = default_generator());
// A normal distribution cut off at a and b, drawn by the inverse of its cumulative function.
const Tensor& trunc_normal_(const Arg& t, double mean = 0, double std = 1, double a = -2,
                            double b = 2, Generator& g = default_generator());
const Tensor& constant_(const Arg& t, double value);
const Tensor& ones_(const Arg& t);
const Tensor& zeros_(const Arg& t);
const Tensor& eye_(const Arg& t);  // a matrix
// Convolutions (rank 3 to 5) that pass channel i of each group on.
const Tensor& dirac_(const Arg& t, int64_t groups = 1);

// Glorot and Bengio (2010): variance 2 gain^2 / (fan_in + fan_out). Rank >= 2; a fan is dim 1
// (dim 0: out) times the sizes behind.
const Tensor& xavier_uniform_(const Arg& t, double gain = 1, Generator& g = default_generator());
const Tensor& xavier_normal_(const Arg& t, double gain = 1, Generator& g = default_generator());
// He et al. (2015): variance gain^2 / fan; mode "fan_in" or "fan_out"; a: leaky_relu's slope.
const Tensor& kaiming_uniform_(const Arg& t, double a = 0, const std::string& mode = "fan_in",
                               const std::string& nonlinearity = "leaky_relu",
                               Generator& g = default_generator());
const Tensor& kaiming_normal_(const Arg& t, double a = 0, const std::string& mode = "fan_in",
                              const std::string& nonlinearity = "leaky_relu",
                              Generator& g = default_generator());
// Saxe et al. (2013): orthonormal rows or columns (whichever are fewer) times gain; dims behind the
// first are one. float32 or float64.
const Tensor& orthogonal_(const Arg& t, double gain = 1, Generator& g = default_generator());
// Martens (2010): normal, but in each column the share `sparsity` (rounded up) is 0. A matrix.
const Tensor& sparse_(const Arg& t, double sparsity, double std = 0.01,
                      Generator& g = default_generator());

}  // namespace wick::nn::init
