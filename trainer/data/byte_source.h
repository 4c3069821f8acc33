// ByteSource: reads a file from front to back, plain or gzip (detected from its content), with the
// file's name in every error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/core/span.h"

namespace wick::data {

class ByteSource {
 public:
  // `reader` is the name errors start with ("idx").
  ByteSource(std::string reader, std::string path);
  // Reads bytes in memory, which must outlive it; `name` is their name in errors.
  ByteSource(std::string reader, std::string name, Span<const uint8_t> bytes);
  // Reads what `more` gives, which is to return fewer bytes than asked for only at the end.
  ByteSource(std::string reader, std::string name, std::function<size_t(void*, size_t)> more);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Reads up to `n` bytes; fewer only at the end of the file. Throws on a damaged gzip stream.
  size_t read(void* to, size_t n);
  // Reads exactly n bytes of `what`, or throws an error that says how many there were.
  void read_exact(void* to, size_t n, const char* what);
  // The same into a vector that grows as bytes arrive: a header that lies about the size costs no
  // more memory than the file has bytes (plus one step).
  void read_exact(std::vector<uint8_t>& to, uint64_t n, const char* what);
  // Fails when bytes follow, or when a gzip stream's checksum is wrong.
  void expect_end();
  [[noreturn]] void fail(const std::string& message) const;

 private:
  std::string reader_, path_;
  void* file_ = nullptr;                       // a gzFile; null: asks more_
  std::function<size_t(void*, size_t)> more_;  // null: reads bytes_ from at_ on
  Span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace wick::data
