#include "trainer/autograd/vmap.h"

#include <string>

#include "trainer/tensor/draws.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

std::string type_and_shape(const Tensor& t) {
  return std::string(dtype_name(t.dtype())) + to_text(t.raw_shape()).text;
}

// The dims of a call that hold the batch, and its size.
struct BatchDims {
  std::vector<std::optional<int>> dims;  // by input, from the front
  int64_t size = -1;
};

BatchDims batch_dims(const std::vector<Tensor>& inputs,
                     const std::vector<std::optional<int>>& in_dims, const Where& where) {
  if (!in_dims.empty() && in_dims.size() != inputs.size()) {
    throw_error("vmap",
                "in_dims has " + std::to_string(in_dims.size()) + " entries for " +
                    std::to_string(inputs.size()) + " inputs",
                where);
  }
  BatchDims batch;
  std::string first;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    const std::string name = "input " + std::to_string(i);
    std::optional<int> dim = in_dims.empty() ? std::optional<int>(0) : in_dims[i];
    if (dim) {
      if (!t.defined() || t.rank() == 0) {
        throw_error("vmap",
                    name + (t.defined() ? " has no dims" : " is undefined") +
                        ", so it cannot be mapped: give it std::nullopt in in_dims",
                    where, Code::kShapeMismatch);
      }
      dim = wrap_dim("vmap", *dim, t.rank(), where);
      const int64_t size = t.size(*dim, where);
      const std::string text = std::to_string(size) + " in " + name + " (dim " +
                               std::to_string(*dim) + " of " + to_text(t.raw_shape()).text + ")";
      if (batch.size >= 0 && size != batch.size) {
        throw_error("vmap", "the batch has two sizes: " + first + " and " + text, where,
                    Code::kShapeMismatch);
      }
      if (batch.size < 0) first = text;
      batch.size = size;
    }
    batch.dims.push_back(dim);
  }
  if (batch.size < 0) {
    throw_error("vmap", "no input is mapped: in_dims needs a dim for at least one", where);
  }
  if (batch.size == 0) {
    throw_error("vmap",
                "the batch is empty (" + first +
                    "): the function never runs, so the shapes of its outputs are not known",
                where, Code::kShapeMismatch);
  }
  return batch;
}

// Calls f for one element, with the random numbers that are allowed.
std::vector<Tensor> call_drawing(const TensorFunction& f, const std::vector<Tensor>& in,
                                 Randomness randomness, int64_t element, std::vector<Draw>* draws,
                                 const Where& where) {
  if (randomness == Randomness::kDifferent) return f(in);
  const bool again = randomness == Randomness::kSame && element > 0;
  DrawScope scope(draws, again ? DrawScope::kAgain : DrawScope::kNote);
  std::vector<Tensor> out = f(in);
  if (randomness == Randomness::kError && !draws->empty()) {
    throw_error("vmap",
                "the function draws random numbers: say Randomness::kDifferent or kSame (dropout "
                "draws in training mode)",
                where);
  }
  if (again && scope.draws() != draws->size()) {
    throw_error("vmap",
                "element " + std::to_string(element) + " draws random tensors " +
                    std::to_string(scope.draws()) + " times, element 0 " +
                    std::to_string(draws->size()) + ": with Randomness::kSame all draw the same",
                where);
  }
  return out;
}

void check_outputs(const std::vector<Tensor>& out, const std::vector<std::vector<Tensor>>& all,
                   int64_t element, const Where& where) {
  if (out.size() != all.size()) {
    throw_error("vmap",
                "the function returned " + std::to_string(out.size()) + " tensors for element " +
                    std::to_string(element) + ", " + std::to_string(all.size()) + " for element 0",
                where, Code::kShapeMismatch);
  }
  for (size_t k = 0; k < out.size(); ++k) {
    const std::string name = "output " + std::to_string(k) + " of element ";
    if (!out[k].defined()) {
      throw_error("vmap", name + std::to_string(element) + " is undefined", where);
    }
    if (all[k].empty()) continue;
    const Tensor& first = all[k][0];
    if (first.dtype() == out[k].dtype() && first.raw_shape() == out[k].raw_shape()) continue;
    throw_error("vmap",
                name + std::to_string(element) + " is " + type_and_shape(out[k]) + ", that of " +
                    "element 0 " + type_and_shape(first),
                where, Code::kShapeMismatch);
  }
}

}  // namespace

std::vector<Tensor> detail::map_slices(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                       const std::vector<std::optional<int>>& in_dims,
                                       const std::vector<int>& out_dims, Randomness randomness,
                                       const Where& where) {
  const BatchDims batch = batch_dims(inputs, in_dims, where);
  std::vector<std::vector<Tensor>> all;  // by output, then element
  std::vector<Draw> draws;
  for (int64_t i = 0; i < batch.size; ++i) {
    std::vector<Tensor> slice = inputs;
    for (size_t k = 0; k < slice.size(); ++k) {
      if (batch.dims[k]) slice[k] = inputs[k].select(*batch.dims[k], i, where);
    }
    const std::vector<Tensor> out = call_drawing(f, slice, randomness, i, &draws, where);
    if (i == 0) all.resize(out.size());
    check_outputs(out, all, i, where);
    for (size_t k = 0; k < out.size(); ++k) all[k].push_back(out[k]);
  }
  if (!out_dims.empty() && out_dims.size() != all.size()) {
    throw_error("vmap",
                "out_dims has " + std::to_string(out_dims.size()) + " entries for " +
                    std::to_string(all.size()) + " outputs",
                where);
  }
  std::vector<Tensor> results;
  for (size_t k = 0; k < all.size(); ++k) {
    const int rank = all[k][0].rank() + 1;
    if (rank > kMaxRank) {
      throw_error("vmap",
                  "output " + std::to_string(k) + " has " + std::to_string(rank - 1) +
                      " dims, a batch of them would have more than " + std::to_string(kMaxRank),
                  where, Code::kShapeMismatch);
    }
    const int dim = out_dims.empty() ? 0 : wrap_dim("vmap", out_dims[k], rank, where);
    results.push_back(stack(all[k], dim, where));
  }
  return results;
}

}  // namespace wick
