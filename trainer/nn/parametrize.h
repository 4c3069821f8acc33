// Parameters that are functions of other parameters, as torch.nn.utils.parametrize:
//
//   nn::spectral_norm(*net.fc1);            // fc1.parametrizations.weight.original, .0._u, .0._v
//   nn::remove_parametrizations(*net.fc1, "weight");   // what it was in the end
//
// The layer is not told: its weight is made anew before each forward (Module::compute_parameter),
// with the gradient flowing to the originals. Make optimizers after parametrizing.
#pragma once

#include "trainer/nn/module.h"

namespace wick::nn {

// From originals to the parameter's value. Own parameters and buffers are saved beneath
// "parametrizations.<name>.<place>."; train() and eval() reach it.
class Parametrization : public Module {
 public:
  // Of one original: forward(x). Of several override this one.
  virtual Tensor value_of(const std::vector<Tensor>& originals);
  // The originals that give `value`, or near it; by default the value itself. One is saved as
  // "original", several as "original0", "original1" ...
  virtual std::vector<Tensor> right_inverse(const Tensor& value);
};

// A second one of the same parameter is applied to the result of the first, and must then have one
// original. An Error where the parametrization changes shape or dtype, or where `name` is no
// parameter.
void register_parametrization(Module& module, const std::string& name,
                              std::shared_ptr<Parametrization> parametrization,
                              Where where = Where::current());
bool is_parametrized(const Module& module, const std::string& name = "");
// A plain parameter again: with the value it has, or (leave_parametrized = false) the original,
// which must be one.
void remove_parametrizations(Module& module, const std::string& name,
                             bool leave_parametrized = true, Where where = Where::current());

// w = g v / |v|, with a norm for each entry of `dim`; kNormOfAll: one of the whole.
// original0 is g, original1 v, torch 2's parametrizations.weight_norm; torch.nn.utils.weight_norm
// calls them weight_g and weight_v. Salimans & Kingma, 2016.
constexpr int kNormOfAll = -1000;
void weight_norm(Module& module, const std::string& name = "weight", int dim = 0,
                 Where where = Where::current());

// w / sigma, its largest singular value, estimated by power iterations: 15 at the start, then
// `n_power_iterations` with each forward in training mode. Buffers _u, _v. A vector is divided by
// its norm. dim: which dimension is the rows'; PyTorch takes 1 for transposed convolutions.
// Miyato et al., 2018.
void spectral_norm(Module& module, const std::string& name = "weight", int n_power_iterations = 1,
                   double eps = 1e-12, int dim = 0, Where where = Where::current());

// A matrix with orthonormal columns (rows, where it is wide): base times the Cayley map of a skew
// matrix, torch's orthogonal(orthogonal_map="cayley"). Begins at the nearest such matrix to the
// weight's by QR. Lezcano-Casado & Martinez-Rubio, 2019.
void orthogonal(Module& module, const std::string& name = "weight", Where where = Where::current());

}  // namespace wick::nn
