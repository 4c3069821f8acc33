#include "trainer/data/npz.h"

#include <zlib.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "runtime/core/atomic_file.h"
#include "wick/error.h"

namespace wick::data {
namespace {

constexpr uint64_t kMostBytes = UINT32_MAX;  // more needs the 64-bit fields of ZIP

// The fields of ZIP's headers are little-endian.
void put_zip(std::string& to, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

// What ZIP's two headers of a file have in common.
std::string zip_fields(const std::string& name, uint32_t crc, uint32_t size) {
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return c > 0; });
  std::string fields;
  put_zip(fields, 20, 2);                   // the version of ZIP that reads it
  put_zip(fields, ascii ? 0 : 1 << 11, 2);  // the name is UTF-8
  put_zip(fields, 0, 2);                    // stored as it is
  put_zip(fields, 0, 2);
  put_zip(fields, 0x21, 2);  // 1 January 1980, as numpy writes: equal arrays, equal bytes
  put_zip(fields, crc, 4);
  put_zip(fields, size, 4);
  put_zip(fields, size, 4);
  put_zip(fields, static_cast<uint32_t>(name.size()), 2);
  put_zip(fields, 0, 2);
  return fields;
}

uint32_t crc_of(const std::string& head, const TensorView& array) {
  uLong crc = crc32(0, reinterpret_cast<const Bytef*>(head.data()), static_cast<uInt>(head.size()));
  if (array.nbytes() == 0) return static_cast<uint32_t>(crc);
  crc = crc32(crc, static_cast<const Bytef*>(array.data), static_cast<uInt>(array.nbytes()));
  return static_cast<uint32_t>(crc);
}

// Checks all that can fail but the writing. Returns the heads of the arrays.
std::vector<std::string> npz_heads(const std::string& path, Span<const NamedArray> arrays) {
  std::vector<std::string> heads;
  std::unordered_set<std::string> known;
  uint64_t bytes = 22;  // of the end
  for (const NamedArray& a : arrays) {
    if (a.name.empty() || a.name.size() > 1000)
      throw Error("[npz] " + path + ": an array's name has 1 to 1000 bytes, not " +
                  std::to_string(a.name.size()));
    if (!known.insert(a.name).second)
      throw Error("[npz] " + path + ": '" + a.name + "' is there twice");
    heads.push_back(npy_head(path + ": " + a.name, a.array));
    bytes += 30 + 46 + 2 * (a.name.size() + 4) + heads.back().size() + a.array.nbytes();
  }
  if (arrays.size() > UINT16_MAX || bytes > kMostBytes) {
    throw Error("[npz] " + path + ": cannot be written: an .npz file holds 65535 arrays and " +
                    std::to_string(kMostBytes) + " bytes at most, not " +
                    std::to_string(arrays.size()) + " arrays and " + std::to_string(bytes) +
                    " bytes",
                Code::kUnsupported);
  }
  return heads;
}

}  // namespace

void write_npz(const std::string& path, Span<const NamedArray> arrays) {
  const std::vector<std::string> heads = npz_heads(path, arrays);
  AtomicFile file;
  check_status(file.open(path.c_str()));
  std::string directory;
  uint32_t at = 0;
  const auto put = [&](const void* bytes, size_t n) {
    if (n != 0) check_status(file.write(bytes, n));
    at += static_cast<uint32_t>(n);
  };
  for (size_t i = 0; i < arrays.size(); ++i) {
    const TensorView& array = arrays[i].array;
    const std::string name = arrays[i].name + ".npy";
    const std::string fields = zip_fields(name, crc_of(heads[i], array),
                                          static_cast<uint32_t>(heads[i].size() + array.nbytes()));
    put_zip(directory, 0x02014b50, 4);
    put_zip(directory, 3 << 8 | 20, 2);  // made by Unix
    directory += fields;
    put_zip(directory, 0, 2);  // no comment
    put_zip(directory, 0, 2);  // disk
    put_zip(directory, 0, 2);
    put_zip(directory, 0100600U << 16, 4);  // a file of its owner
    put_zip(directory, at, 4);
    directory += name;
    std::string local;
    put_zip(local, 0x04034b50, 4);
    local += fields + name;
    put(local.data(), local.size());
    put(heads[i].data(), heads[i].size());
    put(array.data, array.nbytes());
  }
  const uint32_t begin = at;
  put_zip(directory, 0x06054b50, 4);
  put_zip(directory, 0, 4);  // disks
  put_zip(directory, static_cast<uint32_t>(arrays.size()), 2);
  put_zip(directory, static_cast<uint32_t>(arrays.size()), 2);
  put_zip(directory, static_cast<uint32_t>(directory.size() - 12), 4);
  put_zip(directory, begin, 4);
  put_zip(directory, 0, 2);
  put(directory.data(), directory.size());
  check_status(file.commit());
}

}  // namespace wick::data
