// The sizes at which capture() runs forward: of every dynamic dimension the smallest that it
// promises, and others that a branch or a number computed from a size is likely to tell apart.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "trainer/capture/capture.h"
#include "wick/error.h"

namespace wick {

// A symbol of the inputs, which one dimension or more have.
struct FreeSize {
  std::string symbol;
  int64_t example = 0, min = 1, max = 1;
  int64_t each = 1;  // elements of its input for one of the size
  int64_t multiple = 1;
};

// One size for each FreeSize, in their order.
using Sizes = std::vector<int64_t>;

// Every symbol once. Throws Error where the example has a size that the bounds leave out, or two
// sizes for one symbol.
std::vector<FreeSize> free_sizes(const std::vector<CaptureInput>& inputs);
Sizes example_sizes(const std::vector<FreeSize>& free);

// What to run forward at beside the example: each dimension alone at its smallest size, all at
// theirs, and dimensions at unlike sizes (smallest, an odd prime, the largest where that is small
// or else a multiple of 24, of 12 or 6 for large inputs) together, so that one does not hide what
// depends on another. Never empty: where there is no other size, it is
// the example's once more, for other data.
std::vector<Sizes> further_sizes(const std::vector<FreeSize>& free);

// Two more: a prime beyond the others', and the largest that an input of a million elements allows,
// of each dimension where it has room for them. Empty where nothing is dynamic.
std::vector<Sizes> unseen_sizes(const std::vector<FreeSize>& free);

// Many more, where forward reads sizes as integers: each dimension alone, over what inputs of some
// ten thousand elements have room for, once beyond, and one by one where it is small or of a short
// range, then all together.
std::vector<Sizes> many_sizes(const std::vector<FreeSize>& free);

// The shape of an input at these sizes.
Shape shape_at(const CaptureInput& in, const std::vector<FreeSize>& free, const Sizes& sizes);

// "batch = 4, time = 9"; empty where nothing is dynamic.
std::string sizes_text(const std::vector<FreeSize>& free, const Sizes& sizes);
// What to do where a model is not for these sizes: ". Sizes that ... (batch is 1 to 64)". It lists
// the dimensions that have another size in the example; empty where there are none.
std::string bounds_hint(const std::vector<FreeSize>& free, const Sizes& sizes);

// Forward runs at the example's sizes and not at these.
class FailsAt : public Error {
 public:
  FailsAt(const std::string& what, Code code, Sizes sizes, std::string why)
      : Error(what, code), sizes_(std::move(sizes)), why_(std::move(why)) {}
  const Sizes& sizes() const { return sizes_; }
  const std::string& why() const { return why_; }  // what forward said

 private:
  Sizes sizes_;
  std::string why_;
};
// Throws FailsAt, by `why`.
[[noreturn]] void throw_fails_at(const std::vector<FreeSize>& free, const Sizes& sizes,
                                 const std::exception& why);

}  // namespace wick
