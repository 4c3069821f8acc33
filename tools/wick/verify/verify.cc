// wick verify: checks numerical parity, from the trainer or the ONNX file to every backend.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "tools/lib/limits.h"
#include "tools/lib/verify/verify.h"
#include "tools/wick/command.h"
#include "tools/wick/forms.h"
#include "tools/wick/page/page.h"
#include "tools/wick/placement.h"
#include "tools/wick/places.h"
#include "tools/wick/terminal.h"
#include "tools/wick/trained.h"
#include "tools/wick/verify/verify_baseline.h"
#include "tools/wick/verify/verify_progress.h"
#include "tools/wick/verify/verify_report.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

using Verdict = VerifyRow::Verdict;

struct VerifyCommand {
  std::vector<std::string> models;
  VerifyOptions options;
  std::string against, junit, html, baseline, out, data, entry;
  std::optional<int64_t> batch;
  int64_t limit = 0, steps = 0;
  bool update = false, json = false, test_set = false, outputs = false, no_passes = false;
};

bool is_run(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_directory(path, failed);
}

// SoFar holds the rows so far, which another thread reports when the time is up.
struct SoFar {
  std::mutex mutex;
  VerifyReport report;

  void add(const VerifyRow& row) {
    const std::lock_guard<std::mutex> lock(mutex);
    report.rows.push_back(row);
  }
  VerifyReport with_failure(const std::string& model, const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex);
    VerifyReport all = report;
    VerifyRow r;
    r.model = model;
    r.target = "verify";
    r.verdict = Verdict::kFailed;
    r.why = why;
    all.rows.push_back(r);
    return all;
  }
};

VerifyReport verify_all(const VerifyCommand& c, SoFar* so_far) {
  std::FILE* lines = c.json ? stderr : stdout;
  Verified model =
      is_run(c.models[0]) ? verified_run(c.models[0]) : open_verified(c.models[0], c.options);
  model.made_of_it.assign(c.models.begin() + 1, c.models.end());
  VerifyProgress progress(plain_stderr());
  progress.print(lines, model.name);
  VerifyOptions options = c.options;
  options.begins = [&](const std::string& what) { progress.begins(what); };
  return verify_model(model, options, [&](const VerifyRow& row) {
    so_far->add(row);
    progress.print(lines, line_of(row));
  });
}

// An option that another mode does not use is a mistake, not silently ignored.
void refuse_unused(const VerifyCommand& c) {
  const bool other = c.test_set || c.outputs;
  const auto refuse = [](bool given, const char* option, const char* why) {
    if (given) wrong_usage(option, why);
  };
  const char* plain = "is not for --outputs and --test-set";
  refuse(other && !c.junit.empty(), "--junit", plain);
  refuse(other && !c.html.empty(), "--html", plain);
  refuse(other && !c.baseline.empty(), "--baseline", plain);
  refuse(other && !c.options.repro.empty(), "--repro", plain);
  refuse(other && !c.options.old_library.empty(), "--old", plain);
  refuse(other && c.options.backends != VerifyOptions().backends, "--backend", plain);
  refuse(other && c.no_passes, "--no-passes", plain);
  const auto& backends = c.options.backends;
  check_device(c.options.device, false,
               std::find(backends.begin(), backends.end(), "vulkan") != backends.end());
  refuse(!c.test_set && c.limit != 0, "--limit", "is for --test-set");
  refuse(!c.outputs && !c.entry.empty() && (is_run(c.models[0]) || !is_wick_file(c.models[0])),
         "--entry", "is for programs (.wick)");
  refuse(!c.entry.empty() && !c.options.old_library.empty(), "--old",
         "runs the first entry point, and --entry names one");
  refuse(!c.outputs && c.steps != 0, "--steps", "is for --outputs");
  refuse(!c.test_set && !c.data.empty(), "--test-data", "is for --test-set");
  refuse(!c.test_set && !c.out.empty(), "--out", "is for --test-set");
}

void forms(const VerifyCommand& c) {
  if (c.test_set) {
    if (c.models.size() != 1 || !is_run(c.models[0]))
      wrong_usage("--test-set", "is for one folder that wick train wrote");
    if (c.out.empty())
      wrong_usage("--test-set", "needs --out: a folder for models and report.json");
    if (!prove({c.models[0], c.out, c.data, c.limit, c.json})) throw Differs{};
    return;
  }
  if (c.models.size() > 2) wrong_usage("--outputs", "is for two models");
  compare({c.models[0], c.models.size() == 2 ? c.models[1] : "", c.against, "cpu", "cpu",
           c.options.files, c.options.dims, c.batch, c.options.tolerance, c.json,
           c.options.lower_qdq, false, false, c.entry, c.steps});
}

// Writes the pages and the document that were asked for, and returns the verdict. They are written
// even if nothing could be verified: otherwise an older one would pass for today's.
std::string tell(const VerifyCommand& c, const VerifyReport& report) {
  const nlohmann::json document = json_of(report, c.models);
  if (!c.junit.empty()) write_text(c.junit, junit_of(report));
  if (!c.html.empty()) write_text(c.html, verify_page(document));
  if (c.json) print_json(document);
  return document.at("verdict").get<std::string>();
}

VerifyReport verified_or_pages(const VerifyCommand& c) {
  SoFar so_far;
  try {
    const AtTimeUp tell_it([&] {
      tell(c, so_far.with_failure(c.models[0], "the time is up"));
      std::fflush(stdout);
    });
    return verify_all(c, &so_far);
  } catch (const std::exception& e) {
    tell(c, so_far.with_failure(c.models[0], e.what()));
    throw;
  }
}

void verify(VerifyCommand& c) {
  refuse_unused(c);
  if (c.test_set || c.outputs) return forms(c);
  check_places(c.models, {{"--junit", c.junit}, {"--html", c.html}});
  if (c.update && c.baseline.empty()) wrong_usage("--update", "needs --baseline DIR");
  c.options.entry = c.entry;
  c.options.onnxruntime = c.against == "onnxruntime";
  c.options.passes = !c.no_passes;
  if (c.batch) c.options.sizes = {*c.batch};
  VerifyReport report = verified_or_pages(c);
  const size_t shown = report.rows.size();
  if (!c.baseline.empty()) apply_baseline(c.baseline, c.models[0], c.update, &report);
  std::FILE* lines = c.json ? stderr : stdout;
  for (size_t i = shown; i < report.rows.size(); ++i)
    fmt::print(lines, "{}\n", line_of(report.rows[i]));
  fmt::print(lines, "{}: {}\n", tell(c, report), counts_of(report));
  if (report.any(Verdict::kDiffers)) throw Differs{};
  for (const VerifyRow& r : report.rows) {
    if (r.verdict == Verdict::kFailed) throw Error(fmt::format("{}: {}", r.target, r.why));
  }
}

}  // namespace

void add_verify(CommandLine& app) {
  auto c = std::make_shared<VerifyCommand>();
  Command command = app.add_command(
      "verify",
      "Hold every value of a model against its graph on plain loops: each pass, each "
      "backend, files made of it (exit 3 where one differs)");
  command
      .add_option(
          "models", c->models,
          "a folder of wick train, model.onnx, model.tflite or model.wick; further ones were "
          "made of it; -: standard input")
      .required()
      .reads_file();
  accept_ops(command);
  accept_signature(command);
  accept_qdq(command, &c->options.lower_qdq);
  command.add_option("--backend", c->options.backends, "cpu, reference, vulkan; several by commas")
      .delimiter(',')
      .one_of({"cpu", "reference", "vulkan"});
  command.add_option("--device", c->options.device, "of Vulkan, as wick run takes it");
  command.add_option("--dim", c->options.dims, "NAME=N: a size that is not varied")
      .one_word()
      .named_size();
  command
      .add_option("--batch", c->batch,
                  "one size for all that are free (default: 0, 1, 3, 7 and 33)")
      .at_least(0);
  command
      .add_option("--input,--data", c->options.files,
                  "[name=]array.npy, one an input, instead of pseudo-random ones")
      .reads_file();
  command
      .add_option_function<std::string>(
          "--class",
          [c](const std::string& name) {
            c->options.loosest = name == "exact"          ? NumericsClass::kExact
                                 : name == "reassociates" ? NumericsClass::kReassociates
                                                          : NumericsClass::kApproximates;
          },
          "the loosest class that a further model may state (default: approximates)")
      .one_of({"exact", "reassociates", "approximates"});
  command.add_flag("--no-passes", c->no_passes, "do not look at each pass by itself");
  command
      .add_option("--against", c->against, "onnxruntime: every tensor of the ONNX file beside it")
      .one_of({"onnxruntime"});
  command
      .add_option("--tolerance", c->options.tolerance,
                  "of ONNX Runtime's floats: a difference over the largest")
      .not_negative();
  command.add_option("--repro", c->options.repro,
                     "folder for the few nodes and inputs that show a difference");
  command.add_option("--old", c->options.old_library,
                     "another version's libwick_runtime.so, on the same .wick");
  command.add_option("--baseline", c->baseline, "folder of golden outputs and digests");
  command.add_flag("--update", c->update, "write the baseline");
  command.add_option("--junit", c->junit, "file for a CI's test page").writes_file(".xml");
  command.add_option("--html", c->html, "file for a table of models, targets and classes")
      .writes_file(".html");
  command.add_flag("--outputs", c->outputs, "the outputs of two models alone: wick compare");
  accept_entry(command, &c->entry);
  command
      .add_option("--steps", c->steps, "with --outputs: runs of programs that keep state, as there")
      .at_least(1);
  command.add_flag("--test-set", c->test_set, "a trained model over its test set: wick prove");
  command.add_option("-o,--out", c->out, "with --test-set: folder for the models and report.json");
  command.add_option("--test-data", c->data, "with --test-set: images (default: the run's own)");
  command.add_option("--limit", c->limit, "with --test-set: the first N images; 0: all")
      .at_least(0);
  command.add_flag("--json", c->json, "print JSON, and the lines to stderr");
  command.footer("Example:\n  wick verify model.onnx --repro build/repro");
  command.callback([c] { verify(*c); });
}

}  // namespace wick::tool
