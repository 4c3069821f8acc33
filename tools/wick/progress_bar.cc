#include "tools/wick/progress_bar.h"
#include "tools/lib/print.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

namespace wick::tool {

using std::chrono::milliseconds;

ProgressBar::ProgressBar(std::FILE* out, std::string what)
    : out_(out),
      what_(std::move(what)),
      terminal_(out != nullptr && isatty(fileno(out)) != 0),
      shown_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (drawn_ && terminal_) std::fputs("\r\033[K", out_);
}

void ProgressBar::update(int64_t done, int64_t all) {
  const auto now = std::chrono::steady_clock::now();
  if (out_ == nullptr || now - shown_ < milliseconds(terminal_ ? 100 : 10000)) return;
  shown_ = now;
  drawn_ = true;
  constexpr int64_t kWidth = 24;
  const int64_t full = all > 0 ? std::clamp<int64_t>(done * kWidth / all, 0, kWidth) : 0;
  const std::string line =
      fmt::format("{} [{}{}] {}/{}", what_, std::string(static_cast<size_t>(full), '#'),
                  std::string(static_cast<size_t>(kWidth - full), ' '), done, all);
  if (terminal_) std::fputs("\r\033[K", out_);
  say(out_, "{}{}", line, terminal_ ? "" : "\n");
  std::fflush(out_);
}

}  // namespace wick::tool
