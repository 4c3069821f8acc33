// NPY, numpy's array file: versions 1.0 to 3.0, little-endian and native types, C and Fortran
// order.
#pragma once

#include <string>

#include "trainer/data/host_array.h"

namespace wick::data {

HostArray read_npy(const std::string& path, uint64_t budget = kDefaultArrayBudget);
// Version 1.0, C order. The file is replaced at once: a failure leaves an older one as it was.
void write_npy(const std::string& path, const TensorView& array);

}  // namespace wick::data
