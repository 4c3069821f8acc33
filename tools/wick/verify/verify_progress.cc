#include "tools/wick/verify/verify_progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include "tools/lib/text.h"

namespace wick::tool {

using std::chrono::seconds;
using std::chrono::steady_clock;

VerifyProgress::VerifyProgress(std::FILE* out)
    : out_(out), terminal_(isatty(fileno(out)) != 0), since_(steady_clock::now()) {
  if (terminal_) thread_ = std::thread([this] { watch(); });
}

VerifyProgress::~VerifyProgress() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
    clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void VerifyProgress::begins(const std::string& what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  what_ = one_line(what);  // it has names from the file
  since_ = steady_clock::now();
}

void VerifyProgress::print(std::FILE* to, const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  clear();
  fmt::print(to, "{}\n", line);
  if (terminal_) std::fflush(to);
  what_.clear();
}

void VerifyProgress::clear() {
  if (drawn_) std::fputs("\r\033[K", out_);
  drawn_ = false;
}

void VerifyProgress::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, seconds(1), [this] { return ends_; })) {
    const auto passed = std::chrono::duration_cast<seconds>(steady_clock::now() - since_).count();
    if (passed < 1 || what_.empty()) continue;
    fmt::print(out_, "\r\033[K{} ... {} s", what_, passed);
    std::fflush(out_);
    drawn_ = true;
  }
}

}  // namespace wick::tool
