// The processor's own counters (its PMU) of what this process runs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wick::tool {

// Counts cycles, instructions and cache misses of this process outside the kernel: of all threads
// that begin while it lives, so it is made before a session. Where the system shows no counters it
// counts nothing and says why.
class Counters {
 public:
  Counters();
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void start();
  void stop();

  struct Counts {
    std::string missing;  // why there are none; "": there are
    double cycles = 0, instructions = 0, cache_misses = 0;
  };
  // Returns what was counted between start() and stop(), as of one of `runs`. Where the processor
  // had to take turns with its counters, each count is scaled to the whole time.
  Counts of_one(size_t runs) const;

 private:
  static constexpr int kEvents = 3;
  int file_[kEvents] = {-1, -1, -1};
  std::string missing_;
};

// Returns "12.3 M cycles, 40.1 M instructions (3.26 a cycle), 0.015 M cache misses", or why not.
std::string counts_text(const Counters::Counts& counts);
// Returns the counts, or {"missing": why}.
nlohmann::json counts_json(const Counters::Counts& counts);

}  // namespace wick::tool
