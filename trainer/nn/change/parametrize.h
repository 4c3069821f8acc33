// Parameters that are functions of other parameters, as torch.nn.utils.parametrize:
//
//   nn::spectral_norm(*net.fc1);            // fc1.parametrizations.weight.original, .0._u, .0._v
//   nn::remove_parametrizations(*net.fc1, "weight");   // a plain parameter with its last value
//
// The layer needs no change: its weight is recomputed before each forward
// (Module::compute_parameter), and the gradient flows to the originals. Make optimizers after
// parametrizing.
#pragma once

#include "trainer/nn/module.h"

namespace wick::nn {

// Computes the parameter's value from the originals. Its own parameters and buffers are saved under
// "parametrizations.<name>.<index>."; train() and eval() apply to it.
class Parametrization : public Module {
 public:
  // For one original this is forward(x). For several, override this function.
  virtual Tensor value_of(const std::vector<Tensor>& originals);
  // Returns originals that give `value`, or nearly so; by default the value itself. A single one is
  // saved as "original", several as "original0", "original1" ...
  virtual std::vector<Tensor> right_inverse(const Tensor& value);
};

// A second parametrization of the same parameter is applied to the result of the first, and must
// then have one original. Throws Error if the parametrization changes shape or dtype, or if `name`
// is not a parameter.
void register_parametrization(Module& module, const std::string& name,
                              std::shared_ptr<Parametrization> parametrization,
                              Where where = Where::current());
// Returns whether the parameter is parametrized; "": whether any of the module is.
bool is_parametrized(const Module& module, const std::string& name = "");
// Makes it a plain parameter again, with its present value or (leave_parametrized = false) with the
// original, of which there must be exactly one.
void remove_parametrizations(Module& module, const std::string& name,
                             bool leave_parametrized = true, Where where = Where::current());

// w = g v / |v|, with a norm for each index of `dim`; kNormOfAll: one norm for the whole. original0
// is g and original1 v, as in torch 2's parametrizations.weight_norm; torch.nn.utils.weight_norm
// calls them weight_g and weight_v. Salimans & Kingma, 2016.
constexpr int kNormOfAll = -1000;
// Splits a parameter into norms and directions. Throws Error as register_parametrization() does,
// and for a dim that the parameter does not have.
void weight_norm(Module& module, const std::string& name = "weight", int dim = 0,
                 Where where = Where::current());

// w / sigma, its largest singular value, which is estimated by power iterations: 15 at the start,
// then `n_power_iterations` with each forward in training mode. The buffers are _u and _v. A vector
// is divided by its norm. dim: the dimension of the rows; PyTorch uses 1 for transposed
// convolutions. Miyato et al., 2018.
void spectral_norm(Module& module, const std::string& name = "weight", int n_power_iterations = 1,
                   double eps = 1e-12, int dim = 0, Where where = Where::current());

// A matrix with orthonormal columns (or rows, if it is wide): a base times the Cayley map of a skew
// matrix, as torch's orthogonal(orthogonal_map="cayley"). It starts with the orthogonal factor of
// the weight's QR. Lezcano-Casado & Martinez-Rubio, 2019.
void orthogonal(Module& module, const std::string& name = "weight", Where where = Where::current());

}  // namespace wick::nn
