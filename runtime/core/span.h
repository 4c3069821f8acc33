#pragma once

#include <span>

namespace wick {
template <class T>
using Span = std::span<T>;
}  // namespace wick
