// Running a session: at once, or started and finished later.
#include "runtime/exec/session_impl.h"

namespace wick {
namespace {

uint64_t deadline_of(const RunOptions& options) {
  return options.timeout_ns == 0 ? 0 : now_ns() + options.timeout_ns;
}

}  // namespace

// Plans for the inputs' shapes where that is not done.
Status Session::Impl::bind_to(Span<const TensorView> inputs) {
  bool same = bound;
  for (size_t i = 0; same && i < inputs.size(); ++i)
    same = inputs[i].shape == shapes[i] || is_container(inputs[i].dtype);
  if (!same) {
    Shape few[16];
    Array<Shape> many(allocator);
    Span<Shape> wanted{few, 16};
    if (inputs.size() > wanted.size()) {
      WICK_TRY(many.resize(inputs.size()));
      wanted = many;
    }
    for (size_t i = 0; i < inputs.size(); ++i) wanted[i] = inputs[i].shape;
    WICK_TRY(bind(wanted.subspan(0, inputs.size())));
  }
  return {};
}

Status Session::Impl::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                          const RunOptions& options) {
  WICK_TRY(check_run(inputs));
  WICK_TRY(check_count(outputs));
  WICK_TRY(bind_to(inputs));
  return run_or_leave(inputs, outputs, deadline_of(options));
}

// Lends the inputs to the run that begins.
RunCtx Session::Impl::lend(Span<const TensorView> inputs, uint64_t deadline_ns) {
  auto in = entry.body().inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    if (is_container(inputs[i].dtype)) views[in[i]].shape = values[in[i]].shape = inputs[i].shape;
    views[in[i]].data = inputs[i].data;
  }
  RunCtx ctx;
  ctx.values = views;
  ctx.pool = pool;
  ctx.trace = trace;
  ctx.deadline_ns = deadline_ns;
  ctx.strings = &strings;
  strings.clear();
  return ctx;
}

Status Session::Impl::run_bound(Span<const TensorView> inputs, Span<TensorView> outputs,
                                uint64_t deadline_ns) {
  bool at_once = whole();  // else the shapes are known when it has run
  if (at_once) WICK_TRY(check_outputs(outputs));

  FloatModeScope mode;
  RunCtx ctx = lend(inputs, deadline_ns);
  sized = at_once;
  Status ran = run_region(0, ctx);
  if (ran.code() == Code::kBudgetExceeded || ran.code() == Code::kOutOfMemory) {
    // what this run made grow is not kept from the next
    strings.clear();
    at_once ? shrink() : drop();
  }
  WICK_TRY(ran);
  sized = true;
  if (!at_once) WICK_TRY(check_outputs(outputs));
  give(outputs);
  return {};
}

void Session::Impl::give(Span<TensorView> outputs) {
  auto out = entry.body().outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorView& from = views[out[i]];
    if (outputs[i].data == nullptr) {
      outputs[i] = from;
    } else if (from.nbytes() != 0) {
      memmove(outputs[i].data, from.data, from.nbytes());
    }
  }
}

// What runs stage by stage is run; of one stage the last partition is only started.
Status Session::Impl::begin(uint64_t deadline_ns) {
  FloatModeScope mode;
  running = lend(held, deadline_ns);
  finishes = nullptr;
  sized = whole();
  if (!sized || regions[0].stages[0]->partitions.empty()) {
    WICK_TRY(run_region(0, running));
    sized = true;
    return {};
  }
  Stage& stage = *regions[0].stages[0];
  for (const InputUse& use : stage.input_uses) views[use.value].data = views[use.root].data;
  running.scratch = static_cast<char*>(stage.memory.data) + stage.scratch_offset;
  for (size_t i = 0; i < stage.partitions.size(); ++i) {
    if (deadline_ns != 0 && now_ns() > deadline_ns)
      return Status(Code::kDeadline, "the deadline passed");
    limit_strings();
    Partition* part = stage.partitions[i].compiled;
    if (i + 1 < stage.partitions.size()) {
      WICK_TRY(part->run(running));
      continue;
    }
    WICK_TRY(part->start(running));
    finishes = part;
  }
  return {};
}

Status Session::Impl::start(Span<const TensorView> inputs, const RunOptions& options) {
  WICK_TRY(check_run(inputs));
  WICK_TRY(bind_to(inputs));
  const uint64_t deadline_ns = deadline_of(options);
  held.clear();
  for (const TensorView& v : inputs) WICK_TRY(held.push_back(v));
  Status s = begin(deadline_ns);
  if (leave_backend(s)) {
    WICK_TRY(bind_again(held));
    s = begin(deadline_ns);
  }
  return s;
}

Status Session::Impl::finish(Span<TensorView> outputs, Turn& turn) {
  WICK_TRY(check_count(outputs));
  WICK_TRY(check_outputs(outputs));
  turn.leave_as(InUse::kFree);
  FloatModeScope mode;
  Status s = finishes == nullptr ? Status() : finishes->finish(running);
  if (leave_backend(s)) {
    WICK_TRY(bind_again(held));
    return run_bound(held, outputs, running.deadline_ns);
  }
  WICK_TRY(s);
  give(outputs);
  return {};
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
