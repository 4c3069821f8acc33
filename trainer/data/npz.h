// Writes NPZ, numpy's archive of arrays; npy.h reads it.
#pragma once

#include <string>

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"

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

// Returns what comes before an array's numbers in its NPY file; errors begin with `path`.
std::string npy_head(const std::string& path, const TensorView& array);

}  // namespace wick::data
