// ByteSource: reads a file front to back, plain or gzip (told by its content), with the file's name
// in every error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/span.h"

namespace wick::data {

class ByteSource {
 public:
  // `reader` is the name errors start with ("idx").
  ByteSource(std::string reader, std::string path);
  // The same of bytes in memory, which must outlive it; `name` is what errors call them.
  ByteSource(std::string reader, std::string name, Span<const uint8_t> bytes);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Up to `n` bytes; fewer only at the end of the file. Throws on a damaged gzip stream.
  size_t read(void* to, size_t n);
  // Exactly n bytes of `what`, or an error that says how many there were.
  void read_exact(void* to, size_t n, const char* what);
  // The same into a vector that grows as bytes arrive: a lying header costs no more memory than the
  // file has bytes (plus one step).
  void read_exact(std::vector<uint8_t>& to, uint64_t n, const char* what);
  // Fails when bytes follow, or when a gzip stream's checksum is wrong.
  void expect_end();
  [[noreturn]] void fail(const std::string& message) const;

 private:
  std::string reader_, path_;
  void* file_ = nullptr;  // gzFile; null: bytes_ from at_ on
  Span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace wick::data
