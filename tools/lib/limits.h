// Limits what this process may take of time and memory: --timeout and --max-ram of every command.
#pragma once

#include <cstdint>
#include <functional>

namespace wick::tool {

// Starts the limit now. When the time is up, runs end with kDeadline; a command that catches Ctrl-C
// (wick train) is interrupted as by it, and saves its work; a command that goes on all the same is
// ended with one message and exit code 1, and its unfinished files are removed.
void limit_time(double seconds);
// While one lives, its function runs right before a command is ended this way, in another thread
// while the command still runs: it reports what is known so far, ends processes, removes folders.
// The last one registered runs first.
class AtTimeUp {
 public:
  explicit AtTimeUp(std::function<void()> last);
  ~AtTimeUp();
  AtTimeUp(const AtTimeUp&) = delete;
  AtTimeUp& operator=(const AtTimeUp&) = delete;

 private:
  std::function<void()> last_;
};
// The operating system refuses what the process asks for beyond that (RLIMIT_DATA), and sessions
// plan within it.
void limit_memory(uint64_t bytes);

// What a check holds in values at one time that nobody asked for, its model's weights not counted.
constexpr uint64_t kQuickHeld = uint64_t{1} << 26;  // bytes
// While one lives, inputs that this thread makes up, sessions that it opens and its runs are held
// to these, too: a command bounds so what it does by itself, where the user asked for no run.
class QuickLimits {
 public:
  QuickLimits(uint64_t bytes, double seconds);  // 0 seconds: no limit of time
  ~QuickLimits();
  QuickLimits(const QuickLimits&) = delete;
  QuickLimits& operator=(const QuickLimits&) = delete;

 private:
  uint64_t bytes_before_, deadline_before_;
};

// Of the command and of QuickLimits, whichever ends first.
uint64_t time_left_ns();  // for RunOptions::timeout_ns; 0: no limit, 1: it is over
uint64_t memory_limit();  // of the command; UINT64_MAX: none
// Returns the smaller of a default and the limits.
uint64_t within_memory(uint64_t most);

}  // namespace wick::tool
