// Pruning by masks, as in torch.nn.utils.prune: the parameter `name` becomes the product of
// name_orig, which is trained, and the buffer name_mask of ones and zeros. The model does not get
// smaller; trainer/nn/change/compress.h removes.
#pragma once

#include <concepts>
#include <utility>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/tensor/philox.h"

namespace wick::nn::prune {

// The amount to prune: an integer is a number of entries (or channels), a floating-point number a
// fraction of them, rounded to the nearest number with ties to even.
struct Amount {
  template <std::integral T>
  Amount(T n) : count(static_cast<int64_t>(n)) {}    // NOLINT: implicit by design
  Amount(double f) : fraction(f), relative(true) {}  // NOLINT
  // Returns the number out of `of`. Throws Error if it is negative, NaN, or more than all.
  int64_t resolve(const char* op, int64_t of, const Where& where) const;

  // It is the number `count`, or with `relative` the `fraction`.
  int64_t count = 0;
  double fraction = 0;
  bool relative = false;
};

// Each masks `amount` of the entries that are not masked yet: the masks of repeated calls are
// multiplied, and `amount` refers to the remaining entries. All return the complete mask, of the
// parameter's shape.
// Masks the entries of smallest magnitude; of equal ones the first.
Tensor l1_unstructured(Module& module, const std::string& name, Amount amount,
                       Where where = Where::current());
// Masks random entries.
Tensor random_unstructured(Module& module, const std::string& name, Amount amount,
                           Generator& g = default_generator(), Where where = Where::current());
// Masks whole slices along `dim`, those with the smallest n-norm (n may be infinite).
Tensor ln_structured(Module& module, const std::string& name, Amount amount, double n, int dim,
                     Where where = Where::current());
// Masks random slices along `dim`.
Tensor random_structured(Module& module, const std::string& name, Amount amount, int dim,
                         Generator& g = default_generator(), Where where = Where::current());
// Uses your own mask of ones and zeros, of the parameter's shape.
Tensor custom_from_mask(Module& module, const std::string& name, const Tensor& mask,
                        Where where = Where::current());
// Masks the smallest magnitudes of all these parameters together.
void global_unstructured(const std::vector<std::pair<Module*, std::string>>& parameters,
                         Amount amount, Where where = Where::current());

// Returns the weight of every Linear and convolution of a model, for global_unstructured.
std::vector<std::pair<Module*, std::string>> prunable(Module& model);

bool is_pruned(Module& module);  // it or a descendant
// Makes the masked values the parameter, and drops the mask.
void remove(Module& module, const std::string& name, Where where = Where::current());

// Return the share of zeros: of a tensor, or of all of a model's parameters with more than one
// dimension, with their values in forward.
double measure_sparsity(const Tensor& t);
double measure_sparsity(Module& model);

}  // namespace wick::nn::prune
