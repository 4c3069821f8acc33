// A folder of this process alone for the files that tests write: fixed names below /tmp would clash
// with those of another user, or of a second run at the same time.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace wick::test {

// Ends with a slash; made when first asked for, and gone when the process ends.
inline const std::string& temp_folder() {
  struct Folder {
    Folder() {
      path = (std::filesystem::temp_directory_path() / "wick_test_XXXXXX").string();
      if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
      path += "/";
    }
    ~Folder() {
      if (getpid() != owner) return;  // a child that a test forked ends before its parent
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::string path;
    pid_t owner = getpid();
  };
  static const Folder folder;
  return folder.path;
}

}  // namespace wick::test
