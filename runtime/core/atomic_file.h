// AtomicFile: a file that is either the old one or the whole new one, whatever happens in between.
#pragma once

#include <cstddef>

#include "runtime/core/status.h"
#include "runtime/core/unfinished.h"

namespace wick {

// Writes go to a temporary file in the same folder; commit() makes it durable (fsync) and renames
// it to the path. After an error, or when destroyed without commit(), the temporary file is removed
// and the path holds what it held before. Behind a symbolic link the file that it leads to is
// replaced, in that one's folder. A file that was there keeps its mode.
class AtomicFile {
 public:
  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Call it once per object. `path` must outlive it.
  Status open(const char* path);
  Status write(const void* bytes, size_t n);
  // Makes the written bytes durable, so that commit() only has to change the name.
  Status flush();
  Status commit();

 private:
  Status fail(const char* what, int cause);
  void discard();

  static constexpr size_t kMaxPath = 4096;
  const char* path_ = nullptr;
  int fd_ = -1;
  char temporary_[kMaxPath] = "";
  Unfinished unfinished_;  // temporary_
};

// Returns in `target` the file that is replaced where an AtomicFile is opened with this path.
Status find_replaced(const char* path, char* target, size_t size);

// Writes a whole file in one call.
Status write_file_atomically(const char* path, const void* bytes, size_t n);

}  // namespace wick
