#include "exporter/onnx/file/two_files.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace wick::onnx {
namespace {

// A file under another name while a new one takes its place; back in it unless told that it may go.
class Aside {
 public:
  explicit Aside(std::string path) : path_(std::move(path)) {}
  ~Aside() {
    if (!name_.empty()) rename(name_.c_str(), path_.c_str());
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

}  // namespace

Status commit_both(AtomicFile& data, const std::string& data_path, AtomicFile& model,
                   const std::string& path) {
  WICK_TRY(data.flush());
  WICK_TRY(model.flush());
  Aside old_model(path), old_data(data_path);  // the data is back before the model that reads it
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
