// Prints tensors exactly as PyTorch does: tensor([[1.0000, 2.0000]], dtype=torch.float64).
#pragma once

#include <iosfwd>
#include <string>

#include "trainer/tensor/tensor.h"

namespace wick {

// How tensors are printed, with the defaults of torch.set_printoptions.
struct PrintOptions {
  int precision = 4;               // digits after the point
  int64_t threshold = 1000;        // tensors with more elements are summarized
  int64_t edgeitems = 3;           // shown at either end of a summarized dimension
  int64_t linewidth = 80;          // characters per line
  std::optional<bool> sci_mode{};  // none: chosen from the values
};
// Options of the process; fields that are not given are reset to their defaults.
void set_printoptions(const PrintOptions& options);
// The present options.
PrintOptions get_printoptions();

// Prints the values as PyTorch does, with the present options.
std::ostream& operator<<(std::ostream& out, const Tensor& t);
// Returns "Size([2, 3])".
std::string size_text(const Shape& shape);
// Prints that text.
std::ostream& operator<<(std::ostream& out, const Shape& shape);
// Returns shape, strides, dtype, bytes and history in one line (numpy's info()).
std::string info(const Tensor& t);

namespace constants {
// NOLINTBEGIN(readability-identifier-naming): PyTorch's names
// torch.e, torch.pi, torch.inf and torch.nan.
inline constexpr double e = 2.718281828459045235360;
inline constexpr double pi = 3.141592653589793238463;
inline constexpr double inf = __builtin_huge_val();
inline constexpr double nan = __builtin_nan("");
// NOLINTEND(readability-identifier-naming)
}  // namespace constants

}  // namespace wick
