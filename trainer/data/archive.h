// Reads the files of an archive one after the other, without unpacking it; internal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wick::data {

enum class ArchiveKind { kTar, kZip };  // a tar may be compressed (detected)

class ArchiveReader {
 public:
  virtual ~ArchiveReader() = default;
  // Moves to the next regular file; returns false at the end. Names that lead out of the folder are
  // errors.
  virtual bool next(std::string& name) = 0;
  // Returns the bytes of the file that next() named, at most `budget`.
  virtual std::vector<uint8_t> read(uint64_t budget) = 0;
  // Reads the next n bytes of that file; fewer only at its end. It is refused once it has more than
  // `budget`, at first by the size that the archive says.
  virtual size_t read(void* to, size_t n, uint64_t budget) = 0;
  // Returns the size of the archive itself.
  virtual uint64_t bytes() const = 0;
  // Returns a budget for one of its files, or for what belongs together of them. Deflate makes 1032
  // bytes of one at best; bzip2 makes a gigabyte of a thousand.
  uint64_t most_bytes() const { return (uint64_t{1} << 24) + 1100 * bytes(); }
  // Returns what an error adds where that was the budget, else "".
  std::string budget_reason(uint64_t budget) const {
    if (budget != most_bytes()) return "";
    return ", 16 MiB and 1100 times the archive's " + std::to_string(bytes()) +
           ": compress it with gzip, or not at all";
  }
};

// Errors start with [reader] and name the archive and the file in it.
std::unique_ptr<ArchiveReader> open_archive(const std::string& reader, const std::string& path,
                                            ArchiveKind kind);

}  // namespace wick::data
