// RegularFile: how everything opens a file that a user, or a model, names for reading. Only a
// regular file: opening a pipe waits for a writer that may never come, a device never ends or does
// something when it is opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/core/status.h"

namespace wick {

class RegularFile {
 public:
  RegularFile() = default;
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  // Once per object. kNotFound, kIo; the text says why, and not which: callers name the file.
  Status open(const char* path);
  // `name` in the open folder `folder`, itself and nothing that a link leads to.
  Status open_in(int folder, const char* name);
  int fd() const { return fd_; }
  uint64_t size() const { return size_; }  // when it was opened
  // The descriptor becomes the caller's to close.
  int release() { return std::exchange(fd_, -1); }
  // All of these bytes or an error.
  Status read(uint64_t offset, void* to, size_t bytes) const;
  // kIo where its size is another one than when it was opened: what was read is of two files.
  Status check_size() const;
  // Whether its storage is this machine's own and stays readable while the file is mapped. False
  // where that is not known: network and user-space file systems, removable media's.
  bool is_local() const;

 private:
  Status open_at(int folder, const char* path, bool follow);

  int fd_ = -1;
  uint64_t size_ = 0;
};

// All of a file into a std::string or a std::vector of bytes; the error's text names the file.
template <class Bytes>
Status read_regular_file(const char* path, Bytes* to) {
  RegularFile file;
  WICK_TRY(annotate(file.open(path), "cannot open '%.300s': ", path));
  to->resize(static_cast<size_t>(file.size()));
  return annotate(file.read(0, to->data(), to->size()), "cannot read '%.300s': ", path);
}

}  // namespace wick
