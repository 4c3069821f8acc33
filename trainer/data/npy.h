// NPY, numpy's array file: versions 1.0 to 3.0, little-endian and native types, C and Fortran
// order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/core/span.h"
#include "trainer/data/host_array.h"

namespace wick::data {

HostArray read_npy(const std::string& path, uint64_t budget = kDefaultArrayBudget);
// The same of bytes in memory; `name` is what errors call them.
HostArray parse_npy(Span<const uint8_t> bytes, const std::string& name,
                    uint64_t budget = kDefaultArrayBudget);
// NPZ, numpy's archive of arrays (savez, savez_compressed): {name without .npy, array} in the
// file's order. The budget is for all of them together. Needs libarchive.
std::vector<std::pair<std::string, HostArray>> read_npz(const std::string& path,
                                                        uint64_t budget = kDefaultArrayBudget);
// Version 1.0, C order. The file is replaced at once: a failure leaves an older one as it was.
void write_npy(const std::string& path, const TensorView& array);

}  // namespace wick::data
