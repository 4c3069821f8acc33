// The built `wick` as a process of its own, with system calls that fail.
#pragma once

#include <string>
#include <vector>

namespace wick::test {

// The settings of libfail_nth.so; n == 0: nothing fails, the calls are counted.
struct Fault {
  std::string kind;
  long n = 0;
  bool stays = false;
};

struct Ended {
  int code = -1;  // -1: a signal ended it, or `slow`
  int signal = 0;
  bool slow = false;  // killed after two minutes
  long calls = 0;     // of the fault's kind, if main() returned
  std::string out, err;
};

// `settings`: of its environment, NAME=VALUE. `folder`: for what it prints; it is made.
// Ended::calls is what stands in its file `count`, where something was preloaded that counts.
Ended run_wick_with(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& settings, const std::string& folder);
Ended run_wick(const std::vector<std::string>& arguments, const Fault& fault,
               const std::string& folder);

}  // namespace wick::test
