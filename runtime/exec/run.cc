// Running a session: at once, or started and finished later.
#include <cstring>

#include "runtime/exec/ports.h"
#include "runtime/exec/session_impl.h"

namespace wick {
namespace {

uint64_t deadline_of(const RunOptions& options) {
  return options.timeout_ns == 0 ? 0 : now_ns() + options.timeout_ns;
}

}  // namespace

Status Session::Impl::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                          const RunOptions& options) {
  WICK_TRY(check_inputs(entry(), inputs));
  WICK_TRY(check_output_count(entry(), outputs));
  WICK_TRY(values.program.intact());
  WICK_TRY(bind_to(inputs));
  const uint64_t deadline_ns = deadline_of(options);
  Status ran = run_bound(inputs, outputs, deadline_ns);
  if (!leave_backend(ran)) return ran;
  // Inputs are only read and outputs written last: it can begin again.
  WICK_TRY(bind_to(inputs));
  return run_bound(inputs, outputs, deadline_ns);
}

// Lends the inputs to the run that begins.
RunCtx Session::Impl::lend(Span<const TensorView> inputs, uint64_t deadline_ns) {
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
  ctx.deadline_ns = deadline_ns;
  ctx.strings = &memory.strings;
  memory.strings.clear();
  return ctx;
}

Status Session::Impl::run_bound(Span<const TensorView> inputs, Span<TensorView> outputs,
                                uint64_t deadline_ns) {
  const bool at_once = runner.whole();  // else the shapes are known when it has run
  if (at_once) WICK_TRY(check_outputs(values, outputs));

  FloatModeScope mode;
  RunCtx ctx = lend(inputs, deadline_ns);
  sized = at_once;
  Status ran = runner.run(0, ctx);
  if (ran.code() == Code::kBudgetExceeded || ran.code() == Code::kOutOfMemory) {
    // what this run made grow is not kept from the next
    memory.strings.clear();
    if (at_once) {
      memory.shrink();
    } else {
      unbind();
      runner.drop();
    }
  }
  WICK_TRY(ran);
  sized = true;
  if (!at_once) WICK_TRY(check_outputs(values, outputs));
  return give(outputs);
}

// Not what was computed of weights that were lost meanwhile.
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

// Of a body of one stage the last partition is only started; one of several stages is run.
Status Session::Impl::begin(uint64_t deadline_ns) {
  FloatModeScope mode;
  running = lend(held, deadline_ns);
  finishes = nullptr;
  sized = runner.whole();
  if (sized) {
    WICK_ASSIGN(finishes, runner.start(running));
    return {};
  }
  WICK_TRY(runner.run(0, running));
  sized = true;
  return {};
}

Status Session::Impl::start(Span<const TensorView> inputs, const RunOptions& options) {
  WICK_TRY(check_inputs(entry(), inputs));
  WICK_TRY(values.program.intact());
  WICK_TRY(bind_to(inputs));
  const uint64_t deadline_ns = deadline_of(options);
  held.clear();
  for (const TensorView& v : inputs) WICK_TRY(held.push_back(v));
  Status s = begin(deadline_ns);
  if (leave_backend(s)) {
    WICK_TRY(bind_to(held));
    s = begin(deadline_ns);
  }
  return s;
}

Status Session::Impl::finish(Span<TensorView> outputs, Turn& turn) {
  WICK_TRY(check_output_count(entry(), outputs));
  WICK_TRY(check_outputs(values, outputs));
  turn.leave_as(InUse::kFree);
  FloatModeScope mode;
  Status s = finishes == nullptr ? Status() : finishes->finish(running);
  if (leave_backend(s)) {
    WICK_TRY(bind_to(held));
    return run_bound(held, outputs, running.deadline_ns);
  }
  WICK_TRY(s);
  return give(outputs);
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
