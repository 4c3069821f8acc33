// FileLock: lets one process at a time write files that belong together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/status.h"
#include "runtime/core/unfinished.h"

namespace wick {

// A lock file that this process holds. A second process that asks for it gets an error at once. The
// system releases the lock when the process ends, however it ends. The thread that holds a lock may
// take it again: training holds its folder's lock around fit(), which takes it too.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Call it once per object. `lock` is the path of the lock file, which is created here and removed
  // later; `what` names the protected files in messages. On a file system without locks nothing is
  // held, and that is no error.
  Status take(const char* lock, const char* what);

 private:
  static constexpr size_t kMaxPath = 4096;
  int fd_ = -1;
  uint64_t device_ = 0, inode_ = 0;
  FileLock* outer_ = nullptr;  // the next lock that this thread holds
  char path_[kMaxPath] = "";
  Unfinished unfinished_;  // path_
};

}  // namespace wick
