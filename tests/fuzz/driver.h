// The loop of every fuzzer: numbered cases, each made from its seed and number alone, run in a
// child that the parent outlives. A case that kills the child is named and its file kept, and the
// next child continues after it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/span.h"
#include "tests/support/dice.h"

namespace wick::fuzz {

using test::Dice;

constexpr int kCounters = 12;

// Case is what one case sees of the driver.
class Case {
 public:
  Case(uint64_t seed, uint64_t number)
      : dice(seed * 0x9E3779B97F4A7C15u + number), number(number) {}

  Dice dice;
  const uint64_t number;
  bool verbose = false;  // --case: say what is done

  // The file under test: what is kept when the case crashes. The bytes stay the caller's.
  void file(Span<const uint8_t> bytes);
  // With --case, prints a line of what is done, even if the target has closed its output.
  void say(const std::string& line) const;
  // Counts; `counter` is an index of Target::counters.
  void count(int counter);
  // A fault that is no crash: said with the case's number, and the run fails at its end.
  void fault(std::string_view what);
};

struct Target {
  const char* name;
  std::vector<const char*> counters;  // at most kCounters: what case.count() counts
  void (*run)(Case&);
  // A limit on CPU time over all threads of the process: a case that takes more is a fault
  // (SIGPROF), and so is one that has not ended after ten times as long on the wall clock
  // (SIGALRM).
  unsigned seconds = 20;
  // Called once in each child, before its first case; may be null.
  void (*begin)() = nullptr;
};

// --seed N, --case N (that one, in this process), --cases N, --minutes N, --state FILE (goes on
// where an earlier run with it stopped), --keep FOLDER (files of faults). The exit code is 1 after
// a fault.
int fuzz_main(int argc, char** argv, const Target& target);

// True if this program was built with AddressSanitizer.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAsan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kAsan = true;
#else
constexpr bool kAsan = false;
#endif
#else
constexpr bool kAsan = false;
#endif

}  // namespace wick::fuzz
