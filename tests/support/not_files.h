// Directory entries that are no regular files: code that opens one to read must refuse it. A reader
// that waits for one instead is stopped by an alarm, so that the test fails and does not hang.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace wick::test {

class NotFiles {
 public:
  struct NotFile {
    std::string path, refusal;  // the text of the error for it
  };

  // `suffix`: of their names, where a reader goes by it.
  explicit NotFiles(const std::string& suffix = "") {
    std::string pattern = wick::test::temp_folder() + "wick-not-files-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const std::string pipe = folder_ + "/pipe" + suffix, link = folder_ + "/link" + suffix,
                      folder = folder_ + "/folder" + suffix, device = folder_ + "/zero" + suffix,
                      socket = folder_ + "/socket" + suffix;
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(symlink(pipe.c_str(), link.c_str()), 0);
    EXPECT_EQ(symlink("/dev/zero", device.c_str()), 0);
    EXPECT_EQ(mkdir(folder.c_str(), 0700), 0);
    socket_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    all_ = {{pipe, "it is a pipe, not a regular file"},
            {link, "it is a pipe, not a regular file"},
            {device, "it is a device, not a regular file"},
            {folder, "a folder, not a "}};
    if (socket.size() < sizeof(address.sun_path)) {  // a scratch folder may have a longer name
      strncpy(address.sun_path, socket.c_str(), sizeof(address.sun_path) - 1);
      EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
      all_.push_back({socket, "it is a socket, not a regular file"});
    }
    alarm(300);
  }
  ~NotFiles() {
    alarm(0);
    close(socket_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  NotFiles(const NotFiles&) = delete;
  NotFiles& operator=(const NotFiles&) = delete;

  const std::string& folder() const { return folder_; }
  std::vector<NotFile>::const_iterator begin() const { return all_.begin(); }
  std::vector<NotFile>::const_iterator end() const { return all_.end(); }

 private:
  std::string folder_;
  std::vector<NotFile> all_;
  int socket_ = -1;
};

}  // namespace wick::test
