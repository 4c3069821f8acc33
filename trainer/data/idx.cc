#include "trainer/data/idx.h"

#include <algorithm>

#include "trainer/data/byte_source.h"

namespace wick::data {
namespace {

DType idx_dtype(uint8_t type) {
  switch (type) {
    case 0x08: return DType::kU8;
    case 0x09: return DType::kI8;
    case 0x0B: return DType::kI16;
    case 0x0C: return DType::kI32;
    case 0x0D: return DType::kF32;
    case 0x0E: return DType::kF64;
    default: return DType::kNone;
  }
}

}  // namespace

HostArray read_idx(const std::string& path, uint64_t budget) {
  ByteSource source("idx", path);
  uint8_t magic[4];
  source.read_exact(magic, 4, "magic");
  HostArray array;
  array.dtype = idx_dtype(magic[2]);
  int rank = magic[3];
  if (magic[0] != 0 || magic[1] != 0 || array.dtype == DType::kNone) {
    source.fail("not an IDX file (it starts with neither 00 00 nor a known type)");
  }
  if (rank < 1 || rank > kMaxRank) {
    source.fail("rank " + std::to_string(rank) + ", expected 1 to " + std::to_string(kMaxRank));
  }
  for (int i = 0; i < rank; ++i) {
    uint8_t b[4];
    source.read_exact(b, 4, "dimensions");
    array.shape.push_back(int64_t{b[0]} << 24 | int64_t{b[1]} << 16 | int64_t{b[2]} << 8 | b[3]);
  }
  Result<size_t> bytes = checked_bytes(array.shape, dtype_bits(array.dtype));
  if (!bytes.ok() || *bytes > budget) {
    source.fail("shape " + std::string(to_text(array.shape).text) +
                " needs more than the budget of " + std::to_string(budget) + " bytes");
  }
  source.read_exact(array.bytes, *bytes, "data");
  source.expect_end();
  size_t size = dtype_size(array.dtype);
  if (size > 1) {  // big endian in the file
    for (size_t i = 0; i < array.bytes.size(); i += size) {
      std::reverse(array.bytes.begin() + static_cast<ptrdiff_t>(i),
                   array.bytes.begin() + static_cast<ptrdiff_t>(i + size));
    }
  }
  return array;
}

}  // namespace wick::data
