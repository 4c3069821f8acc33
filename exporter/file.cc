#include "exporter/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "wick/error.h"

namespace wick {

void write_file_atomically(const std::string& path, Span<const uint8_t> bytes) {
  std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  auto fail = [&](const char* what) {
    std::string why = strerror(errno);
    unlink(temporary.c_str());
    throw Error(fmt::format("cannot {} '{}': {}", what, path, why), Code::kIo);
  };
  int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) fail("create");
  size_t at = 0;
  while (at < bytes.size()) {
    ssize_t n = write(file, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      int saved = n == 0 ? ENOSPC : errno;
      close(file);
      errno = saved;
      fail("write");
    }
    at += static_cast<size_t>(n);
  }
  if (fsync(file) != 0) {
    int saved = errno;
    close(file);
    errno = saved;
    fail("sync");
  }
  if (close(file) != 0) fail("close");
  if (rename(temporary.c_str(), path.c_str()) != 0) fail("replace");
  // the rename itself must reach the disk; a folder that cannot be opened for that is no reason to
  // fail
  std::string folder = std::filesystem::path(path).parent_path().string();
  int dir = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir >= 0) {
    fsync(dir);
    close(dir);
  }
}

}  // namespace wick
