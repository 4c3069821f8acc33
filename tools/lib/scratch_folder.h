// A temporary folder that is removed with its owner.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tools/lib/limits.h"
#include "wick/error.h"

namespace wick::tool {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wick-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error("cannot make a temporary folder " + pattern, Code::kIo);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  const AtTimeUp last_{[this] {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }};
};

}  // namespace wick::tool
