// Types of dimensions and optional arguments of the public functions.
#pragma once

#include <optional>
#include <type_traits>

#include "runtime/ops/attrs.h"
#include "trainer/tensor/dim.h"

namespace wick {

// {0, -1}, or a single number; empty: all dimensions.
struct Dims : DimList {
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<SizeArg> dims) {
    for (const SizeArg& d : dims) {
      if (count < static_cast<int64_t>(sizeof(values) / sizeof(values[0]))) values[count++] = d;
    }
  }
  constexpr Dims(Dim dim) : Dims({SizeArg(dim)}) {}       // NOLINT: implicit by design
  constexpr Dims(const DimList& dims) : DimList(dims) {}  // NOLINT: implicit by design
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  constexpr Dims(T dim) : DimList({static_cast<int64_t>(dim)}) {}  // NOLINT: implicit by design
};

// A dtype, or none: the function's own choice.
using OptDType = std::optional<DType>;

}  // namespace wick
