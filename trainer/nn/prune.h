// Pruning by masks, as torch.nn.utils.prune: the parameter `name` becomes name_orig, trained, times
// the buffer name_mask of ones and zeros. Nothing gets smaller by it; trainer/nn/compress.h
// removes.
#pragma once

#include <concepts>
#include <utility>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/tensor/philox.h"

namespace wick::nn::prune {

// How much: an integer is a number of entries (or channels), a floating-point number a fraction,
// rounded to the nearest number of them, halves to even.
struct Amount {
  template <std::integral T>
  Amount(T n) : count(static_cast<int64_t>(n)) {}    // NOLINT: implicit by design
  Amount(double f) : fraction(f), relative(true) {}  // NOLINT
  // Of so many; an Error where it is negative, no number, above 1 or above `of`.
  int64_t resolve(const char* op, int64_t of, const Where& where) const;

  int64_t count = 0;
  double fraction = 0;
  bool relative = false;
};

// Each masks `amount` of the entries that are not masked yet: masks of repeated calls multiply, and
// `amount` is of what is left. All return the whole mask, of the parameter's shape.
// The entries of least magnitude; of equal ones the first go.
Tensor l1_unstructured(Module& module, const std::string& name, Amount amount,
                       Where where = Where::current());
// By chance, from the generator.
Tensor random_unstructured(Module& module, const std::string& name, Amount amount,
                           Generator& g = default_generator(), Where where = Where::current());
// Whole slices along `dim`, those of the least n-norm (n may be infinite).
Tensor ln_structured(Module& module, const std::string& name, Amount amount, double n, int dim,
                     Where where = Where::current());
Tensor random_structured(Module& module, const std::string& name, Amount amount, int dim,
                         Generator& g = default_generator(), Where where = Where::current());
// A mask of your own, of ones and zeros and the parameter's shape.
Tensor custom_from_mask(Module& module, const std::string& name, const Tensor& mask,
                        Where where = Where::current());
// The least magnitudes of all these parameters together.
void global_unstructured(const std::vector<std::pair<Module*, std::string>>& parameters,
                         Amount amount, Where where = Where::current());

// Every Linear's and convolution's weight of a model, for global_unstructured.
std::vector<std::pair<Module*, std::string>> prunable(Module& model);

bool is_pruned(Module& module);  // it or one below it
// The masked values become the parameter, the mask is forgotten.
void remove(Module& module, const std::string& name, Where where = Where::current());

// The share of zeros: of a tensor, and of all of a model's parameters with more than one dimension,
// as they are in forward.
double measure_sparsity(const Tensor& t);
double measure_sparsity(Module& model);

}  // namespace wick::nn::prune
