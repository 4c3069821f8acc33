// RegularFile: opens a file that a user or a model names, for reading. It accepts regular files
// only: opening a pipe waits for a writer that may never come, and a device may have no end or act
// when it is opened.
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

  // Call it once per object. Fails with kNotFound or kIo; the text gives the reason but not the
  // file, which the caller names.
  Status open(const char* path);
  // Opens `name` in the open folder `folder`; links are not followed.
  Status open_in(int folder, const char* name);
  int fd() const { return fd_; }
  uint64_t size() const { return size_; }  // in bytes, when the file was opened
  // Hands the descriptor to the caller, who closes it.
  int release() { return std::exchange(fd_, -1); }
  // Reads exactly these bytes, or fails.
  Status read(uint64_t offset, void* to, size_t bytes) const;
  // Fails with kIo where the size has changed since the file was opened: the bytes read would mix
  // two versions.
  Status check_size() const;
  // Returns whether the file's storage belongs to this machine and stays readable while the file is
  // mapped. Returns false where that is unknown: network and user-space file systems, removable
  // media.
  bool is_local() const;

 private:
  Status open_at(int folder, const char* path, bool follow);

  int fd_ = -1;
  uint64_t size_ = 0;
};

// Reads a whole file into a std::string or a std::vector of bytes; the error's text names the file.
template <class Bytes>
Status read_regular_file(const char* path, Bytes* to) {
  RegularFile file;
  WICK_TRY(annotate(file.open(path), "cannot open '%.300s': ", path));
  to->resize(static_cast<size_t>(file.size()));
  return annotate(file.read(0, to->data(), to->size()), "cannot read '%.300s': ", path);
}

}  // namespace wick
