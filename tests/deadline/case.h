// A call of one op that takes long: a sample of its test row, grown, or one made by hand where a
// grown one would not do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernels/prepared.h"
#include "tests/ops/op_row.h"
#include "tests/ops/values.h"

namespace wick::test {

// Ready to run on given kernels, any number of times.
class LongCall {
 public:
  // The longest that was found within `bytes` of inputs and outputs, of `work` (op_work) or little
  // more.
  LongCall(const TestRow& row, double work, double bytes);

  // A Status: the op's kernels do not take it.
  Status prepare(Span<const KernelSet* const> sets, ThreadPool* pool);
  // What a session would run; with the Stop in force on this thread.
  Status run(Stop* stop);

  double work() const { return work_; }
  double bytes() const { return bytes_; }
  const char* kernel() const { return prepared_.row().name; }
  // "[4096,4096] [4096,4096]"
  std::string shapes() const;

 private:
  void take(const Sample& sample, const std::vector<Shape>& shapes);

  OpId op_;
  AnyAttrs attrs_;
  std::vector<Value> base_, in_, out_;
  double work_ = 0, bytes_ = 0;
  PreparedKernel prepared_;
  ThreadPool* pool_ = nullptr;
  std::unique_ptr<char, void (*)(void*)> scratch_{nullptr, std::free};
  Arena strings_{default_allocator()};
};

// Samples made by hand (cases.cc), for a work; none: the row's own are grown.
std::vector<Sample> hand_samples(OpId op, double work);

}  // namespace wick::test
