#include "exporter/onnx/file/two_files.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/core/leftovers.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

// Moves a file aside under another name while a new one takes its place, and back unless it is told
// to go.
class Aside {
 public:
  explicit Aside(std::string path) : path_(std::move(path)) {}
  ~Aside() {
    if (name_.empty() || rename(name_.c_str(), path_.c_str()) == 0) return;
    // What made the first rename fail may make this one fail, too; a hard link is another way back.
    if (link(name_.c_str(), path_.c_str()) == 0) unlink(name_.c_str());
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  bool there() const {
    struct stat st;
    return lstat(path_.c_str(), &st) == 0 && !S_ISDIR(st.st_mode);
  }
  Status step() {
    static std::atomic<unsigned> serial{0};
    const std::string name = fmt::format("{}.old.{}.{}", path_, getpid(), serial++);
    if (rename(path_.c_str(), name.c_str()) != 0)
      return error(Code::kIo, "cannot replace %s: %s; it is unchanged", path_.c_str(),
                   strerror(errno));
    name_ = name;
    return Status();
  }
  void go() {
    if (!name_.empty()) unlink(name_.c_str());
    name_.clear();
  }

 private:
  std::string path_, name_;
};

// Returns the old files of `path` that a process which ended left next to it.
std::vector<std::string> old_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  const fs::path file(path);
  std::error_code none;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none)) {
    const std::string name = at->path().filename().string();
    if (left_behind(name.c_str(), file.filename().c_str(), "old")) all.push_back(at->path());
  }
  return all;
}

}  // namespace

std::string place_of_both(const std::string& data_path, const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_symlink(data_path, none)) {
    throw Error("cannot write " + data_path +
                    ": it is a symbolic link, through which no model's external data is read; "
                    "remove it first",
                Code::kIo);
  }
  std::array<char, 4096> place;
  check_status(find_replaced(path.c_str(), place.data(), place.size()));
  return place.data();
}

void restore_both(const std::string& data_path, const std::string& path) {
  const std::vector<std::string> models = old_of(path), data = old_of(data_path);
  if (models.empty() && data.empty()) return;
  // commit_both() puts the new model in its place last, and only then lets the old ones go.
  struct stat st;
  if (lstat(path.c_str(), &st) != 0) {
    if (!data.empty()) rename(data.front().c_str(), data_path.c_str());
    if (!models.empty()) rename(models.front().c_str(), path.c_str());
  }
  for (const auto& list : {data, models})
    for (const std::string& old : list) unlink(old.c_str());
}

Status commit_both(AtomicFile& data, const std::string& data_path, AtomicFile& model,
                   const std::string& path) {
  WICK_TRY(data.flush());
  WICK_TRY(model.flush());
  Aside old_model(path), old_data(data_path);  // data goes back before the model that reads it
  const bool had_data = old_data.there();
  if (had_data) {
    if (old_model.there()) WICK_TRY(old_model.step());
    WICK_TRY(old_data.step());
  }
  WICK_TRY(data.commit());
  if (Status s = model.commit(); !s.ok()) {
    if (!had_data) unlink(data_path.c_str());
    return s;
  }
  old_data.go();
  old_model.go();
  return Status();
}

}  // namespace wick::onnx
