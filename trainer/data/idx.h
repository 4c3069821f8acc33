// IDX, the file format of MNIST and its descendants: 00 00 type rank, big-endian dimensions, data.
#pragma once

#include <string>

#include "trainer/data/host_array.h"

namespace wick::data {

// Reads a plain or gzip file. Magic, type, rank, sizes and the length are checked; a header that
// asks for more than `budget` bytes is refused.
HostArray read_idx(const std::string& path, uint64_t budget = kDefaultArrayBudget);

}  // namespace wick::data
