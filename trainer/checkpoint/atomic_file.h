// AtomicFile: a file that is either the old one or the whole new one, whatever happens in between.
#pragma once

#include <cstddef>
#include <string>

namespace wick {

// Writes go to a temporary file in the same folder; commit() makes it durable (fsync) and renames
// it over `path`. Destroyed without commit, the temporary file is removed and `path` is as it was.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t n);
  void commit();

 private:
  [[noreturn]] void fail(const char* what);

  std::string path_, temporary_;
  int fd_ = -1;
};

// The whole text at once.
void write_file_atomically(const std::string& path, const std::string& text);

}  // namespace wick
