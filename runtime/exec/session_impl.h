// The parts of a Session (values, memory, machine, binder, runner) and how calls, bindings and a
// backend's failure work together.
#pragma once

#include "runtime/exec/device_ports.h"
#include "runtime/exec/in_use.h"
#include "runtime/exec/runner.h"
#include "runtime/exec/session.h"
#include "runtime/exec/state_run.h"

namespace wick {

struct Session::Impl {
  Impl(const Program& program, const EntryDef& entry, const SessionOptions& o, Allocator& inner)
      : memory(inner, o.max_ram),
        values(program, entry, memory.allocator, memory.max_ram),
        machine(program, memory.allocator, memory.max_ram, o.backend, o.trace),
        binder(values, memory, machine),
        runner(values, memory, machine, binder),
        states(memory.allocator),
        device(values, memory, o.backend),
        shapes(memory.allocator),
        held(memory.allocator) {}

  SessionMemory memory;
  SessionValues values;
  Machine machine;
  Binder binder;
  Runner runner;
  Array<uint32_t> states;   // values that are states of the program
  bool inputs_tell = true;  // the sizes of all of them
  DevicePorts device;       // of the present run

  char left_backend[WICK_ERROR_TEXTS ? 200 : 1] = "";
  std::atomic<bool> left{false};  // the text above is complete

  char refused_cache[WICK_ERROR_TEXTS ? 300 : 1] = "";
  bool cache_refused = false;

  InUse use;
  // Numbers that may be read at any time, as they were after the last call.
  struct Counts {
    std::atomic<size_t> steps{0}, arena_bytes{0}, packed_bytes{0}, shared_bytes{0}, packed_forms{0};
  } counts;

  // -- the present binding
  bool bound = false;   // the first stage of the body is planned for `shapes`
  bool sized = false;   // the outputs' shapes are known
  Array<Shape> shapes;  // by input

  // -- a run between start() and finish()
  Array<TensorView> held;         // inputs
  Partition* finishes = nullptr;  // the partition that was started; null: all has run
  RunCtx running;
  StateRun held_state;

  Stop stop;                       // of the present run
  StateRun* remembered = nullptr;  // its state; null: there is none
  uint64_t runs = 0;               // the number of the present run

  const EntryDef& entry() const { return values.entry; }
  void count();
  Status take_threads(const SessionOptions& options, Allocator& allocator);

  // bind.cc
  Status bind(Span<const Shape> shapes);
  Status bind_to(Span<const TensorView> inputs);
  bool leave_backend(const Status& why);
  Status bind_once(Span<const Shape> shapes);
  Status say_multiple(Status s) const;
  void unbind();

  // run.cc
  Status run(Span<const TensorView> inputs, Span<TensorView> outputs, const RunOptions& options,
             StateRun& state);
  Status run_linked(Span<const TensorView> inputs, Span<TensorView> outputs,
                    const RunOptions& options, StateRun& state);
  Status check_linked() const;
  Status run_all(Span<const TensorView> inputs, Span<TensorView> outputs,
                 const RunOptions& options);
  void arm(const RunOptions& options);
  Span<const TensorView> started() const { return device.views_or(held); }
  Stop* in_force() { return stop.armed() ? &stop : nullptr; }
  Status run_bound(Span<const TensorView> inputs, Span<TensorView> outputs);
  Status run_steps(Span<const TensorView> inputs, Span<TensorView> outputs);
  RunCtx lend(Span<const TensorView> inputs);
  Status begin();
  Status start(Span<const TensorView> inputs, const RunOptions& options);
  Status start_all(Span<const TensorView> inputs, const RunOptions& options);
  Status finish(Span<TensorView> outputs, Turn& turn, bool* over);
  Status finish_all(Span<TensorView> outputs, Turn& turn, bool* over);
  Status check_made(Span<TensorView> outputs) const;
  Status check_kept() const;
  Status give(Span<TensorView> outputs);
  void abandon();
  void forget();

  // states.cc
  Status prepare_states();
  Status check_state() const;
  bool fits_state() const;
  Status bind_states();
  void lend_state();
  Status check_updates() const;
  Status check_links() const;
  void update();
  void update_single();
  Status say_state(Status s) const;
};

}  // namespace wick
