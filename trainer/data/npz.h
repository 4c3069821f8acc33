// Writes NPZ, numpy's archive of arrays, and reads those of its arrays that are wanted; npy.h reads
// all.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"
#include "trainer/data/host_array.h"

namespace wick::data {

// An array under its name.
struct NamedArray {
  std::string name;
  TensorView array;  // contiguous
};

// Writes an archive that numpy.load() and read_npz() read, with the arrays in this order and not
// compressed; equal arrays give equal bytes. The file is replaced atomically: a failure leaves an
// existing one unchanged. Throws Error for a dtype that numpy lacks, a name that is empty or occurs
// twice, and for more than 4 GiB.
void write_npz(const std::string& path, Span<const NamedArray> arrays);

// Is told what an array of an archive is before its numbers are unpacked. Returns whether it is
// read; may throw.
using NpzFilter = std::function<bool(const std::string& name, DType dtype, const Shape& shape)>;
// Reads the arrays that `wanted` takes (null: all), {name without .npy, array} in the file's order.
// The budget applies to the sum of what is read, and to each array. Memory is taken for that alone,
// and as it arrives: a small archive may unpack to a thousand times its size, and what says more is
// refused. Needs libarchive.
std::vector<std::pair<std::string, HostArray>> read_npz(const std::string& path, uint64_t budget,
                                                        const NpzFilter& wanted);

// Returns what comes before an array's numbers in its NPY file; errors begin with `path`.
std::string npy_head(const std::string& path, const TensorView& array);

}  // namespace wick::data
