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

uint64_t time_left_ns();  // for RunOptions::timeout_ns; 0: no limit, 1: it is over
uint64_t memory_limit();  // UINT64_MAX: none
// Returns the smaller of a default and the limit.
uint64_t within_memory(uint64_t most);

}  // namespace wick::tool
