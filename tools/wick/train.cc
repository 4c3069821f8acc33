// wick train: trains a known model on known images.
#include <fmt/core.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/places.h"
#include "tools/wick/terminal.h"
#include "trainer/explain/anomaly.h"
#include "trainer/explain/trace_ops.h"
#include "trainer/loop/recipe_parts.h"
#include "trainer/loop/recipes.h"
#include "trainer/nn/models/models.h"
#include "trainer/profile/audit.h"
#include "trainer/profile/profiler.h"
#include "trainer/tensor/call.h"

namespace wick::tool {
namespace {

struct TrainCommand {
  loop::TrainConfig config;
  std::string trace_file;
  bool json = false, quiet = false, trace = false, reference = false, audit = false;
  bool anomaly = false, profile = false;
};

// Repeats the first steps, also with other numbers of threads; nothing is written.
void audit(TrainCommand c) {
  constexpr int64_t kSteps = 3;  // what the optimizer does to the weights shows in the next step
  struct Enough {};
  if (c.config.resume) wrong_usage("--audit-determinism", "it starts anew: not with --resume");
  c.config.out.clear();
  c.config.tensorboard = {};
  c.config.on_step = [](int64_t step) {
    if (step == kSteps) throw Enough{};
  };
  set_num_threads(c.config.threads);
  const AuditResult r = audit_determinism([&]() -> nn::NamedTensors {
    c.config.threads = num_threads();
    try {
      loop::run_training(c.config);
    } catch (const Enough&) {
    }
    return {};
  });
  if (c.json) {
    print_json({{"deterministic", r.deterministic},
                {"kernels", r.ops},
                {"runs", r.runs},
                {"op", r.op},
                {"module", r.module},
                {"where", r.where},
                {"backward", r.backward},
                {"what", r.what}});
  } else {
    fmt::print("{}\n", r.text());
  }
  if (!r.deterministic) throw Differs{};
}

void train(TrainCommand c) {
  if (c.audit) return audit(c);
  if (c.config.out.empty()) c.config.out = "runs/" + c.config.model.value_or("lenet");
  if (c.config.resume) {
    const auto last = std::filesystem::path(c.config.out) / "last.safetensors";
    std::error_code failed;
    if (!std::filesystem::exists(last, failed)) {
      throw Error(fmt::format("[train] there is no {} to resume from; train without --resume first",
                              last.string()),
                  Code::kNotFound);
    }
  }
  c.config.progress = c.quiet ? nullptr : plain_stderr();
  std::string& resume = c.config.resume_command;
  resume = "wick train";
  if (c.config.model) resume += " " + *c.config.model;
  if (c.config.data) resume += " --data " + shell_quote(*c.config.data);
  resume += " --out " + shell_quote(c.config.out) + " --resume";
  if (c.config.threads != 1) resume += fmt::format(" --threads {}", c.config.threads);
  if (c.config.save_every_steps != 0)
    resume += fmt::format(" --save-every {}", c.config.save_every_steps);
  const loop::TensorBoardOptions& board = c.config.tensorboard;
  if (!board.folder.empty()) {
    resume += " --tensorboard " + shell_quote(board.folder);
    if (board.every_steps != loop::TensorBoardOptions().every_steps)
      resume += fmt::format(" --tensorboard-every {}", board.every_steps);
    if (board.histograms) resume += " --tensorboard-histograms";
  }
  check_places({}, {{"--trace", c.trace_file}});
  std::optional<TraceOps> trace;
  std::optional<ReferenceKernelsScope> reference;
  std::optional<AnomalyMode> anomaly;
  if (c.anomaly) anomaly.emplace();
  c.config.verdict = c.profile;
  if (c.trace) trace.emplace(std::cerr);
  if (c.reference) reference.emplace();
  std::optional<Profiler> profiler;
  if (!c.trace_file.empty()) profiler.emplace(ProfilerOptions{.max_slices = size_t{1} << 17});
  loop::TrainResult r = loop::run_training(c.config);
  if (profiler) write_text(c.trace_file, profiler->stop().chrome_trace());
  profiler.reset();
  trace.reset();
  anomaly.reset();
  const bool split = r.config.val_split > 0;
  // These are the weights that export takes; the last ones may differ.
  const std::string kept = loop::load_trained(c.config.out).weights_sha256;
  if (c.profile) fmt::print(stderr, "{}", r.fit.steps_report.to_text());
  if (c.json) {
    nlohmann::json document = {{"model", r.config.model},
                               {"data", r.config.data},
                               {"out", r.config.out},
                               {"epochs", r.fit.epochs},
                               {"steps", r.fit.steps},
                               {"seed", r.config.seed},
                               {"parameters", r.parameters},
                               {"test_accuracy", r.test.accuracy},
                               {"test_loss", r.test.loss},
                               {"best_accuracy", r.fit.best_accuracy},
                               {"best_epoch", r.fit.best_epoch},
                               {"images_per_second", r.fit.items_per_second},
                               {"weights_sha256", r.fit.weights_sha256},
                               {"kept_weights_sha256", kept},
                               {"interrupted", r.fit.interrupted}};
    if (r.config.autocast != "none") document["autocast"] = r.config.autocast;
    if (r.config.autocast == "f16") document["skipped_steps"] = r.fit.skipped_steps;
    if (r.fit.stopped_early) document["stopped_early"] = true;
    if (split) {
      document["val_accuracy"] = r.fit.validation.accuracy;
      document["val_loss"] = r.fit.validation.loss;
    }
    print_json(document);
  }
  if (r.fit.interrupted) {
    if (c.quiet) fmt::print(stderr, "interrupted and saved; to go on: {}\n", resume);
    throw Interrupted{};
  }
  if (c.json) return;
  std::string rate;  // none when the run was already at its end
  if (r.fit.items_per_second > 0) rate = fmt::format(", {:.0f} img/s", r.fit.items_per_second);
  fmt::print(
      "{} on {}: test accuracy {:.2f} % (best {}{:.2f} % in epoch {}), {} parameters{}\n"
      "weights sha256 {}{}\n{}\n",
      r.config.model, r.config.data, r.test.accuracy * 100, split ? "validation " : "",
      r.fit.best_accuracy * 100, r.fit.best_epoch, r.parameters, rate, r.fit.weights_sha256,
      kept == r.fit.weights_sha256 ? "" : "\nbest weights sha256 " + kept + " (export takes them)",
      r.config.out);
}

}  // namespace

void add_train(CommandLine& app) {
  auto c = std::make_shared<TrainCommand>();
  Command command =
      app.add_command("train", "Train lenet, mlp, mobilenet or resnet8 on labelled images");
  command.add_option("model", c->config.model, "lenet (default), mlp, mobilenet or resnet8")
      .one_of(nn::model_names());
  command.add_option("--data", c->config.data,
                     "fashion-mnist (default), mnist, tinydigits, or a folder of IDX files");
  command.add_option("--epochs", c->config.epochs, "(default: the recipe's)").at_least(0);
  command.add_option("--batch", c->config.batch, "(default: the recipe's)").at_least(0);
  command.add_option("--lr", c->config.lr, "(default: the recipe's)").not_negative();
  command.add_option("--seed", c->config.seed, "of weights, shuffling and dropout (default: 0)");
  command.add_option("--optimizer", c->config.optimizer, "(default: the recipe's)")
      .one_of(loop::optimizer_names());
  command.add_option("--weight-decay", c->config.weight_decay, "(default: the recipe's)")
      .not_negative();
  command.add_option("--schedule", c->config.schedule, "of the learning rate (default: cosine)")
      .one_of(loop::schedule_names());
  command
      .add_option("--accumulate", c->config.accumulate, "batches that make one step (default: 1)")
      .at_least(1);
  command
      .add_option("--clip-norm", c->config.clip_norm,
                  "largest norm of the gradients (default: 0, any)")
      .not_negative();
  command
      .add_option(
          "--autocast", c->config.autocast,
          "what products compute in: none (default, float32), bf16, f16 (the loss is scaled)")
      .one_of(loop::autocast_names());
  command.add_option("--label-smoothing", c->config.label_smoothing, "0 to 1 (default: 0)")
      .between(0.0, 1.0);
  command
      .add_option("--ema", c->config.ema,
                  "keep the weights' moving average of that decay (default: 0, none)")
      .between(0.0, 1.0);
  command
      .add_option(
          "--val-split", c->config.val_split,
          "share of the training images that picks the best epoch, not the test set (default: 0)")
      .between(0.0, 0.9);
  command
      .add_option("--patience", c->config.patience,
                  "stop after so many epochs without a better validation (default: 0, never)")
      .at_least(0);
  command.add_option("--threads", c->config.threads, "changes nothing in the result").at_least(0);
  command.add_option("--workers", c->config.workers, "loader threads; change nothing in the result")
      .at_least(0);
  command.add_option("--save-every", c->config.save_every_steps, "steps; 0: after each epoch only")
      .at_least(0);
  command.add_option("--tensorboard", c->config.tensorboard.folder,
                     "folder for TensorBoard's event files: loss, accuracy and learning rate");
  command
      .add_option("--tensorboard-every", c->config.tensorboard.every_steps,
                  "steps between two values of loss and learning rate; 0: epochs alone")
      .at_least(0);
  command.add_flag("--tensorboard-histograms", c->config.tensorboard.histograms,
                   "of the weights and their gradients, after each epoch");
  command.add_option("-o,--out", c->config.out,
                     "folder for checkpoints and metrics.csv (default: runs/MODEL)");
  command.add_flag("--resume", c->config.resume,
                   "go on from the folder's last checkpoint, to the bit");
  command.add_flag_or_json("--trace", c->trace, c->trace_file,
                           "print each op on stderr as it runs; with a FILE.json write the first "
                           "131072 slices of the steps there for Perfetto and chrome://tracing");
  command.add_flag("--reference", c->reference, "plain loops instead of SIMD: the same bits, slow");
  command.add_flag("--anomaly", c->anomaly,
                   "stop at the first op that makes NaN or inf, and name it; slow");
  command.add_flag("--profile", c->profile,
                   "print where the steps spent their time and what to change");
  command.add_flag("--audit-determinism", c->audit,
                   "run the first steps five times, with other threads too, and name the first op "
                   "whose result differs; writes nothing");
  command.add_flag("--quiet", c->quiet, "no progress");
  command.add_flag("--json", c->json, "print the result as JSON");
  command.footer(
      "Example:\n  wick train lenet --data fashion-mnist --epochs 3 --seed 1 --threads 2");
  command.callback([c] { train(*c); });
}

}  // namespace wick::tool
