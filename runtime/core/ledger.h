// Ledger: the resources that one call (load, import, optimise, bind) may spend on an untrusted
// file. All that the call does is counted on one ledger, so that a limit cannot be respected by
// every part and exceeded by their sum. Code that loops over a file's contents calls visit(), code
// that keeps memory for them calls take(), code that computes for them calls work().
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/core/status.h"

namespace wick {

struct LedgerLimits {
  uint64_t visits = UINT64_MAX;  // tables, nodes, attributes and elements looked at
  uint64_t bytes = UINT64_MAX;   // memory kept at one time
  double work = std::numeric_limits<double>::infinity();  // in the unit of op_work()
};

class Ledger {
 public:
  Ledger() = default;
  explicit Ledger(const LedgerLimits& limits) : limits_(limits) {}

  // Each fails with kBudgetExceeded, and counts nothing, where the limit would be exceeded.
  Status visit(uint64_t n) {
    if (n > limits_.visits - visits_) return too_much("visits", limits_.visits);
    visits_ += n;
    return {};
  }
  Status take(uint64_t bytes) {
    if (bytes > limits_.bytes - bytes_) return too_much("bytes", limits_.bytes);
    bytes_ += bytes;
    if (bytes_ > peak_) peak_ = bytes_;
    return {};
  }
  void give_back(uint64_t bytes) { bytes_ -= bytes < bytes_ ? bytes : bytes_; }
  Status work(double steps) {
    if (!(steps <= limits_.work - work_)) return too_much("steps of work", limits_.work);
    work_ += steps;
    return {};
  }

  const LedgerLimits& limits() const { return limits_; }
  LedgerLimits left() const {
    return {limits_.visits - visits_, limits_.bytes - bytes_, limits_.work - work_};
  }
  // Returns what was spent; for bytes, the peak.
  LedgerLimits spent() const { return {visits_, peak_, work_}; }

 private:
  template <class N>
  static Status too_much(const char* what, N limit) {
    return error(Code::kBudgetExceeded, "it takes more than the %.0f %s that it may",
                 static_cast<double>(limit), what);
  }

  LedgerLimits limits_;
  uint64_t visits_ = 0, bytes_ = 0, peak_ = 0;
  double work_ = 0;
};

}  // namespace wick
