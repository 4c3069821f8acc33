// A file system of a few kilobytes, so that a full disk is a real one: write() says ENOSPC.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace wick::test {

inline bool write_text(const char* path, const std::string& text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool good = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  return good;
}

// Mounts a tmpfs of `bytes` on `folder`, seen by this process and its children only. Root may;
// others in a user namespace of their own, where the system allows those.
inline bool mount_small_disk(const std::string& folder, size_t bytes) {
  if (unshare(CLONE_NEWNS) != 0) {
    std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    if (!write_text("/proc/self/setgroups", "deny") ||
        !write_text("/proc/self/uid_map", "0 " + uid + " 1") ||
        !write_text("/proc/self/gid_map", "0 " + gid + " 1")) {
      return false;
    }
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  std::string size = "size=" + std::to_string(bytes);
  return mount("tmpfs", folder.c_str(), "tmpfs", 0, size.c_str()) == 0;
}

// Runs `body` in a child process for which `folder` is such a disk: expectations inside count for
// the calling test. False when the system lets nobody mount (the caller then skips).
template <class Body>
bool on_small_disk(const std::string& folder, size_t bytes, Body&& body) {
  constexpr int kNoMount = 77;
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    if (!mount_small_disk(folder, bytes)) _exit(kNoMount);
    body();
    fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    ADD_FAILURE() << "no child process";
    return true;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMount) return false;
  EXPECT_TRUE(WIFEXITED(status)) << "the child died by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "failures of the child process are printed above";
  return true;
}

}  // namespace wick::test

#define WICK_NO_SMALL_DISK "no small file system can be mounted"
