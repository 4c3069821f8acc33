// What this process may take of time and memory: --timeout and --max-ram of every command.
#pragma once

#include <cstdint>
#include <functional>

namespace wick::tool {

// From now on. When the time is up, runs end with kDeadline; a command that catches Ctrl-C (wick
// train) is interrupted as by it, and saves its work; what goes on all the same is ended, with one
// message and exit code 1, and its unfinished files are removed.
void limit_time(double seconds);
// While one lives, what is done right before a command is ended so, by another thread while it
// still runs: telling what is known so far, ending processes, removing folders. The last one first.
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

uint64_t
time_left_ns();  // for RunOptions::timeout_ns: 0 where there is no limit, 1 when it is over
uint64_t memory_limit();  // UINT64_MAX: none
// The smaller of a default and the limit.
uint64_t within_memory(uint64_t most);

}  // namespace wick::tool
