// A call of one op that takes long: a sample of its test row, enlarged, or one made by hand where
// an enlarged one would not do.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernels/prepared.h"
#include "tests/ops/op_row.h"
#include "tests/ops/values.h"

namespace wick::test {

// Attributes and inputs.
struct CallCase {
  AnyAttrs attrs;
  std::vector<Value> in;
  int outputs = 1;
};
// Made by hand (cases.cc), of about this work; none: the row's samples are grown.
std::optional<CallCase> hand_case(OpId op, double work);

// Ready to run on given kernels, any number of times.
class LongCall {
 public:
  // The longest that was found within `bytes` of inputs and outputs, of `work` (op_work) or little
  // more.
  LongCall(const TestRow& row, double work, double bytes);

  // A Status: the op's kernels do not take it.
  Status prepare(Span<const KernelSet* const> sets, ThreadPool* pool);
  // Runs what a session would run; the Stop is in force on this thread.
  Status run(Stop* stop);

  double work() const { return work_; }
  double bytes() const { return bytes_; }
  const char* kernel() const { return prepared_.row().name; }
  // "[4096,4096] [4096,4096]"
  std::string shapes() const;

 private:
  void take(const CallCase& call, const std::vector<Shape>& shapes);

  OpId op_;
  AnyAttrs attrs_;
  std::vector<Value> base_, in_, out_;
  double work_ = 0, bytes_ = 0;
  PreparedKernel prepared_;
  ThreadPool* pool_ = nullptr;
  std::unique_ptr<char, void (*)(void*)> scratch_{nullptr, std::free};
  Arena strings_{default_allocator()};
};

// Why no call of the op takes long, or who else ends it; null: it has to ask.
const char* exempt(OpId op);

}  // namespace wick::test
