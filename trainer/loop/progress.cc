#include "trainer/loop/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>

namespace wick::loop {
namespace {

std::string duration(double seconds) {
  auto s = static_cast<int64_t>(std::ceil(seconds));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

std::string progress_text(const ProgressState& s, double rate, bool bar) {
  std::string text = fmt::format("epoch {}/{}  ", s.epoch + 1, s.epochs);
  if (bar && s.batches >= 0) {
    constexpr int64_t kWidth = 24;
    int64_t full = s.batches > 0 ? s.batch * kWidth / s.batches : kWidth;
    text += fmt::format("[{:=<{}}{:<{}}]  ", "", full, "", kWidth - full);
  }
  text += s.batches >= 0 ? fmt::format("{}/{}", s.batch, s.batches) : fmt::format("{}", s.batch);
  text += fmt::format("  loss {:.4f}", s.loss);
  if (s.predicts) text += fmt::format("  acc {:.2f}%", 100 * s.accuracy);
  text += fmt::format("  {:.0f} img/s", rate);
  if (rate > 0 && s.items_left > 0) {
    text += "  eta " + duration(static_cast<double>(s.items_left) / rate);
  }
  return text;
}

Progress::Progress(std::FILE* out) : out_(out), terminal_(out != nullptr && isatty(fileno(out))) {
  start_epoch();
}

void Progress::start_epoch() { start_ = shown_ = Clock::now(); }

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

double Progress::items_per_second(const ProgressState& state) const {
  double s = seconds();
  return s > 0 ? static_cast<double>(state.items_here) / s : 0;
}

void Progress::update(const ProgressState& state) {
  if (out_ == nullptr) return;
  Clock::time_point now = Clock::now();
  if (now - shown_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10)))
    return;
  shown_ = now;
  std::string text = progress_text(state, items_per_second(state), terminal_);
  std::fprintf(out_, terminal_ ? "\r%s\033[K" : "%s\n", text.c_str());
  std::fflush(out_);
}

void Progress::end_epoch(const ProgressState& state, double items_per_second,
                         const std::string& tail) {
  line(progress_text(state, items_per_second, terminal_) + tail);
}

void Progress::line(const std::string& text) {
  if (out_ == nullptr) return;
  std::fprintf(out_, terminal_ ? "\r%s\033[K\n" : "%s\n", text.c_str());
  std::fflush(out_);
}

}  // namespace wick::loop
