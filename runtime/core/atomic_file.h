// AtomicFile: a file that is either the old one or the whole new one, whatever happens in between.
#pragma once

#include <cstddef>

#include "runtime/core/status.h"

namespace wick {

// Writes go to a temporary file PATH.tmp.N in the same folder; commit() makes it durable (fsync)
// and renames it over the path. After an error, or destroyed without commit(), the temporary file
// is gone and what was at the path is as it was. A process that is killed leaves it, and who writes
// the path next removes it: the lock that a writer holds on its own (flock) tells the two apart.
class AtomicFile {
 public:
  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Once per object. `path` must outlive it.
  Status open(const char* path);
  Status write(const void* bytes, size_t n);
  // Makes what was written durable, so that commit() has only the name to change.
  Status flush();
  Status commit();

  // For a process that is about to end while other threads may still write: the temporary files of
  // all that are open are removed.
  static void abandon_all();

 private:
  Status fail(const char* what, int cause);
  void discard();
  void enlist();
  void forget();

  static constexpr size_t kMaxPath = 4096;
  const char* path_ = nullptr;
  int fd_ = -1;
  char temporary_[kMaxPath] = "";
  AtomicFile *before_ = nullptr, *behind_ = nullptr;  // in the list of those with a temporary file
};

// All of it in one call.
Status write_file_atomically(const char* path, const void* bytes, size_t n);

}  // namespace wick
