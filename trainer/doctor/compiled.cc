// Compares a compiled step with the step itself. Where they differ, the step is compiled once for
// each of its ops, to return that op's result as well: the first whose result differs is the one.
#include <fmt/core.h>

#include <algorithm>

#include "trainer/autograd/running_node.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/compile/compile_step.h"
#include "trainer/doctor/checks.h"
#include "trainer/explain/node_text.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/watcher.h"

namespace wick::doctor {
namespace {

// Keeps the results of one or two ops of a step, by the ops' numbers, and names the first of them.
class KeepResults final : Watcher {
 public:
  explicit KeepResults(const std::vector<int64_t>& wanted) : wanted_(wanted) {}
  int64_t ops() const { return ops_; }
  const std::vector<Tensor>& kept() const { return kept_; }
  const Recorded::Op& named() const { return named_; }

 private:
  void on_call(const TracedCall& call) override {
    const int64_t number = ops_++;
    if (std::find(wanted_.begin(), wanted_.end(), number) == wanted_.end()) return;
    const bool first = kept_.empty();
    for (const Tensor& t : call.out) {
      if (t.defined()) kept_.push_back(t);
    }
    if (!first) return;
    named_.op = display_name(call.op);
    if (const Node* node = RunningNode::innermost()) {
      named_.backward = true;
      named_.module = module_of(*node);
      named_.where = to_text(node->where);
    } else {
      named_.module = module_path();
      named_.where = to_text(call.where);
    }
  }
  const std::vector<int64_t>& wanted_;
  int64_t ops_ = 0;
  std::vector<Tensor> kept_;
  Recorded::Op named_;
};

// Once an op differs, so many ops before it are asked whether keeping their result mends it.
constexpr int64_t kAskedBefore = 8;

// What a step returned, the loss and the kept results, and what it left.
struct StepBits {
  std::vector<std::vector<char>> bytes, left;  // left: the parameters and their gradients
  bool repeated = false;                       // it was a repetition that gave them
};
bool operator==(const StepBits& a, const StepBits& b) {
  return a.bytes == b.bytes && a.left == b.left;
}

std::vector<char> bytes_of(const Tensor& t) {
  if (!t.defined()) return {};
  const Tensor c = t.detach().contiguous();
  const auto* at = static_cast<const char*>(c.layout().data);
  return {at, at + c.layout().nbytes()};
}

struct Steps {
  std::vector<StepBits> bits;
  int64_t ops = 0;
  Recorded::Op named;  // the first op whose result was kept
  CompileReport report;
};

// Makes `steps` steps of a new training, as they are or compiled.
Steps run(const MakeTraining& make, int steps, bool compiled, const CompileStepOptions& options,
          const std::vector<int64_t>& wanted) {
  const Training t = make("cpu");
  Steps all;
  const auto step = [&]() -> std::vector<Tensor> {
    KeepResults keep(wanted);
    std::vector<Tensor> out = {t.step()};
    out.insert(out.end(), keep.kept().begin(), keep.kept().end());
    all.ops = keep.ops();
    all.named = keep.named();
    return out;
  };
  CompiledStep repeated(options);
  for (int i = 0; i < steps; ++i) {
    const int64_t before = repeated.report().repeated;
    const std::vector<Tensor> out = compiled ? repeated.run({}, step) : step();
    StepBits bits;
    for (const Tensor& o : out) bits.bytes.push_back(bytes_of(o));
    for (const Tensor& p : t.module->parameters()) {
      bits.left.push_back(bytes_of(p));
      for (const Tensor& g : gradient_tensors(p)) bits.left.push_back(bytes_of(g));
    }
    bits.repeated = repeated.report().repeated > before;
    all.bits.push_back(std::move(bits));
  }
  all.report = repeated.report();
  return all;
}

// Returns the first step, from 0, whose bits differ; -1: none.
int first_apart(const Steps& a, const Steps& b) {
  for (size_t i = 0; i < a.bits.size(); ++i) {
    if (!(a.bits[i] == b.bits[i])) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void check_compiled(const MakeTraining& make, int steps, Finding* finding) {
  // Audits would run the step itself in place of repetitions, and a rehearsal that differs would
  // end them.
  const CompileStepOptions fused{.audit_every = 0, .rehearse = false};
  const Steps eager = run(make, steps, false, fused, {});
  const Steps compiled = run(make, steps, true, fused, {});
  const int apart = first_apart(eager, compiled);
  if (apart < 0) {
    if (compiled.report.repeated == 0) {
      finding->verdict = Finding::Verdict::kSkipped;
      const auto& breaks = compiled.report.breaks;
      finding->text = "the step is not repeated";
      if (!breaks.empty()) {
        finding->op = breaks[0].op;
        finding->where = breaks[0].where;
        finding->text += ": [" + breaks[0].op + "] " + breaks[0].why + "; " + breaks[0].rewrite;
      }
      return;
    }
    finding->text = fmt::format("{} of {} steps repeated, the same bits", compiled.report.repeated,
                                compiled.report.calls);
    return;
  }
  finding->verdict = Finding::Verdict::kFound;
  CompileStepOptions apart_kernels = fused;
  apart_kernels.fuse = false;
  const bool by_fusing = first_apart(eager, run(make, steps, true, apart_kernels, {})) < 0;
  const char* fusing = by_fusing ? "; with CompileStepOptions::fuse = false it has not" : "";
  // Whoever keeps a result can keep a fault from showing, or the step from being repeated.
  enum class Kept { kSame, kOther, kUnknown };
  Recorded::Op named;
  const auto kept = [&](const std::vector<int64_t>& wanted) {
    const Steps one = run(make, apart + 1, false, fused, wanted);
    const Steps again = run(make, apart + 1, true, fused, wanted);
    named = one.named;
    const StepBits &x = one.bits.back(), &y = again.bits.back();
    if (!y.repeated || x.bytes.size() != y.bytes.size()) return Kept::kUnknown;
    for (size_t k = 1; k < x.bytes.size(); ++k) {
      if (x.bytes[k] != y.bytes[k]) return Kept::kOther;
    }
    return Kept::kSame;
  };
  const auto found = [&](const char* why) {
    finding->op = named.op;
    finding->where = named.where;
    finding->text = fmt::format("step {}: {} has other bits when the step is repeated{}{}",
                                apart + 1, named.text(), why, fusing);
  };
  for (int64_t i = 0; i < eager.ops; ++i) {
    if (kept({i}) != Kept::kOther) continue;
    found("");
    // An op that spoils its own input, or is spoiled in the memory of its result, is right once the
    // step returns that result. The op that reads it was found in its place.
    for (int64_t k = i - 1; k >= std::max<int64_t>(0, i - kAskedBefore); --k) {
      if (kept({k, i}) != Kept::kSame) continue;
      found(", unless the step returns its result: it does not bear the memory that it is given");
      break;
    }
    return;
  }
  finding->text = fmt::format(
      "step {}: the loss, a parameter or a gradient has other bits when the step is repeated, and "
      "no op's result that the step returns{}",
      apart + 1, fusing);
}

}  // namespace wick::doctor
