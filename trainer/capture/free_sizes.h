// The sizes at which capture() runs forward: the smallest size of every dynamic dimension, and
// others at which a branch or a number computed from a size is likely to differ.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "trainer/capture/capture.h"
#include "wick/error.h"

namespace wick {

// A symbol of the inputs, which stands for the size of one or more dimensions.
struct FreeSize {
  std::string symbol;
  int64_t example = 0, min = 1, max = 1;
  int64_t each = 1;  // elements of its input per unit of the size
  int64_t multiple = 1;
  // Integers of the inputs are places along it (edges that name nodes): runs have none beyond it.
  bool places = false;
};

// One size for each FreeSize, in their order.
using Sizes = std::vector<int64_t>;

// Returns every symbol once. Throws Error if the example has a size outside of the bounds, or two
// different sizes for one symbol.
std::vector<FreeSize> free_sizes(const std::vector<CaptureInput>& inputs);
Sizes example_sizes(const std::vector<FreeSize>& free);

// Returns the sizes to run forward at besides the example: each dimension alone at its smallest
// size, all at their smallest, and the dimensions together at different sizes (smallest, an odd
// prime, the largest if that is small or else a multiple of 24, or of 12 or 6 for large inputs), so
// that one does not hide what depends on another. Never empty: if no other size is allowed, it
// returns the example's again, to be run with other data.
std::vector<Sizes> further_sizes(const std::vector<FreeSize>& free);

// Returns two more: for each dimension a prime beyond the others, and a size of up to 131 for which
// an input of 2^17 elements has room, both within the bounds. Empty if nothing is dynamic.
std::vector<Sizes> unseen_sizes(const std::vector<FreeSize>& free);

// Returns many more, for a forward that reads sizes as integers: each dimension alone with the
// others at their smallest, spread over the sizes of inputs with some ten thousand elements, once
// beyond that, and one by one where the size is small or its range short; then all dimensions
// together.
std::vector<Sizes> many_sizes(const std::vector<FreeSize>& free);

// Returns the shape of an input at these sizes.
Shape shape_at(const CaptureInput& in, const std::vector<FreeSize>& free, const Sizes& sizes);

// Returns "batch = 4, time = 9"; empty if nothing is dynamic.
std::string sizes_text(const std::vector<FreeSize>& free, const Sizes& sizes);
// Returns advice for an error at sizes that the model may not be meant for: ". Sizes that ...
// (batch is 1 to 64)". It lists the dimensions whose size differs from the example's; empty if
// there are none.
std::string bounds_hint(const std::vector<FreeSize>& free, const Sizes& sizes);

// Forward runs at the example's sizes but fails at these.
class FailsAt : public Error {
 public:
  FailsAt(const std::string& what, Code code, Sizes sizes, std::string why)
      : Error(what, code), sizes_(std::move(sizes)), why_(std::move(why)) {}
  const Sizes& sizes() const { return sizes_; }
  const std::string& why() const { return why_; }  // forward's message

 private:
  Sizes sizes_;
  std::string why_;
};
// Throws FailsAt with the message of `why`.
[[noreturn]] void throw_fails_at(const std::vector<FreeSize>& free, const Sizes& sizes,
                                 const std::exception& why);

}  // namespace wick
