// Where the time of reading data goes: counted for the whole process, by whatever threads read.
#pragma once

#include <chrono>
#include <cstdint>

namespace wick::data {

struct ReadTotals {
  double read_seconds = 0;  // waiting for files: opening, reading
  double make_seconds = 0;  // making batches, reading included
  uint64_t bytes = 0;       // read
};
ReadTotals read_totals();  // since the process began

// { ReadScope time; read(...); time.add(n); }: around what waits for a file. The readers here have
// it; a Dataset of yours may. Scopes inside one another on a thread count once.
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

// The loader's, around making a batch.
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
