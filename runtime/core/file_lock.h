// FileLock: one writer at a time of files that belong together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/status.h"
#include "runtime/core/unfinished.h"

namespace wick {

// A lock file that this process holds. Whoever else asks for it is told so at once. The system lets
// go of it when the process ends, however it ends. Of one thread a holder may ask again: training
// holds its folder around fit(), which asks too.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Once per object. `lock` is made and removed again; `what` is what messages call what it guards.
  // Where the file system has no locks nothing is held, and that is no error.
  Status take(const char* lock, const char* what);

 private:
  static constexpr size_t kMaxPath = 4096;
  int fd_ = -1;
  uint64_t device_ = 0, inode_ = 0;
  FileLock* outer_ = nullptr;  // what else this thread holds
  char path_[kMaxPath] = "";
  Unfinished unfinished_;  // path_
};

}  // namespace wick
