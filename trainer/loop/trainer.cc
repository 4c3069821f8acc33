#include "trainer/loop/trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "trainer/checkpoint/safetensors.h"
#include "trainer/loop/interrupt.h"
#include "trainer/loop/metrics_csv.h"
#include "trainer/loop/progress.h"
#include "trainer/loop/run_report.h"
#include "trainer/profile/range.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

using Json = nlohmann::json;

// Tensors of the optimizer beside the model's: '/' never occurs in a state_dict name.
constexpr const char* kOptimizerPrefix = "optimizer/";
constexpr const char* kStateKey = "wick.training_state";

std::string in_folder(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

// An earlier run's files, which would otherwise pass for those of the run that starts here until it
// has written its own.
void remove_run(const std::string& folder, const Where& where) {
  std::vector<const char*> names = {"best.safetensors", "last.safetensors", "metrics.csv"};
  names.insert(names.end(), report_files().begin(), report_files().end());
  for (const char* name : names) {
    std::error_code error;
    std::filesystem::remove(in_folder(folder, name), error);
    if (error) {
      throw_error(
          "trainer",
          "cannot remove the earlier run's " + in_folder(folder, name) + ": " + error.message(),
          where, Code::kIo);
    }
  }
}

}  // namespace

// Sums over the current epoch are part of the state: a resumed epoch reports what an unbroken one
// does.
struct Trainer::Run {
  int64_t epoch = 0, step = 0;
  double loss_sum = 0;
  int64_t correct = 0, items = 0;
  double best_accuracy = 0;
  int64_t best_epoch = 0;

  template <class F>
  void fields(F&& f) {
    f("epoch", epoch), f("step", step), f("loss_sum", loss_sum), f("correct", correct);
    f("items", items), f("best_accuracy", best_accuracy), f("best_epoch", best_epoch);
  }
};

int64_t count_correct(const Tensor& logits, const Tensor& target) {
  Tensor rows = logits.detach().contiguous().to(DType::kF32);
  if (rows.rank() != 2 || target.rank() != 1 || target.raw_shape()[0] != rows.raw_shape()[0]) {
    throw Error(std::string("[accuracy] logits ") + to_text(rows.raw_shape()).text + ", target " +
                    to_text(target.raw_shape()).text,
                Code::kShapeMismatch);
  }
  const float* x = rows.data<float>();
  const int64_t* y = target.data<int64_t>();
  int64_t n = rows.raw_shape()[0], classes = rows.raw_shape()[1], correct = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t top = 0;
    for (int64_t c = 1; c < classes; ++c) {
      if (x[i * classes + c] > x[i * classes + top]) top = c;
    }
    correct += top == y[i];
  }
  return correct;
}

EvalResult Trainer::evaluate(data::DataLoader& loader) { return evaluate(loader, nullptr); }

EvalResult Trainer::evaluate(data::DataLoader& loader, RunReport* report) {
  NoGrad guard;
  bool training = model_.training();
  model_.eval();
  if (report != nullptr) report->validation_begins();
  EvalResult result;
  int64_t correct = 0;
  for (data::Batch& batch : loader) {
    Tensor output = model_(batch.at(0));
    if (report != nullptr) report->batch_validated(batch, output);
    int64_t n = batch[0].raw_shape()[0];
    result.loss += loss_(output, batch.at(1)).item() * static_cast<double>(n);
    correct += count_correct(output, batch[1]);
    result.items += n;
  }
  model_.train(training);
  if (result.items > 0) {
    result.loss /= static_cast<double>(result.items);
    result.accuracy = static_cast<double>(correct) / static_cast<double>(result.items);
  }
  return result;
}

Tensor Trainer::train_step(const data::Batch& batch, Tensor& output, RunReport& report) {
  report.step_begins(model_, optimizer_, batch);
  optimizer_.zero_grad();
  report.part_ends(&EpochTimes::zero_grad);
  output = model_(batch.at(0));
  report.part_ends(&EpochTimes::forward);
  Tensor loss = loss_(output, batch.at(1));
  report.part_ends(&EpochTimes::loss);
  loss.backward();
  report.part_ends(&EpochTimes::backward);
  optimizer_.step();
  if (schedule_ != nullptr && !schedule_->wants_metric()) schedule_->step();
  report.part_ends(&EpochTimes::optimizer);
  report.step_ends();
  return loss;
}

void Trainer::save(const Run& run, const FitOptions& options, const data::DataLoader& train) const {
  nn::NamedTensors tensors = model_.state_dict();
  optim::OptimizerState state = optimizer_.state_dict();
  for (const auto& [name, tensor] : state.tensors)
    tensors.emplace_back(kOptimizerPrefix + name, tensor);
  Json json;
  const_cast<Run&>(run).fields([&](const char* name, auto& value) { json["run"][name] = value; });
  json["optimizer"] = state.settings;
  json["schedule"] = schedule_ != nullptr ? Json(schedule_->state_dict()) : Json(-1);
  json["generator"] = {default_generator().seed, default_generator().stream};
  json["loader"] = {
      {"epoch", train.position().epoch},       {"batch", train.position().batch},
      {"items", train.dataset().size()},       {"batch_size", train.options().batch_size},
      {"shuffle", train.options().shuffle},    {"seed", train.options().seed},
      {"drop_last", train.options().drop_last}};
  json["epochs"] = options.epochs;
  std::map<std::string, std::string> metadata = options.metadata;
  metadata["format"] = "pt";
  metadata[kStateKey] = json.dump();
  save_safetensors(in_folder(options.out, "last.safetensors"), tensors, metadata);
}

void Trainer::load(Run& run, const FitOptions& options, data::DataLoader& train,
                   const Where& where) {
  std::string path = in_folder(options.out, "last.safetensors");
  if (!std::filesystem::exists(path)) {
    throw_error("trainer", "nothing to resume: no " + path, where, Code::kNotFound);
  }
  Safetensors file = load_safetensors(path);
  if (!file.metadata.contains(kStateKey)) {
    throw_error("trainer", path + " holds weights only, no training state", where);
  }
  nn::NamedTensors weights;
  optim::OptimizerState state;
  size_t prefix = std::string(kOptimizerPrefix).size();
  for (const auto& [name, tensor] : file.tensors) {
    if (name.starts_with(kOptimizerPrefix)) {
      state.tensors.emplace_back(name.substr(prefix), tensor);
    } else {
      weights.emplace_back(name, tensor);
    }
  }
  try {
    Json json = Json::parse(file.metadata[kStateKey]);
    const Json& loader = json.at("loader");
    if (loader.at("items") != train.dataset().size() ||
        loader.at("batch_size") != train.options().batch_size ||
        loader.at("shuffle") != train.options().shuffle ||
        loader.at("seed") != train.options().seed ||
        loader.at("drop_last") != train.options().drop_last) {
      throw_error("trainer", "the saved run read its data differently: " + loader.dump(), where);
    }
    if ((json.at("schedule") == -1) != (schedule_ == nullptr)) {
      throw_error("trainer", "the saved run and this one differ in having a schedule", where);
    }
    run.fields([&](const char* name, auto& value) { json.at("run").at(name).get_to(value); });
    state.settings = json.at("optimizer").get<std::string>();
    model_.load_state_dict(weights, where);
    optimizer_.load_state_dict(state, where);
    if (schedule_ != nullptr) {
      // Files written before schedules kept a state have the number of the step.
      const Json& schedule = json["schedule"];
      if (schedule.is_string()) {
        schedule_->load_state_dict(schedule.get<std::string>(), where);
      } else {
        schedule_->set_last_step(schedule.get<int64_t>());
      }
    }
    default_generator() = {json.at("generator").at(0).get<uint64_t>(),
                           json.at("generator").at(1).get<uint64_t>()};
    train.seek({loader.at("epoch").get<int64_t>(), loader.at("batch").get<int64_t>()}, where);
  } catch (const Json::exception& e) {
    throw_error("trainer", path + ": damaged training state: " + e.what(), where);
  }
}

FitResult Trainer::fit(data::DataLoader& train, data::DataLoader* validation,
                       const FitOptions& options, Where where) {
  if (options.epochs < 1) throw_error("trainer", "epochs must be at least 1", where);
  Run run;
  if (!options.out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
    if (error) {
      throw_error("trainer", "cannot make the folder " + options.out + ": " + error.message(),
                  where, Code::kIo);
    }
  }
  if (options.resume) {
    load(run, options, train, where);
  } else if (!options.out.empty()) {
    remove_run(options.out, where);
  }
  MetricsCsv metrics(options.out.empty() ? "" : in_folder(options.out, "metrics.csv"), run.epoch);
  RunReport report(options.out, run.epoch, options.classes);
  Progress progress(options.progress);
  std::optional<InterruptScope> interrupt;
  if (options.handle_interrupt) interrupt.emplace();

  FitResult result;
  if (run.epoch >= options.epochs) {
    progress.line(
        fmt::format("nothing left to train: {} of {} epochs are done", run.epoch, options.epochs));
    if (validation != nullptr) {
      validation->seek({0, 0});
      result.validation = evaluate(*validation);
    }
  }
  model_.train();
  while (run.epoch < options.epochs && !result.interrupted) {
    progress.start_epoch();
    ProgressState shown;
    shown.epoch = run.epoch;
    shown.epochs = options.epochs;
    shown.batches = train.batches();
    data::Batch batch;
    report.epoch_begins();
    auto next = [&] {
      ProfileRange range("loader");
      const bool more = train.next(batch);
      report.loaded();
      return more;
    };
    while (next()) {
      Tensor output;
      double loss = train_step(batch, output, report).item();
      int64_t n = batch[0].raw_shape()[0];
      if (!std::isfinite(loss)) {
        throw_error(
            "trainer",
            fmt::format("the loss is {} at epoch {}, step {} (lr {}); a smaller lr may help", loss,
                        run.epoch + 1, run.step + 1, optimizer_.lr()),
            where);
      }
      ++run.step;
      run.loss_sum += loss * static_cast<double>(n);
      run.correct += count_correct(output, batch[1]);
      run.items += n;
      shown.batch = train.position().batch;
      shown.items_done = run.items;
      shown.items_here += n;
      shown.items_left = (options.epochs - run.epoch) * train.items() - run.items;
      shown.loss = run.loss_sum / static_cast<double>(run.items);
      shown.accuracy = static_cast<double>(run.correct) / static_cast<double>(run.items);
      progress.update(shown);
      bool stop = interrupt && InterruptScope::requested();
      bool due = options.save_every_steps > 0 && run.step % options.save_every_steps == 0;
      if (!options.out.empty() && (stop || due)) save(run, options, train);
      if (options.on_step) options.on_step(run.step);
      if (stop) {
        result.interrupted = true;
        break;
      }
    }
    if (result.interrupted) {
      progress.line(fmt::format("interrupted at epoch {}, step {}", run.epoch + 1, run.step));
      if (!options.out.empty()) {
        progress.line("saved " + in_folder(options.out, "last.safetensors"));
        if (!options.resume_command.empty()) progress.line("to go on: " + options.resume_command);
      }
      break;
    }
    report.training_ends(model_);
    EpochMetrics m;
    m.epoch = ++run.epoch;
    m.step = run.step;
    m.lr = optimizer_.lr();
    m.seconds = progress.seconds();
    m.items_per_second = result.items_per_second = progress.items_per_second(shown);
    if (run.items > 0) {
      m.train_loss = result.train_loss = run.loss_sum / static_cast<double>(run.items);
      m.train_accuracy = result.train_accuracy =
          static_cast<double>(run.correct) / static_cast<double>(run.items);
    }
    std::string tail;
    if (validation != nullptr) {
      validation->seek({0, 0});
      result.validation = evaluate(*validation, &report);
      m.validated = true;
      m.val_loss = result.validation.loss;
      m.val_accuracy = result.validation.accuracy;
      tail = fmt::format("  val loss {:.4f}  val acc {:.2f}%", m.val_loss, 100 * m.val_accuracy);
    }
    if (schedule_ != nullptr && schedule_->wants_metric()) {
      schedule_->step(m.validated ? m.val_loss : m.train_loss);
    }
    run.loss_sum = 0;
    run.correct = run.items = 0;
    if (m.validated && (run.best_epoch == 0 || m.val_accuracy > run.best_accuracy)) {
      run.best_accuracy = m.val_accuracy;
      run.best_epoch = run.epoch;
      if (!options.out.empty()) {
        std::map<std::string, std::string> metadata = options.metadata;
        metadata["format"] = "pt";
        save_safetensors(in_folder(options.out, "best.safetensors"), model_.state_dict(), metadata);
      }
    }
    // The line first: a kill in between leaves a line that the resumed run drops and writes again.
    metrics.append(m);
    report.epoch_ends(m);
    if (!options.out.empty()) save(run, options, train);
    shown.items_left = 0;
    progress.end_epoch(shown, m.items_per_second, tail);
  }
  result.epochs = run.epoch;
  result.steps = run.step;
  result.best_accuracy = run.best_accuracy;
  result.best_epoch = run.best_epoch;
  result.weights_sha256 = state_sha256(model_.state_dict());
  return result;
}

}  // namespace wick::loop
