// Recorder: sees everything that changes bytes while a thread runs: kernels, copies, random draws,
// and calls that work on the host. compile_step() records a training step with it
// (trainer/compile). Unlike a Tracer it sees backward too, and it sees bytes instead of values, so
// it changes neither which kernels run nor where they write. A thread without one pays for the test
// of a pointer (Modes::recorder).
#pragma once

#include <functional>
#include <string>

#include "runtime/kernels/kernel.h"
#include "trainer/tensor/draws.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/step_break.h"
#include "trainer/tensor/tensor.h"

namespace wick {

namespace optim {
class Optimizer;
}

class Recorder {
 public:
  virtual ~Recorder() = default;
  // Called for each tensor that an op reads or writes, before its bytes are used.
  virtual void on_tensor(const Tensor& t) = 0;
  // Called after a kernel ran.
  virtual void on_kernel(const KernelQuery& query, Span<const TensorView> out,
                         const Where& where) = 0;
  // Called after bytes were copied between views of one shape and dtype.
  virtual void on_copy(const TensorView& from, const TensorView& to, const Where& where) = 0;
  // Called after a tensor was filled with zeros.
  virtual void on_zero(const TensorView& to, const Where& where) = 0;
  // Called when a stream is taken from a generator, and after it filled a tensor.
  virtual void on_stream(Generator& g, const Draw& draw) = 0;
  virtual void on_draw(const DrawFill& fill, const Draw& draw, const TensorView& to) = 0;
  // Called where host code looks at values, in order to refuse some. `holds` tells whether the
  // step may go on as recorded with other values.
  virtual void on_check(const Tensor& t, std::function<bool(const TensorView&)> holds,
                        const char* op, const Where& where) = 0;
  // Runs `f` unrecorded, and again in each repetition. `owner` (or null) must live that long.
  virtual void on_host(const char* name, const void* owner, std::function<void()> f) = 0;
  // Called when a module, an optimizer or a schedule is destroyed.
  virtual void on_owner_gone(const void* owner) = 0;
  // Called before an optimizer's step, whose work on_host() then does.
  virtual void on_optimizer(const optim::Optimizer& optimizer) = 0;
  // Called when a module's training flag is read.
  virtual void on_flag(const bool* flag) = 0;
  // Called where the step does what cannot be repeated.
  virtual void on_break(StepBreak why) = 0;
  // Called before an op takes sizes from the elements of a tensor.
  virtual void on_sizes(const TensorView& sizes, const std::string& op, const Where& where) = 0;
};

// Reports the reading of a flag: a module's `training()`.
void note_flag_read(const bool* flag);
// Reports that host code reads values, so that what it does with them cannot be repeated.
void note_host_read(const char* op, const Where& where);
// Reports any other break, if this thread records.
void note_break(const char* op, const char* why, const char* rewrite, const Where& where);

// Runs `f`. While a step is recorded, `f` is also kept, and runs again in each repetition.
template <class F>
void run_on_host(const char* name, const void* owner, const F& f) {
  if (Recorder* r = modes().recorder) [[unlikely]] {
    r->on_host(name, owner, f);
  } else {
    f();
  }
}

// Hides this thread's recorder while it lives.
class UnrecordedScope {
 public:
  UnrecordedScope() : saved_(modes().recorder) { modes().recorder = nullptr; }
  ~UnrecordedScope() { modes().recorder = saved_; }
  UnrecordedScope(const UnrecordedScope&) = delete;
  UnrecordedScope& operator=(const UnrecordedScope&) = delete;

 private:
  Recorder* saved_;
};

// Counts what ends recorded steps: hooks that were added, and modules, optimizers and schedules
// that were destroyed while a step holds their addresses.
uint64_t step_changes();
void note_step_change();
// A step holds the address of such an object from the first call to the second.
void watch_owner(const void* owner);
void unwatch_owner(const void* owner);
// Called by the destructors of these objects.
void note_owner_gone(const void* owner);

}  // namespace wick
