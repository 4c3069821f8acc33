#pragma once

#include <span>

namespace wick {
// A pointer and a number of elements, which belong to someone else.
template <class T>
using Span = std::span<T>;
}  // namespace wick
