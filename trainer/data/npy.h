// Reads and writes NPY, numpy's array file: versions 1.0 to 3.0, little-endian and native types, C
// and Fortran order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/core/span.h"
#include "trainer/data/host_array.h"

namespace wick::data {

// Reads the array of a .npy file, which is row-major in memory. Throws Error for a malformed file,
// a dtype that Wick lacks, and more than `budget` bytes.
HostArray read_npy(const std::string& path, uint64_t budget = kDefaultArrayBudget);
// The same for bytes in memory; `name` is their name in errors.
HostArray parse_npy(Span<const uint8_t> bytes, const std::string& name,
                    uint64_t budget = kDefaultArrayBudget);
// Reads NPZ, numpy's archive of arrays (savez, savez_compressed): {name without .npy, array} in the
// file's order. The budget applies to the sum of all. Needs libarchive.
std::vector<std::pair<std::string, HostArray>> read_npz(const std::string& path,
                                                        uint64_t budget = kDefaultArrayBudget);
// Writes version 1.0, C order. The file is replaced atomically: a failure leaves an existing one
// unchanged.
void write_npy(const std::string& path, const TensorView& array);

}  // namespace wick::data
