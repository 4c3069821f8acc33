// IDX, the file format of MNIST and its descendants: 00 00 type rank, big-endian dimensions, data.
#pragma once

#include <string>

#include "trainer/data/host_array.h"

namespace wick::data {

// Plain or gzip. Magic, type, rank, sizes and the length are checked; the header is refused when it
// asks for more than `budget` bytes.
HostArray read_idx(const std::string& path, uint64_t budget = kDefaultArrayBudget);

}  // namespace wick::data
