// Runs a session: at once, or started and finished later.
#include <cstring>

#include "runtime/exec/ports.h"
#include "runtime/exec/session_impl.h"

namespace wick {

// The timeout includes the time for planning.
void Session::Impl::arm(const RunOptions& options) {
  uint64_t deadline_ns = 0;
  if (options.timeout_ns != 0 &&
      __builtin_add_overflow(now_ns(), options.timeout_ns, &deadline_ns)) {
    deadline_ns = UINT64_MAX;
  }
  stop.arm(deadline_ns, options.cancel);
}

// Runs one step of the stream whose state was taken, or a run without a state.
Status Session::Impl::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                          const RunOptions& options, StateRun& state) {
  remembered = &state;
  Status s = state.linked() ? run_linked(inputs, outputs, options, state)
                            : run_all(inputs, outputs, options);
  if (s.ok()) state.succeed();
  remembered = nullptr;
  return s;
}

// Runs with the links' buffers among the caller's inputs and outputs.
Status Session::Impl::run_linked(Span<const TensorView> inputs, Span<TensorView> outputs,
                                 const RunOptions& options, StateRun& state) {
  WICK_TRY(check_linked());
  TensorView in[StateRun::kMostLinked], out[StateRun::kMostLinked];
  const Span<TensorView> ins(in, entry().body().inputs.size()),
      outs(out, entry().body().outputs.size());
  WICK_TRY(state.join_inputs(inputs, ins));
  WICK_TRY(state.join_outputs(outputs, outs));
  WICK_TRY(run_all(ins, outs, options));
  state.part_outputs(outs, outputs);
  return {};
}

Status Session::Impl::check_linked() const {
  constexpr size_t kMost = StateRun::kMostLinked;
  if (entry().body().inputs.size() <= kMost && entry().body().outputs.size() <= kMost) return {};
  return Status(Code::kInvalidArgument,
                "more than 64 inputs or outputs: run without links of a RecurrentState");
}

Status Session::Impl::run_all(Span<const TensorView> given, Span<TensorView> outputs,
                              const RunOptions& options) {
  WICK_TRY(device.take(options, given));
  const Span<const TensorView> inputs = device.views_or(given);
  WICK_TRY(check_inputs(entry(), inputs, device));
  WICK_TRY(check_output_count(entry(), outputs));
  WICK_TRY(check_state());
  WICK_TRY(values.program.intact_so_far());
  arm(options);
  const StopScope scope(in_force());
  WICK_TRY(bind_to(inputs));
  Status ran = run_bound(inputs, outputs);
  if (ran.ok()) return ran;
  const bool again = !device.lacked_memory() && leave_backend(ran);
  if (device.overwritten()) return annotate(ran, "after an input on the device was overwritten: ");
  if (!again) return ran;
  // Inputs are only read and outputs are written last, so the run can start again.
  WICK_TRY(bind_to(inputs));
  return run_bound(inputs, outputs);
}

// Sets the inputs' pointers for the run that begins.
RunCtx Session::Impl::lend(Span<const TensorView> inputs) {
  auto in = entry().body().inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    if (is_container(inputs[i].dtype))
      values.views[in[i]].shape = values[in[i]].shape = inputs[i].shape;
    values.views[in[i]].data = inputs[i].data;
  }
  lend_state();
  RunCtx ctx;
  ctx.run = ++runs;
  ctx.values = values.views;
  ctx.pool = machine.pool;
  ctx.trace = machine.trace;
  ctx.stop = in_force();
  ctx.strings = &memory.strings;
  memory.strings.clear();
  device.lend(ctx);
  return ctx;
}

Status Session::Impl::run_bound(Span<const TensorView> inputs, Span<TensorView> outputs) {
  Status s = run_steps(inputs, outputs);
  return s.ok() ? s : say_state(s);
}

Status Session::Impl::run_steps(Span<const TensorView> inputs, Span<TensorView> outputs) {
  const bool at_once = runner.whole();  // else the shapes are known after the run only
  if (at_once) WICK_TRY(check_made(outputs));

  FloatModeScope mode;
  WICK_TRY(device.bring(runner, machine.backend));
  RunCtx ctx = lend(inputs);
  sized = at_once;
  Status ran = runner.run(0, ctx);
  if (ran.ok()) ran = stop.status();  // covers work that was skipped last
  if (ran.ok() && !at_once) {
    sized = true;
    ran = check_made(outputs);
  }
  if (ran.ok()) device.ran();
  if (!ran.ok()) runner.undo(runs);
  if (ran.code() == Code::kBudgetExceeded || ran.code() == Code::kOutOfMemory) {
    // memory that this run used up must not be missing in the next run
    memory.strings.clear();
    if (at_once) {
      memory.shrink();
    } else {
      unbind();
      runner.drop();
    }
  }
  WICK_TRY(ran);
  return give(outputs);
}

// Checks what takes the run's results: the caller's buffers, and tensors on the device and states.
Status Session::Impl::check_made(Span<TensorView> outputs) const {
  WICK_TRY(check_kept());  // first: what does not fit a link is no fault of the caller's buffers
  return check_outputs(values, outputs, device);
}
Status Session::Impl::check_kept() const {
  WICK_TRY(device.check_outputs());
  WICK_TRY(check_links());
  return check_updates();
}

// Fails instead of returning results computed from weights that were lost meanwhile.
Status Session::Impl::give(Span<TensorView> outputs) {
  Status whole = values.program.intact();
  auto out = entry().body().outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    if (whole.ok() && device.output(i) != nullptr) whole = device.give(i);
  }
  if (whole.ok()) {
    for (size_t i = 0; i < out.size(); ++i) {
      if (device.output(i) != nullptr) continue;
      const TensorView& from = values.views[out[i]];
      if (outputs[i].data == nullptr) {
        outputs[i] = from;
      } else if (from.nbytes() != 0) {
        memmove(outputs[i].data, from.data, from.nbytes());
      }
    }
    update();
    whole = values.program.intact();  // outputs may be weights
    if (whole.ok()) update_single();
  }
  if (!whole.ok()) runner.undo(runs);
  return whole;
}

// For a body of one stage only the last partition is started; a body of several stages is run
// completely.
// Device tensors, states and links were given to start(), which tells what is wrong with them:
// finish() can be called again with other outputs only.
Status Session::Impl::begin() {
  if (runner.whole()) WICK_TRY(check_kept());
  FloatModeScope mode;
  WICK_TRY(device.bring(runner, machine.backend));
  running = lend(started());
  finishes = nullptr;
  sized = runner.whole();
  auto run_first = [&]() -> Status {
    if (sized) {
      WICK_ASSIGN(finishes, runner.start(running));
      return stop.status();
    }
    WICK_TRY(runner.run(0, running));
    WICK_TRY(stop.status());
    sized = true;
    return check_kept();
  };
  Status s = run_first();
  if (s.ok()) return s;
  runner.undo(runs);
  return say_state(s);
}

Status Session::Impl::start(Span<const TensorView> inputs, const RunOptions& options) {
  if (!remembered->linked()) return start_all(inputs, options);
  TensorView in[StateRun::kMostLinked];
  WICK_TRY(check_linked());
  const Span<TensorView> all(in, entry().body().inputs.size());
  WICK_TRY(remembered->join_inputs(inputs, all));
  return start_all(all, options);
}

Status Session::Impl::start_all(Span<const TensorView> given, const RunOptions& options) {
  WICK_TRY(device.take(options, given));
  const Span<const TensorView> inputs = device.views_or(given);
  WICK_TRY(check_inputs(entry(), inputs, device));
  WICK_TRY(check_state());
  WICK_TRY(values.program.intact_so_far());
  arm(options);
  const StopScope scope(in_force());
  WICK_TRY(bind_to(inputs));
  held.clear();
  for (const TensorView& v : inputs) WICK_TRY(held.push_back(v));
  Status s = begin();
  if (!device.lacked_memory() && leave_backend(s)) {
    WICK_TRY(bind_to(started()));
    s = begin();
  }
  return s;
}

Status Session::Impl::finish(Span<TensorView> outputs, Turn& turn, bool* over) {
  if (!remembered->linked()) return finish_all(outputs, turn, over);
  TensorView out[StateRun::kMostLinked];
  const Span<TensorView> all(out, entry().body().outputs.size());
  WICK_TRY(remembered->join_outputs(outputs, all));
  WICK_TRY(finish_all(all, turn, over));
  remembered->part_outputs(all, outputs);
  return {};
}

Status Session::Impl::finish_all(Span<TensorView> outputs, Turn& turn, bool* over) {
  WICK_TRY(check_output_count(entry(), outputs));
  WICK_TRY(check_outputs(values, outputs, device));
  turn.leave_as(InUse::kFree);
  *over = true;
  FloatModeScope mode;
  const StopScope scope(in_force());
  Status s = finishes == nullptr ? Status() : finishes->finish(running);
  if (!s.ok()) runner.undo(runs);
  if (leave_backend(s)) {
    WICK_TRY(bind_to(started()));
    return run_bound(started(), outputs);
  }
  WICK_TRY(s);
  s = stop.status();
  if (s.ok()) return give(outputs);
  runner.undo(runs);
  return s;
}

// Ends a run that was started and not finished, and drops its results.
void Session::Impl::abandon() {
  Turn turn(use);
  if (!turn.take_started().ok()) return;  // there is none
  turn.leave_as(InUse::kFree);
  stop.arm(0, nullptr);  // the flag may be gone
  running.stop = nullptr;
  FloatModeScope mode;
  Status s = finishes == nullptr ? Status() : finishes->finish(running);
  runner.undo(runs);
  (void)leave_backend(s);
  forget();
}

// Lets go of a state that start() took.
void Session::Impl::forget() {
  held_state.release();
  remembered = nullptr;
}

Status Session::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                    const RunOptions& options) {
  StateRun state;
  WICK_TRY(state.take(options, impl_->values.program, impl_->entry()));
  return run_with(state, inputs, outputs, options);
}

Status Session::run_with(StateRun& state, Span<const TensorView> inputs, Span<TensorView> outputs,
                         const RunOptions& options) {
  Turn turn(impl_->use);
  WICK_TRY(turn.take());
  Status s = impl_->run(inputs, outputs, options, state);
  impl_->count();
  return s;
}

Status Session::start(Span<const TensorView> inputs, const RunOptions& options) {
  Turn turn(impl_->use);
  WICK_TRY(turn.take());
  WICK_TRY(impl_->held_state.take(options, impl_->values.program, impl_->entry()));
  impl_->remembered = &impl_->held_state;
  Status s = impl_->start(inputs, options);
  if (s.ok()) {
    turn.leave_as(InUse::kStarted);
  } else {
    impl_->forget();
  }
  impl_->count();
  return s;
}

Status Session::finish(Span<TensorView> outputs) {
  Turn turn(impl_->use);
  WICK_TRY(turn.take_started());
  bool over = false;
  Status s = impl_->finish(outputs, turn, &over);
  if (s.ok()) impl_->held_state.succeed();
  if (over) impl_->forget();
  impl_->count();
  return s;
}

}  // namespace wick
