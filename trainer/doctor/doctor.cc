#include "trainer/doctor/doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "trainer/autograd/sparse_slot.h"
#include "trainer/doctor/checks.h"
#include "trainer/explain/anomaly.h"
#include "trainer/explain/memory.h"
#include "trainer/explain/values.h"
#include "trainer/profile/audit.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/device/vulkan.h"

namespace wick::doctor {
namespace {

constexpr const char* kNames[] = {"nan",  "leak",   "determinism", "reference",
                                  "bf16", "vulkan", "compile"};

// Returns "the gradient of 'fc1.weight' float32[10,64] has 3 nan of 640 ..." for the first gradient
// or parameter that is not finite; "": all are.
std::string not_finite(const nn::Module& module) {
  const auto text = [](const std::string& what, const Tensor& t) -> std::string {
    if (!t.defined() || !is_float(t.dtype())) return "";
    const ValueRange r = range_of(t.raw());
    return r.all_finite() ? "" : what + " " + type_text(t.raw()) + " has " + r.text();
  };
  const auto parameters = module.named_parameters();
  std::string bad;  // gradients first: an update carries them on
  for (const auto& [name, p] : parameters) {
    for (const Tensor& g : gradient_tensors(p)) {
      if (bad.empty()) bad = text("the gradient of '" + name + "'", g);
    }
  }
  for (const auto& [name, p] : parameters) {
    if (bad.empty()) bad = text("parameter '" + name + "'", p);
  }
  return bad;
}

struct BadLoss {
  double value;
};

// Anomaly mode names the op that makes a NaN of finite numbers. One that was there before the step,
// or that an update makes, passes through every op without a culprit, so it is looked for as well.
void check_nan(const MakeTraining& make, int steps, Finding* finding) {
  Training t = make("cpu");
  t.loss = [loss = t.loss]() -> Tensor {
    const Tensor l = loss();
    // Behind the forward's ops, which had no culprit, and before those of backward, which are none.
    if (l.defined() && !range_of(l.raw()).all_finite())
      throw BadLoss{range_of(l.raw()).first_bad_value};
    return l;
  };
  const auto without_op = [&](std::string text) {
    finding->verdict = Finding::Verdict::kFound;
    finding->text = std::move(text);
  };
  if (const std::string bad = not_finite(*t.module); !bad.empty())
    return without_op("before the first step " + bad);
  for (int i = 0; i < steps; ++i) {
    std::string report;
    try {
      report = detect_anomaly([&] { t.step(); });
    } catch (const BadLoss& bad) {
      return without_op(
          fmt::format("step {}: the loss is {}, and no op made that of finite numbers: the batch, "
                      "or something else that the loss reads, has such numbers",
                      i + 1, std::isnan(bad.value) ? "nan" : number_text(bad.value)));
    }
    if (report.empty()) {
      const std::string bad = not_finite(*t.module);
      if (bad.empty()) continue;
      return without_op(
          fmt::format("step {}: {}, and no op made it: a sum of gradients or the optimizer's "
                      "update did",
                      i + 1, bad));
    }
    finding->verdict = Finding::Verdict::kFound;
    finding->text = fmt::format("step {}: {}", i + 1, report);
    // "[log] in module ... (train.cpp:9)", "[backward] of log ... (train.cpp:9)"
    const size_t end = report.find(']'), open = report.rfind('(');
    finding->op = report.substr(1, end - 1);
    if (finding->op == "backward") {
      const size_t from = end + std::string("] of ").size();
      finding->op = report.substr(from, report.find(' ', from) - from);
    }
    if (open != std::string::npos)
      finding->where = report.substr(open + 1, report.find(')', open) - open - 1);
    return;
  }
  finding->text = fmt::format("{} steps, every number finite", steps);
}

// A line leaks if it holds more bytes after each of the steps than before it: more tensors, or one
// that grows. The first step makes gradients and the optimizer's state, which stay.
void check_leak(const MakeTraining& make, int steps, Finding* finding) {
  const Training t = make("cpu");
  MemoryRecorder recorder;
  t.step();
  t.step();
  struct Growth {
    int steps = 0;
    int64_t bytes = 0;
    MemorySite site;
  };
  std::map<std::string, Growth> grown;
  MemorySnapshot before = memory_snapshot();
  for (int i = 0; i < steps; ++i) {
    t.step();
    MemorySnapshot after = memory_snapshot();
    for (const MemorySite& s : difference(before, after).sites) {
      if (s.bytes <= 0) continue;
      Growth& g = grown[s.op + "\n" + s.where + "\n" + s.module];
      ++g.steps;
      g.bytes += s.bytes;
      g.site = s;
    }
    before = std::move(after);
  }
  const Growth* worst = nullptr;
  int64_t lines = 0, bytes = 0;
  for (const auto& [key, g] : grown) {
    if (g.steps < steps) continue;
    ++lines;
    bytes += g.bytes;
    if (worst == nullptr || g.bytes > worst->bytes) worst = &g;
  }
  if (worst == nullptr) {
    finding->text = fmt::format("{} steps, no line keeps more bytes after each", steps);
    return;
  }
  finding->verdict = Finding::Verdict::kFound;
  finding->op = worst->site.op;
  finding->where = worst->site.where;
  finding->text = fmt::format(
      "{} bytes more after each step, of {} line{}; most of it, {} bytes a step, was made by {}{} "
      "({}). Keep numbers (loss.item()) or detach() what is kept",
      bytes / steps, lines, lines == 1 ? "" : "s", worst->bytes / steps, worst->site.op,
      worst->site.module.empty() ? "" : " in module '" + worst->site.module + "'",
      worst->site.where);
}

void check_determinism(const MakeTraining& make, int steps, Finding* finding) {
  const AuditResult r = audit_determinism([&] {
    const Training t = make("cpu");
    for (int i = 0; i < steps; ++i) t.step();
    return t.module->state_dict();
  });
  finding->text = r.text();
  if (r.deterministic) return;
  finding->verdict = Finding::Verdict::kFound;
  finding->op = r.op;
  finding->where = r.where;
}

Recorded recorded(const MakeTraining& make, const Device& device, DType low = DType::kNone) {
  const Training t = make(device);
  return record_step([&] {
    AutocastScope scope(low);
    t.loss().backward();
  });
}

void check_reference(const MakeTraining& make, Finding* finding) {
  const Recorded fast = recorded(make, "cpu");
  ReferenceKernelsScope plain;
  compare_recorded(fast, recorded(make, "cpu"), 0, finding);
}

void check_vulkan(const MakeTraining& make, double far, Finding* finding) {
  const std::string why = why_no_vulkan();
  if (!why.empty()) {
    finding->verdict = Finding::Verdict::kSkipped;
    finding->text = why;
    return;
  }
  const Recorded cpu = recorded(make, "cpu");
  try {
    compare_recorded(cpu, recorded(make, "vulkan"), far, finding);
  } catch (const Error& e) {
    if (e.code() != Code::kUnsupported) throw;  // an op without a shader is no fault
    finding->verdict = Finding::Verdict::kSkipped;
    finding->text = e.what();
  }
}

void run_check(const MakeTraining& make, const Options& o, Finding* f) {
  switch (f->check) {
    case Check::kNan: return check_nan(make, o.steps, f);
    case Check::kLeak: return check_leak(make, o.steps, f);
    case Check::kDeterminism: return check_determinism(make, o.steps, f);
    case Check::kReference: return check_reference(make, f);
    case Check::kBf16:
      return compare_recorded(recorded(make, "cpu"), recorded(make, "cpu", DType::kBF16),
                              o.far_bf16, f);
    case Check::kVulkan: return check_vulkan(make, o.far_vulkan, f);
    case Check::kCompile: return check_compiled(make, o.steps, f);
  }
}

}  // namespace

Tensor Training::step() const {
  if (optimizer) {
    optimizer->zero_grad();
  } else {
    module->zero_grad();
  }
  Tensor l = loss();
  l.backward();
  if (optimizer) optimizer->step();
  return l;
}

const char* check_name(Check check) { return kNames[static_cast<size_t>(check)]; }

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (size_t i = 0; i < std::size(kNames); ++i) all.push_back(static_cast<Check>(i));
  return all;
}

std::string Finding::line() const {
  static constexpr const char* kVerdicts[] = {"ok", "FOUND", "skipped"};
  return fmt::format("{}: {}: {}", check_name(check), kVerdicts[static_cast<size_t>(verdict)],
                     text);
}

std::vector<Finding> examine(const MakeTraining& make, const Options& options, Where where) {
  if (!make) throw_error("doctor", "there is no function that makes a training", where);
  if (options.steps < 4) {
    throw_error("doctor", fmt::format("needs at least 4 steps, got {}", options.steps), where);
  }
  if (!(options.far_bf16 > 0) || !(options.far_vulkan > 0)) {
    throw_error("doctor", "far_bf16 and far_vulkan must be above 0", where);
  }
  const MakeTraining whole = [&make](const Device& device) {
    Training t = make(device);
    if (!t.module || !t.loss) {
      throw Error(std::string("[doctor] the function that makes a training left its ") +
                  (t.module ? "loss" : "module") + " empty");
    }
    return t;
  };
  std::vector<Finding> findings;
  for (Check check : options.checks) {
    Finding f;
    f.check = check;
    try {
      run_check(whole, options, &f);
    } catch (const std::exception& e) {
      f = Finding();
      f.check = check;
      f.verdict = Finding::Verdict::kFound;
      f.text = std::string("the training itself failed: ") + e.what();
    }
    findings.push_back(std::move(f));
  }
  return findings;
}

}  // namespace wick::doctor
