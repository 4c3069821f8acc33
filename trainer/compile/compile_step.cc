#include "trainer/compile/compile_step.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "trainer/compile/program.h"
#include "trainer/compile/step_recorder.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick {

using compiled::Recording;
using compiled::StepRecorder;

namespace {

// Returns whether nothing else observes or changes what this thread's ops do.
bool unobserved_thread() {
  const Modes& m = modes();
  return m.watcher == nullptr && m.trace_hook == nullptr && m.recorder == nullptr &&
         m.forward == 0 && m.autocast == nullptr && m.saver == nullptr && !m.inference &&
         m.run_depth == 0 && active_tracer() == nullptr;
}

// Returns whether the n-th repetition is an audit: Fibonacci's numbers, then each multiple of
// `every`. Numbers without a common factor find what happens in every second, fourth or tenth call.
bool audit_due(int64_t n, int64_t every) {
  if (every <= 0) return false;
  if (n >= every) return n % every == 0;
  int64_t a = 1, b = 2;
  while (a < n) b += std::exchange(a, b);
  return a == n;
}

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace

struct CompiledStep::State {
  CompileStepOptions options;
  CompileReport report;
  std::vector<std::unique_ptr<compiled::Program>> forms;
  std::vector<Tensor> leaves;  // that the last recording knew: those of earlier ones, and new ones
  bool met = false;            // they are all, and a call was made: optimizers have their state
  bool gave_up = false;
  std::vector<Tensor> results;

  const std::vector<Tensor>& as_always(FunctionRef<std::vector<Tensor>()> function) {
    results.clear();
    for (const Tensor& t : function()) results.push_back(t.defined() ? t.detach() : t);
    return results;
  }
  void add_break(StepBreak b) {
    for (const StepBreak& have : report.breaks) {
      if (have.op == b.op && have.where == b.where && have.why == b.why) return;
    }
    report.breaks.push_back(std::move(b));
  }
  Recording record(Span<const Tensor* const> in, FunctionRef<std::vector<Tensor>()> function,
                   const compiled::Program* beside, std::string* bits);
  void make_form(Recording r, Span<const Tensor* const> in);
  const std::vector<Tensor>& make_ready(compiled::Program& form, Span<const Tensor* const> in,
                                        FunctionRef<std::vector<Tensor>()> function);
  const std::vector<Tensor>& audit(compiled::Program& form, Span<const Tensor* const> in,
                                   FunctionRef<std::vector<Tensor>()> function);
  void give_up(const compiled::Program& form, std::string why, const char* rewrite) {
    add_break({"compile_step", std::move(why), rewrite, ""});
    std::erase_if(forms, [&](const auto& f) { return f.get() == &form; });
    gave_up = true;
  }
};

// Runs the function and records it, beside a form that was made (or null): `bits` then says where
// its rehearsal had others.
Recording CompiledStep::State::record(Span<const Tensor* const> in,
                                      FunctionRef<std::vector<Tensor>()> function,
                                      const compiled::Program* beside, std::string* bits) {
  StepRecorder recorder(in, leaves, beside != nullptr ? &beside->recording() : nullptr);
  if (bits != nullptr) {
    recorder.at_first_host = [beside, bits](StepRecorder::Addresses address) {
      *bits = beside->compare(address);
    };
  }
  as_always(function);
  Recording r = recorder.finish(results);
  met = met && r.leaves.size() == leaves.size();
  leaves = r.leaves;
  return r;
}

void CompiledStep::State::make_form(Recording r, Span<const Tensor* const> in) {
  for (const StepBreak& b : r.breaks) add_break(b);
  if (!r.breaks.empty()) {
    gave_up = true;
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  try {
    forms.push_back(std::make_unique<compiled::Program>(std::move(r), in, options.fuse));
  } catch (const Error& e) {
    add_break({"compile_step", e.what(), "see docs/use/compile.md", ""});
    gave_up = true;
    return;
  }
  const compiled::Totals& t = forms.back()->totals();
  report.kernels = t.kernels;
  report.launches = t.launches;
  report.fused = t.fused;
  report.planned = t.planned;
  report.unplanned = t.unplanned;
  report.compile_ms = ms_since(begin);
}

// Runs the function beside a form that has just been rehearsed: both must do the same.
const std::vector<Tensor>& CompiledStep::State::make_ready(
    compiled::Program& form, Span<const Tensor* const> in,
    FunctionRef<std::vector<Tensor>()> function) {
  std::string bits;
  Recording r = record(in, function, &form, &bits);
  if (r.other_path) {
    make_form(std::move(r), in);
    return results;
  }
  for (const StepBreak& b : r.breaks) add_break(b);
  const std::string other = difference(form.recording(), r);
  constexpr const char* kRewrite = "pass what changes as an argument, or use run_eagerly()";
  if (!r.breaks.empty() || !other.empty()) {
    give_up(form, "two calls of the function differ: " + other, kRewrite);
  } else if (!bits.empty()) {
    give_up(form, "the repetition differs: " + bits, kRewrite);
  } else {
    form.ready = true;
  }
  return results;
}

// Runs the function in place of a repetition. It must do what was recorded.
const std::vector<Tensor>& CompiledStep::State::audit(compiled::Program& form,
                                                      Span<const Tensor* const> in,
                                                      FunctionRef<std::vector<Tensor>()> function) {
  ++form.repeats;
  ++report.audits;
  const Recording r = record(in, function, &form, nullptr);
  if (r.other_path) return results;
  const std::string now =
      r.breaks.empty() ? difference(form.recording(), r) : r.breaks[0].op + " " + r.breaks[0].why;
  if (now.empty()) return results;
  give_up(form, "the function does not do what was recorded: " + now,
          "pass what changes as an argument, or use run_eagerly()");
  throw Error(
      "[compile_step] the function does not do what was recorded, and repeated since: " + now +
      ". Pass what changes from call to call as an argument, or put it into "
      "run_eagerly(); CompileStepOptions::audit_every says how often this is looked at");
}

CompiledStep::CompiledStep(CompileStepOptions options) : state_(new State) {
  state_->options = options;
}
CompiledStep::CompiledStep(CompiledStep&&) noexcept = default;
CompiledStep& CompiledStep::operator=(CompiledStep&&) noexcept = default;
CompiledStep::~CompiledStep() = default;

const std::vector<Tensor>& CompiledStep::run(Span<const Tensor* const> in,
                                             FunctionRef<std::vector<Tensor>()> function) {
  State& s = *state_;
  ++s.report.calls;
  bool usual = unobserved_thread() && !s.gave_up;
  for (const Tensor* t : in) usual = usual && t->defined() && t->is_cpu() && !requires_grad_of(*t);
  if (!usual) return s.as_always(function);
  // Forms that hold addresses of objects that are gone can never be used again.
  const auto old = [](const auto& f) { return f->recording().changes != step_changes(); };
  if (std::erase_if(s.forms, old) > 0) {
    s.leaves.clear();
    s.met = false;
  }
  for (size_t i = 0; i < s.forms.size(); ++i) {
    compiled::Program& form = *s.forms[i];
    if (!form.holds(in)) continue;
    if (!form.ready && !s.options.rehearse) form.ready = true;
    if (!form.ready) {
      if (!form.rehearse(in)) continue;
      return s.make_ready(form, in, function);
    }
    if (audit_due(form.repeats + 1, s.options.audit_every)) return s.audit(form, in, function);
    if (!form.run(in)) continue;  // its values take another path, which has a form of its own
    ++s.report.repeated;
    return form.results();
  }
  if (static_cast<int>(s.forms.size()) >= s.options.max_forms) {
    s.add_break({"compile_step", fmt::format("has {} forms, which is the limit", s.forms.size()),
                 "pad the arguments to fewer shapes, or raise max_forms", ""});
    return s.as_always(function);
  }
  Recording r = s.record(in, function, nullptr, nullptr);
  // The first call makes what later ones find: the state of optimizers, gradients. So does one that
  // meets new leaves.
  if (std::exchange(s.met, true)) s.make_form(std::move(r), in);
  return s.results;
}

void run_eagerly(const std::function<void()>& f) { run_on_host("run_eagerly", nullptr, f); }

CompileReport CompiledStep::report() const {
  CompileReport r = state_->report;
  for (const auto& f : state_->forms) r.forms += f->ready ? 1 : 0;
  return r;
}

std::string CompileReport::text() const {
  std::string s =
      fmt::format("{} calls, {} repeated, {} audited; {} forms\n", calls, repeated, audits, forms);
  if (kernels > 0) {
    s += fmt::format(
        "{} kernels, {} of them fused away: {} run; {} bytes planned of {} ({:.2f} ms to make)\n",
        kernels, fused, launches, planned, unplanned, compile_ms);
  }
  for (const StepBreak& b : breaks) {
    s += fmt::format("break: [{}] {}{}; {}\n", b.op, b.why,
                     b.where.empty() ? "" : " (" + b.where + ")", b.rewrite);
  }
  return s;
}

}  // namespace wick
