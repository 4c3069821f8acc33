// Shows the progress of training: one line that is redrawn on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace wick::loop {

struct ProgressState {
  int64_t epoch = 0, epochs = 0;
  int64_t batch = 0, batches = 0;  // batches -1: unknown
  bool predicts = true;            // false: no accuracy
  int64_t items_done = 0;          // in this epoch
  int64_t items_here = 0;          // of those, in this run (a resumed epoch starts in the middle)
  int64_t items_left = 0;          // until the end of training
  double loss = 0, accuracy = 0;   // means over the epoch so far
};

class Progress {
 public:
  // With a null `out` nothing is printed.
  explicit Progress(std::FILE* out);
  void start_epoch();
  // Redraws at most ten times per second on a terminal; elsewhere prints a line every ten seconds.
  void update(const ProgressState& state);
  // Ends the line. The rate is an argument, so that the validation since then does not lower it.
  void end_epoch(const ProgressState& state, double items_per_second, const std::string& tail);
  void line(const std::string& text);
  double items_per_second(const ProgressState& state) const;
  double seconds() const;  // since start_epoch

 private:
  using Clock = std::chrono::steady_clock;
  std::FILE* out_;
  bool terminal_;
  Clock::time_point start_, shown_;
};

// Returns "epoch 2/5  312/938  loss 0.4031  acc 85.42%  5.1k img/s  eta 0:43".
std::string progress_text(const ProgressState& state, double items_per_second, bool bar);

}  // namespace wick::loop
