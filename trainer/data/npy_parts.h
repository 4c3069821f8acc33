// The two parts of an NPY file, for readers that look at the first before they take memory for the
// second; internal.
#pragma once

#include "trainer/data/byte_source.h"
#include "trainer/data/host_array.h"

namespace wick::data {

// What stands before an array's numbers.
struct NpyHead {
  DType dtype = DType::kNone;
  Shape shape;
  bool fortran = false;
  uint64_t bytes = 0;  // of the head itself
};

NpyHead parse_npy_head(ByteSource& source);
// Reads the numbers that follow a head. `used` bytes of the budget are spent.
HostArray parse_npy_numbers(ByteSource& source, const NpyHead& head, uint64_t used,
                            uint64_t budget);

}  // namespace wick::data
