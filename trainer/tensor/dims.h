// Dimensions and optional arguments of the public functions.
#pragma once

#include <optional>
#include <type_traits>

#include "runtime/ops/attrs.h"

namespace wick {

// {0, -1}, or one as a plain number; none: all of them.
struct Dims : DimList {
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<int64_t> dims) : DimList(dims) {}
  constexpr Dims(const DimList& dims) : DimList(dims) {}  // NOLINT: implicit by design
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  constexpr Dims(T dim) : DimList({static_cast<int64_t>(dim)}) {}  // NOLINT: implicit by design
};

using OptDType = std::optional<DType>;

}  // namespace wick
