// A recorded step as it is repeated: kernels with all that they need chosen, in memory that was
// planned once. Internal to trainer/compile.
#pragma once

#include <memory>

#include "runtime/kernels/prepared.h"
#include "trainer/compile/values.h"

namespace wick::compiled {

struct Totals {
  int kernels = 0;       // that the step ran when it was recorded
  int launches = 0;      // that a repetition runs
  int fused = 0;         // kernels that became parts of others
  size_t planned = 0;    // bytes of the plan
  size_t unplanned = 0;  // bytes of all its values, if each had memory of its own
};

class Program {
 public:
  // Throws Error (kOutOfMemory, or what a kernel says).
  Program(Recording recording, Span<const Tensor* const> arguments, bool fuses);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  // Returns whether the step can be repeated with these arguments, in this thread's modes, with
  // the outside world as it is.
  bool holds(Span<const Tensor* const> arguments) const;

  // Repeats the step. Returns false, with nothing changed, if a value is one of those with which
  // the recorded step would not have gone on. An error of a kernel is thrown with the user's line.
  bool run(Span<const Tensor* const> arguments);
  // The results of the last run. One that nobody else holds is written again by the next run.
  const std::vector<Tensor>& results() const { return results_; }

  // Repeats the part before the first host code, keeps what it wrote outside of the plan, and
  // undoes that. Returns false if run() would.
  bool rehearse(Span<const Tensor* const> arguments);
  // Compares that with what the step has written when it ran as always: the first difference, in
  // words; empty: the same bits. `address` gives the memory of a buffer.
  std::string compare(FunctionRef<const void*(int buffer)> address) const;

  const Recording& recording() const { return r_; }
  const Totals& totals() const { return totals_; }

  bool ready = false;   // it was compared with the step itself
  int64_t repeats = 0;  // runs so far

 private:
  struct Launch;
  struct Patch;  // a pointer that moves with a buffer's memory
  struct Slot;   // memory that the step makes anew and that lives on
  struct Rehearsed {
    int buffer;
    DType dtype;
    std::vector<char> bytes;
  };

  void share(Works* works);
  void plan(Works* works);
  void make_slots();
  void make_launches(const Works& works);
  void find_written();
  Slot* slot_of(int buffer);
  struct SlotCopy;
  SlotCopy make_copy(const Slot& s) const;
  bool is_free(const Slot& s, const SlotCopy& c) const;
  bool uses(int buffer) const { return buffer >= 0 && used_[static_cast<size_t>(buffer)]; }
  TensorView located(const Works& works, const Operand& o) const;
  void bind(Span<const Tensor* const> arguments);
  void move(int buffer, void* base);
  bool run_until(size_t end);
  bool run_launch(Launch& l);
  void set_grads(const std::vector<GradState>& states);

  Recording r_;
  Totals totals_;
  std::vector<Launch> launches_;
  std::vector<std::vector<Patch>> patches_;  // of each buffer outside of the plan
  std::vector<void*> base_;                  // where it is now
  std::vector<Slot> slots_;
  std::vector<Tensor> results_;
  ScratchBuffer memory_, constants_, scratch_;
  std::vector<char*> place_;     // of each value of the plan
  std::vector<bool> used_;       // whether an entry reads or writes a buffer
  std::vector<uint64_t> first_;  // stream of each source in this run
  size_t first_host_ = 0;        // among the launches
  std::vector<Rehearsed> rehearsed_;
  // Buffers outside of the plan that launches write: all of them, and those before a check.
  std::vector<int> written_;
  struct Undo {
    int buffer;
    size_t bytes;
    std::vector<char> old;
  };
  std::vector<Undo> undo_;
};

}  // namespace wick::compiled
