// Formats numbers and sizes like Python's repr(), for Module::extra_repr.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/tensor/dims.h"

namespace wick::nn {

using Extents = IntList<3>;  // one per spatial dim

std::string repr_float(double v);   // the shortest text that reads back: 1e-05, 0.1, 1.0, inf
std::string repr_number(double v);  // the same, but 1 for 1.0
std::string repr_tuple(const int64_t* values, int64_t count);  // (2, 3); (2,)
inline std::string repr_tuple(const Extents& e) { return repr_tuple(e.values, e.count); }
std::string repr_size(const Extents& e);  // 2 if all are 2, else a tuple
inline const char* repr_bool(bool b) { return b ? "True" : "False"; }

}  // namespace wick::nn
