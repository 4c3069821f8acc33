// Measures the time spent on reading data, for the whole process and all its threads.
#pragma once

#include <chrono>
#include <cstdint>

namespace wick::data {

// Sums of all threads.
struct ReadTotals {
  double read_seconds = 0;  // waiting for files to be opened and read
  double make_seconds = 0;  // making batches, including reading
  uint64_t bytes = 0;       // bytes read
};
ReadTotals read_totals();  // since the process started

// Usage, around code that waits for a file: { ReadScope time; read(...); time.add(n); }. The
// readers here have it; your own Dataset may have it. Nested scopes of a thread count once.
class ReadScope {
 public:
  ReadScope();
  ~ReadScope();
  ReadScope(const ReadScope&) = delete;
  ReadScope& operator=(const ReadScope&) = delete;
  void add(uint64_t bytes);

 private:
  bool outer_;
  std::chrono::steady_clock::time_point start_;
};

// Used by the loader around making a batch.
class MakeScope {
 public:
  MakeScope() : start_(std::chrono::steady_clock::now()) {}
  ~MakeScope();
  MakeScope(const MakeScope&) = delete;
  MakeScope& operator=(const MakeScope&) = delete;

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace wick::data
