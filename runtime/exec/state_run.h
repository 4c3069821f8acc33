// StateRun: a RecurrentState during one run. Nobody else uses it meanwhile, and what the run made
// becomes its value only when the run has succeeded.
#pragma once

#include "runtime/exec/recurrent_state.h"

namespace wick {

class StateRun {
 public:
  // The most inputs, and outputs, of an entry point whose run may have links.
  static constexpr size_t kMostLinked = 64;

  StateRun() = default;
  StateRun(const StateRun&) = delete;
  StateRun& operator=(const StateRun&) = delete;
  ~StateRun() { release(); }

  // Takes the state (if there is one) for a run of this entry point. kInvalidArgument: it is of
  // another program or, with links, of another entry point, another run uses it, or a port that it
  // links has a tensor on the device as well.
  Status take(const RunOptions& options, const Program& program, const EntryDef& entry);
  void release();

  explicit operator bool() const { return state_ != nullptr; }
  bool linked() const { return state_ != nullptr && !state_->links().empty(); }
  // Put the links' views among those of the caller, who gave all others in their order.
  Status join_inputs(Span<const TensorView> given, Span<TensorView> all) const;
  Status join_outputs(Span<const TensorView> given, Span<TensorView> all) const;
  // Sets those of the caller's outputs for which the session chose the memory.
  void part_outputs(Span<const TensorView> all, Span<TensorView> given) const;
  // Returns the buffer that takes an output's next value; not present: no link is of that output.
  TensorView next(size_t output) const;
  // Return whether a state (null: none) links an input or an output.
  static bool links_input(const RecurrentState* state, size_t input);
  static bool links_output(const RecurrentState* state, size_t output);
  // Returns the present value of one of the program's states.
  TensorView value(uint32_t state) const { return state_->value(state); }
  // Writes what it will be when the run has succeeded: bytes of the state's type and shape.
  void write(uint32_t state, const void* from);
  // The run has succeeded.
  void succeed();

 private:
  RecurrentState* state_ = nullptr;
};

}  // namespace wick
