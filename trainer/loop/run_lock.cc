#include "trainer/loop/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

namespace wick::loop {

RunLock::RunLock(const std::string& folder, const Where& where) {
  using Place = std::pair<dev_t, ino_t>;
  thread_local std::map<Place, std::weak_ptr<int>> mine;
  // The folder itself is what is locked: there is no file of it to be left behind.
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat st = {};
  if (fd < 0 || fstat(fd, &st) != 0) {
    if (fd >= 0) close(fd);
    return;  // who writes into it says why that cannot be
  }
  std::shared_ptr<int> opened(new int(fd), [](const int* held) {
    close(*held);
    delete held;
  });
  std::weak_ptr<int>& known = mine[{st.st_dev, st.st_ino}];
  held_ = known.lock();
  if (held_ != nullptr) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    known = held_ = opened;
  } else if (errno == EWOULDBLOCK) {
    throw_error("trainer",
                "another run is writing into " + folder +
                    ": wait until it has ended, or train into another folder (--out)",
                where, Code::kIo);
  }
}

}  // namespace wick::loop
