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

Status Session::Impl::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                          const RunOptions& options) {
  WICK_TRY(check_inputs(entry(), inputs));
  WICK_TRY(check_output_count(entry(), outputs));
  WICK_TRY(values.program.intact());
  arm(options);
  const StopScope scope(in_force());
  WICK_TRY(bind_to(inputs));
  Status ran = run_bound(inputs, outputs);
  if (!leave_backend(ran)) return ran;
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
  RunCtx ctx;
  ctx.values = values.views;
  ctx.pool = machine.pool;
  ctx.trace = machine.trace;
  ctx.stop = in_force();
  ctx.strings = &memory.strings;
  memory.strings.clear();
  return ctx;
}

Status Session::Impl::run_bound(Span<const TensorView> inputs, Span<TensorView> outputs) {
  const bool at_once = runner.whole();  // else the shapes are known after the run only
  if (at_once) WICK_TRY(check_outputs(values, outputs));

  FloatModeScope mode;
  RunCtx ctx = lend(inputs);
  sized = at_once;
  Status ran = runner.run(0, ctx);
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
  WICK_TRY(stop.status());  // covers work that was skipped last
  sized = true;
  if (!at_once) WICK_TRY(check_outputs(values, outputs));
  return give(outputs);
}

// Fails instead of returning results computed from weights that were lost meanwhile.
Status Session::Impl::give(Span<TensorView> outputs) {
  WICK_TRY(values.program.intact());
  auto out = entry().body().outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorView& from = values.views[out[i]];
    if (outputs[i].data == nullptr) {
      outputs[i] = from;
    } else if (from.nbytes() != 0) {
      memmove(outputs[i].data, from.data, from.nbytes());
    }
  }
  return values.program.intact();  // outputs may be weights
}

// For a body of one stage only the last partition is started; a body of several stages is run
// completely.
Status Session::Impl::begin() {
  FloatModeScope mode;
  running = lend(held);
  finishes = nullptr;
  sized = runner.whole();
  if (sized) {
    WICK_ASSIGN(finishes, runner.start(running));
    return stop.status();
  }
  WICK_TRY(runner.run(0, running));
  WICK_TRY(stop.status());
  sized = true;
  return {};
}

Status Session::Impl::start(Span<const TensorView> inputs, const RunOptions& options) {
  WICK_TRY(check_inputs(entry(), inputs));
  WICK_TRY(values.program.intact());
  arm(options);
  const StopScope scope(in_force());
  WICK_TRY(bind_to(inputs));
  held.clear();
  for (const TensorView& v : inputs) WICK_TRY(held.push_back(v));
  Status s = begin();
  if (leave_backend(s)) {
    WICK_TRY(bind_to(held));
    s = begin();
  }
  return s;
}

Status Session::Impl::finish(Span<TensorView> outputs, Turn& turn) {
  WICK_TRY(check_output_count(entry(), outputs));
  WICK_TRY(check_outputs(values, outputs));
  turn.leave_as(InUse::kFree);
  FloatModeScope mode;
  const StopScope scope(in_force());
  Status s = finishes == nullptr ? Status() : finishes->finish(running);
  if (leave_backend(s)) {
    WICK_TRY(bind_to(held));
    return run_bound(held, outputs);
  }
  WICK_TRY(s);
  WICK_TRY(stop.status());
  return give(outputs);
}

// Ends a run that was started and not finished, and drops its results.
void Session::Impl::abandon() {
  Turn turn(use);
  if (!turn.take_started().ok()) return;  // there is none
  turn.leave_as(InUse::kFree);
  stop.arm(0, nullptr);  // the flag may be gone
  running.stop = nullptr;
  FloatModeScope mode;
  if (finishes != nullptr) (void)leave_backend(finishes->finish(running));
}

Status Session::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                    const RunOptions& options) {
  Turn turn(impl_->use);
  WICK_TRY(turn.take());
  Status s = impl_->run(inputs, outputs, options);
  impl_->count();
  return s;
}

Status Session::start(Span<const TensorView> inputs, const RunOptions& options) {
  Turn turn(impl_->use);
  WICK_TRY(turn.take());
  Status s = impl_->start(inputs, options);
  if (s.ok()) turn.leave_as(InUse::kStarted);
  impl_->count();
  return s;
}

Status Session::finish(Span<TensorView> outputs) {
  Turn turn(impl_->use);
  WICK_TRY(turn.take_started());
  Status s = impl_->finish(outputs, turn);
  impl_->count();
  return s;
}

}  // namespace wick
