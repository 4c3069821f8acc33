// wick doctor: what is wrong with a training run.
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/lib/oracle.h"
#include "tools/lib/scratch_folder.h"
#include "tools/wick/command.h"
#include "tools/wick/first_batch.h"
#include "tools/wick/trained.h"
#include "trainer/doctor/doctor.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"

namespace wick::tool {
namespace {

using doctor::Finding;

struct DoctorCommand {
  FirstBatchOptions first;
  std::vector<std::string> checks;
  int steps = 5, threads = 1;
  bool json = false;
};

// Besides the checks of a training: the exported model on the paths that deploy it.
constexpr const char* kExport = "export";

std::vector<std::string> check_names() {
  std::vector<std::string> names;
  for (doctor::Check c : doctor::all_checks()) names.emplace_back(check_name(c));
  names.emplace_back(kExport);
  return names;
}

// A line of the report. `check` is also "export", for which Finding has none.
struct DoctorLine {
  std::string check;
  Finding finding;
  std::string text() const {
    const char* verdict = finding.verdict == Finding::Verdict::kFound     ? "FOUND"
                          : finding.verdict == Finding::Verdict::kHealthy ? "ok"
                                                                          : "skipped";
    return fmt::format("{:<12} {:<8} {}", check, verdict, finding.text);
  }
};

// Compares the exported model's sessions and, where it is installed, ONNX Runtime with the trainer.
Finding check_export(const std::string& run) {
  VerifyOptions options;
  options.threads = {1};
  options.sizes = {3};
  options.edges = false;
  const auto missing = onnxruntime_missing();
  options.onnxruntime = !missing;
  const ScratchFolder folder;
  const VerifyReport report =
      verify_model(verified_run(run, missing ? "" : folder.file("model.onnx")), options);
  Finding f;
  f.text = fmt::format("{} comparisons of the exported model hold their promise{}",
                       report.rows.size(), missing ? "; ONNX Runtime: " + *missing : "");
  for (const VerifyRow& row : report.rows) {
    if (row.verdict != VerifyRow::Verdict::kDiffers && row.verdict != VerifyRow::Verdict::kFailed)
      continue;
    f.verdict = Finding::Verdict::kFound;
    f.text = row.target + ": " + (row.first ? row.first->text() : row.why);
    if (row.first) f.op = row.first->op;
    return f;
  }
  return f;
}

std::vector<DoctorLine> examine_run(const DoctorCommand& c) {
  const FirstBatch first = first_batch(c.first);
  const auto make = [&](const Device& device) {
    doctor::Training t;
    t.module = first_module(c.first);
    t.module->to(device);
    t.optimizer = first_optimizer(first, *t.module);
    // Copies: a compiled step is not repeated with memory that a loader made.
    const Tensor x = first.images.clone().to(device), y = first.labels.clone().to(device);
    t.loss = [module = t.module, x, y] { return cross_entropy((*module)(x), y); };
    return t;
  };
  const auto asked = [&](const std::string& name) {
    return c.checks.empty() || std::find(c.checks.begin(), c.checks.end(), name) != c.checks.end();
  };
  std::vector<DoctorLine> lines;
  const auto print = [&](DoctorLine line) {
    if (!c.json) fmt::print("{}\n", line.text());
    lines.push_back(std::move(line));
  };
  for (doctor::Check check : doctor::all_checks()) {
    if (!asked(check_name(check))) continue;
    doctor::Options options;
    options.checks = {check};
    options.steps = c.steps;
    print({check_name(check), doctor::examine(make, options).at(0)});
  }
  if (asked(kExport)) {
    Finding f;
    try {
      f = check_export(c.first.run);
    } catch (const Error& e) {  // a finding, as what a training throws is
      f.verdict = Finding::Verdict::kFound;
      f.text = std::string("the export failed: ") + e.what();
    }
    print({kExport, f});
  }
  return lines;
}

void run_doctor(const DoctorCommand& c) {
  for (const std::string& name : c.checks) {
    const auto known = check_names();
    if (std::find(known.begin(), known.end(), name) == known.end())
      wrong_usage("--check",
                  fmt::format("has no '{}'; there are {}", name, fmt::join(known, ", ")));
  }
  set_num_threads(c.threads);
  const std::vector<DoctorLine> lines = examine_run(c);
  bool found = false;
  auto list = nlohmann::json::array();
  for (const DoctorLine& line : lines) {
    const Finding& f = line.finding;
    found = found || f.verdict == Finding::Verdict::kFound;
    list.push_back({{"check", line.check},
                    {"verdict", f.verdict == Finding::Verdict::kFound     ? "found"
                                : f.verdict == Finding::Verdict::kHealthy ? "ok"
                                                                          : "skipped"},
                    {"op", f.op},
                    {"where", f.where},
                    {"text", f.text}});
  }
  if (c.json) print_json({{"run", c.first.run}, {"healthy", !found}, {"findings", list}});
  if (found) throw Differs{};
}

}  // namespace

void add_doctor(CommandLine& app) {
  auto c = std::make_shared<DoctorCommand>();
  Command command = app.add_command(
      "doctor", "What is wrong with a training: NaN, leaks, bits that differ, and the op");
  command.add_option("run", c->first.run, "the folder of wick train --out").required();
  accept_batch(command, &c->first);
  command.add_option("--check", c->checks,
                     "nan, leak, determinism, reference, bf16, vulkan, compile, export (all)");
  command.add_option("--steps", c->steps, "that each check makes").between(4, 1000);
  command.add_option("--threads", c->threads, "of the steps").between(1, 1024);
  command.add_flag("--json", c->json, "print the findings as JSON");
  command.footer("Example:\n  wick doctor runs/lenet --check nan --steps 20");
  command.callback([c] { run_doctor(*c); });
}

}  // namespace wick::tool
