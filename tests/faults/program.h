// The built `wick` as a process of its own, with calls of the system that fail.
#pragma once

#include <string>
#include <vector>

namespace wick::test {

// What libfail_nth.so is told; n == 0: nothing fails, the calls are counted.
struct Fault {
  std::string kind;
  long n = 0;
  bool stays = false;
};

struct Ended {
  int code = -1;  // -1: a signal ended it, or `slow`
  int signal = 0;
  bool slow = false;  // killed after two minutes
  long calls = 0;     // of the fault's kind, where main() returned
  std::string out, err;
};

// `folder`: for what it prints; it is made.
Ended run_wick(const std::vector<std::string>& arguments, const Fault& fault,
               const std::string& folder);

}  // namespace wick::test
