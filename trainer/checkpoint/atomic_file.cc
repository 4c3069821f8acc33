#include "trainer/checkpoint/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "wick/error.h"

namespace wick {

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  temporary_ = path_ + ".tmp." + std::to_string(getpid());
  // A file of this name is left from a killed process whose number we now have.
  unlink(temporary_.c_str());
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd_ < 0) fail("create");
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) {
  int cause = errno;
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  unlink(temporary_.c_str());
  temporary_.clear();
  throw Error(std::string("[write] cannot ") + what + " " + path_ + ": " + std::strerror(cause) +
                  "; an older file of this name is unchanged",
              Code::kIo);
}

void AtomicFile::write(const void* bytes, size_t n) {
  const char* p = static_cast<const char*>(bytes);
  while (n > 0) {
    ssize_t done = ::write(fd_, p, std::min<size_t>(n, 1 << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("write");
    p += done;
    n -= static_cast<size_t>(done);
  }
}

void AtomicFile::commit() {
  if (fsync(fd_) != 0) fail("flush");
  int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0) fail("close");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename onto");
  temporary_.clear();
  // The rename itself must survive a power cut. Some file systems refuse to sync a folder: the file
  // is complete either way.
  size_t slash = path_.find_last_of('/');
  std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  int dir = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir >= 0) {
    (void)fsync(dir);
    close(dir);
  }
}

void write_file_atomically(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace wick
