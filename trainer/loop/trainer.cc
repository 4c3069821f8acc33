#include "trainer/loop/trainer.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "runtime/kernels/half_loops.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/loop/fit_check.h"
#include "trainer/loop/fit_state.h"
#include "trainer/loop/interrupt.h"
#include "trainer/loop/progress.h"
#include "trainer/loop/run_report.h"
#include "trainer/loop/verdict.h"
#include "trainer/nn/clip_grad.h"
#include "trainer/nn/mode_scope.h"
#include "trainer/profile/range.h"
#include "trainer/tensor/ops.h"

namespace wick::loop {

using data::Phase;

// The batches of one optimizer step. All are there before the first is used: each counts by its
// share of the items, and the last group of an epoch may be short.
struct StepBatches {
  std::vector<data::Batch> batches;
  std::vector<data::LoaderPosition> at;
  int64_t items = 0;
};

namespace {

int64_t items_in(const data::Batch& batch) {
  if (batch.size() < 2 || batch[0].rank() < 1) {
    throw Error(
        fmt::format("[trainer] batches must be {{input, target}} with the items along the "
                    "first dimension; the loader gave {} fields",
                    batch.size()));
  }
  return batch[0].raw_shape()[0];
}

// Up to `count` batches; sets `ended` when the epoch has no more.
bool read_step(data::DataLoader& train, int64_t count, StepBatches& to, bool& ended,
               data::StepProfile& profile) {
  to = {};
  while (!ended && static_cast<int64_t>(to.batches.size()) < count) {
    const data::LoaderPosition at = train.position();
    data::Batch batch;
    ended = !profile.next(train, batch);
    if (ended) break;
    to.items += items_in(batch);
    to.batches.push_back(std::move(batch));
    to.at.push_back(at);
  }
  return !to.batches.empty();
}

// "items 4, 17, 3 ... (64 in all)"
std::string items_text(const data::DataLoader& loader, data::LoaderPosition at) {
  constexpr size_t kShown = 16;
  const std::vector<int64_t> items = loader.items_of(at);
  std::string text = items.size() == 1 ? "item" : "items";
  for (size_t i = 0; i < items.size() && i < kShown; ++i) {
    text += (i == 0 ? " " : ", ") + std::to_string(items[i]);
  }
  if (items.size() > kShown) text += fmt::format(" ... ({} in all)", items.size());
  return text;
}

std::string lost_text(const FitState& state) {
  if (state.lost == 0) return "";
  return fmt::format(", and was not finite in the {} steps before, which were skipped", state.lost);
}

// Below it a gradient of 1 is no float16 number: no scale makes these gradients finite.
void check_scale(double scale, const FitState& state, const Where& where) {
  constexpr double kLeast = 0x1p-24;
  if (scale >= kLeast) return;
  throw_error(
      "trainer",
      fmt::format("the gradients are not finite at epoch {}, step {}, at a loss scale of {} "
                  "as at all larger ones: {} steps were skipped; anomaly mode (--anomaly) "
                  "names the op that made the first such number",
                  state.epoch + 1, state.step + 1, scale, state.skipped + 1),
      where);
}

// Where a target is no class of the output: its place among the targets.
std::optional<int64_t> wrong_label(const Tensor& output, const Tensor& target, int64_t* classes) {
  constexpr int64_t kIgnored = -100;  // cross_entropy's ignore_index
  if (target.layout().dtype != DType::kI64 || output.rank() < 2) return {};
  *classes = output.raw_shape()[static_cast<size_t>(output.rank() - 1)];
  if (output.layout().numel() != *classes * target.layout().numel()) return {};
  const Tensor labels = target.detach().contiguous();
  const auto* y = labels.raw().as<int64_t>();
  for (int64_t i = 0; i < labels.layout().numel(); ++i) {
    if (y[i] != kIgnored && (y[i] < 0 || y[i] >= *classes)) return i;
  }
  return {};
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

Tensor Trainer::loss_of(const Tensor& output, const data::DataLoader& loader,
                        data::LoaderPosition at, const data::Batch& batch) const {
  try {
    return loss_(output, batch[1]);
  } catch (const Error& e) {
    int64_t classes = 0;
    const std::optional<int64_t> wrong = wrong_label(output, batch[1], &classes);
    if (!wrong) throw;
    const Tensor labels = batch[1].contiguous();
    const std::vector<int64_t> items = loader.items_of(at);
    const int64_t each = std::max<int64_t>(labels.layout().numel() / items_in(batch), 1);
    const auto row = static_cast<size_t>(*wrong / each);
    throw Error(
        fmt::format("[trainer] item {}: the label {} is no class of the model's output, "
                    "which has {}, 0 to {} (epoch {}, batch {}): {}",
                    row < items.size() ? items[row] : -1, labels.raw().as<int64_t>()[*wrong],
                    classes, classes - 1, at.epoch + 1, at.batch, e.what()),
        e.code());
  }
}

EvalResult Trainer::evaluate(data::DataLoader& loader) {
  return evaluate(model_, loader, {}, nullptr);
}

EvalResult Trainer::evaluate(nn::Module& model, data::DataLoader& loader,
                             const std::map<std::string, Metric>& metrics, RunReport* report) {
  NoGrad guard;
  const nn::ModeScope mode(model, false);
  if (report != nullptr) report->validation_begins();
  EvalResult result;
  int64_t correct = 0;
  for (const auto& [name, metric] : metrics) result.metrics[name] = 0;
  data::Batch batch;
  for (data::LoaderPosition at = loader.position(); loader.next(batch); at = loader.position()) {
    const int64_t n = items_in(batch);
    Tensor output = model(batch[0]);
    if (report != nullptr) report->batch_validated(batch, output);
    result.loss += loss_of(output, loader, at, batch).item() * static_cast<double>(n);
    if (is_16_bit_float(output.dtype()) && autocast_enabled()) output = output.to(DType::kF32);
    if (const std::optional<Correct> c = correct_of(output, batch[1])) {
      correct += c->correct;
      result.predictions += c->predictions;
    }
    for (const auto& [name, metric] : metrics) {
      result.metrics[name] += metric(output, batch[1]) * static_cast<double>(n);
    }
    result.items += n;
  }
  if (result.items > 0) {
    result.loss /= static_cast<double>(result.items);
    for (auto& [name, value] : result.metrics) value /= static_cast<double>(result.items);
  }
  if (result.predictions > 0) {
    result.accuracy = static_cast<double>(correct) / static_cast<double>(result.predictions);
  }
  return result;
}

void Trainer::train_step(const StepBatches& step, FitState& state, const data::DataLoader& train,
                         const FitOptions& options, optim::Amp& amp, RunReport& report,
                         data::StepProfile& profile, const Where& where) {
  report.step_begins(model_, optimizer_, step.batches[0]);
  optimizer_.zero_grad();
  report.part_ends(&EpochTimes::zero_grad);
  bool measured = true;
  for (size_t i = 0; i < step.batches.size(); ++i) {
    const data::Batch& batch = step.batches[i];
    const int64_t n = items_in(batch);
    Tensor output, loss;
    double value = 0;
    {
      const auto time = profile.measure(Phase::kForward);
      const auto scope = amp.begin();
      output = model_(batch[0]);
      report.part_ends(&EpochTimes::forward);
      loss = loss_of(output, train, step.at[i], batch);
      value = loss.item();
      report.part_ends(&EpochTimes::loss);
    }
    // Before backward: the weights are still those of the step before.
    const bool finite = std::isfinite(value);
    if (!finite && (!amp.scaler().is_enabled() || state.lost + 1 >= FitOptions::kLostSteps)) {
      throw_error("trainer",
                  fmt::format("the loss is {} at epoch {}, step {} (lr {}){}; a smaller lr may "
                              "help. The batch was {}; anomaly mode (--anomaly) names the op that "
                              "made the first such number",
                              value, state.epoch + 1, state.step + 1, optimizer_.lr(),
                              lost_text(state), items_text(train, step.at[i])),
                  where);
    }
    measured = measured && finite;
    {
      const auto time = profile.measure(Phase::kBackward);
      if (step.batches.size() == 1) {
        amp.backward(loss, where);
      } else {
        amp.backward(loss * (static_cast<double>(n) / static_cast<double>(step.items)), where);
      }
      report.part_ends(&EpochTimes::backward);
    }
    state.loss_sum += finite ? value * static_cast<double>(n) : 0;
    state.unmeasured += finite ? 0 : n;
    if (const std::optional<Correct> c = correct_of(output, batch[1])) {
      state.correct += c->correct;
      state.predictions += c->predictions;
    }
    state.items += n;
  }
  const auto time = profile.measure(Phase::kOptimizer);
  if (options.clip_grad_value > 0 || options.clip_grad_norm > 0) {
    amp.unscale_(optimizer_, where);
    const std::vector<Tensor> parameters = model_.parameters();
    if (options.clip_grad_value > 0) nn::clip_grad_value_(parameters, options.clip_grad_value);
    if (options.clip_grad_norm > 0) nn::clip_grad_norm_(parameters, options.clip_grad_norm);
  }
  if (amp.step(optimizer_, where)) {
    if (schedule_ != nullptr && !schedule_->wants_metric()) schedule_->step();
    if (options.average != nullptr) options.average->update_parameters(model_);
  } else {
    check_scale(amp.scaler().get_scale(), state, where);
    ++state.skipped;
  }
  state.lost = measured ? 0 : state.lost + 1;
  ++state.step;
  report.part_ends(&EpochTimes::optimizer);
  report.step_ends();
}

FitResult Trainer::fit(data::DataLoader& train, data::DataLoader* validation,
                       const FitOptions& options, Where where) {
  check_fit(options, validation != nullptr, where);
  const bool keep = !options.out.empty();
  optim::Amp amp(options.amp, where);
  const FitParts parts{model_, optimizer_, schedule_, options, amp};
  FitState state;
  if (keep) {
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
    if (error) {
      throw_error("trainer", "cannot make the folder " + options.out + ": " + error.message(),
                  where, Code::kIo);
    }
  }
  if (options.resume) {
    state = load_fit(parts, train, where);
  } else if (keep) {
    remove_run(options.out, where);
  }
  std::vector<std::string> own;
  for (const auto& [name, metric] : options.metrics) {
    if (validation != nullptr) own.push_back(name);
  }
  MetricsCsv metrics(keep ? in_folder(options.out, "metrics.csv") : "", state.epoch, own);
  RunReport report(options.out, state.epoch, options.classes);
  Progress progress(options.progress);
  std::optional<InterruptScope> interrupt;
  if (options.handle_interrupt) interrupt.emplace();
  nn::Module& validated = options.average != nullptr ? options.average->module() : model_;

  FitResult result;
  auto validate = [&](RunReport* shown) {
    validation->seek({0, 0});
    const auto scope = amp.begin();
    result.validation = evaluate(validated, *validation, options.metrics, shown);
    if (result.validation.items == 0) throw_error("trainer", "the validation is empty", where);
  };
  bool stopped = out_of_patience(state, options);
  if (state.epoch >= options.epochs || stopped) {
    progress.line(fmt::format("nothing left to train: {} of {} epochs are done{}", state.epoch,
                              options.epochs, stopped ? ", stopped early" : ""));
    if (validation != nullptr) validate(nullptr);
  }
  optimizer_.accumulate(1);
  if (!model_.training()) model_.train();
  while (state.epoch < options.epochs && !stopped && !result.interrupted) {
    progress.start_epoch();
    ProgressState shown;
    shown.epoch = state.epoch;
    shown.epochs = options.epochs;
    shown.batches = train.batches();
    shown.batch = train.position().batch;
    auto show = [&] {
      shown.items_done = state.items;
      shown.loss = state.mean_loss();
      shown.accuracy = state.accuracy();
      shown.predicts = state.predictions > 0;
    };
    show();
    data::StepProfile profile;
    report.epoch_begins();
    StepBatches step;
    bool ended = false;
    auto next = [&] {
      ProfileRange range("loader");
      const bool more = read_step(train, options.accumulation_steps, step, ended, profile);
      report.loaded();
      return more;
    };
    while (next()) {
      train_step(step, state, train, options, amp, report, profile, where);
      // Not the loader's: to know that a group is short it has gone on to the next epoch.
      const data::LoaderPosition position{step.at.back().epoch, step.at.back().batch + 1};
      shown.batch = position.batch;
      shown.items_here += step.items;
      shown.items_left =
          train.items() < 0 ? 0 : (options.epochs - state.epoch) * train.items() - state.items;
      show();
      progress.update(shown);
      bool stop = interrupt && InterruptScope::requested();
      bool due = options.save_every_steps > 0 && state.step % options.save_every_steps == 0;
      if (keep && (stop || due)) save_fit(state, parts, train, position);
      if (options.on_step) options.on_step(state.step);
      if (stop) {
        result.interrupted = true;
        break;
      }
    }
    add_steps(result.steps_report, profile.report());
    if (result.interrupted) {
      progress.line(fmt::format("interrupted at epoch {}, step {}", state.epoch + 1, state.step));
      if (keep) {
        progress.line("saved " + in_folder(options.out, "last.safetensors"));
        if (!options.resume_command.empty()) progress.line("to go on: " + options.resume_command);
      }
      break;
    }
    if (state.items == 0) {
      throw_error("trainer",
                  fmt::format("epoch {} gave no batch: a stream of fewer items than batch_size {} "
                              "with drop_last?",
                              state.epoch + 1, train.options().batch_size),
                  where);
    }
    if (state.items == state.unmeasured) {
      throw_error("trainer",
                  fmt::format("no loss of epoch {} was finite: float16 has lost all {} steps",
                              state.epoch + 1, state.lost),
                  where);
    }
    report.training_ends(model_);
    EpochMetrics m;
    m.epoch = ++state.epoch;
    m.step = state.step;
    m.lr = optimizer_.lr();
    m.seconds = progress.seconds();
    m.items_per_second = result.items_per_second = progress.items_per_second(shown);
    m.train_loss = result.train_loss = state.mean_loss();
    m.train_accuracy = result.train_accuracy = state.accuracy();
    m.train_predicts = state.predictions > 0;
    std::string tail;
    if (validation != nullptr) {
      validate(&report);
      m.validated = true;
      m.val_loss = result.validation.loss;
      m.val_accuracy = result.validation.accuracy;
      m.val_predicts = result.validation.predictions > 0;
      m.own = result.validation.metrics;
      tail = fmt::format("  val loss {:.4f}", m.val_loss);
      if (m.val_predicts) tail += fmt::format("  val acc {:.2f}%", 100 * m.val_accuracy);
      for (const auto& [name, value] : m.own) tail += fmt::format("  {} {:.4g}", name, value);
    }
    if (state.skipped > 0) {
      tail += fmt::format("  {} steps skipped in all, loss scale {}", state.skipped,
                          amp.scaler().get_scale());
    }
    if (schedule_ != nullptr && schedule_->wants_metric()) {
      schedule_->step(m.validated ? m.val_loss : m.train_loss);
    }
    state.loss_sum = 0;
    state.correct = state.predictions = state.items = state.unmeasured = 0;
    if (note_epoch(state, options, m, monitored(options, m)) && keep) save_best(parts);
    // The line first: a kill in between leaves a line that the resumed run drops and writes again.
    metrics.append(m);
    report.epoch_ends(m);
    if (keep) save_fit(state, parts, train, train.position());
    shown.items_left = 0;
    progress.end_epoch(shown, m.items_per_second, tail);
    if (options.on_epoch) options.on_epoch(m);
    stopped = out_of_patience(state, options);
    if (stopped && state.epoch < options.epochs) {
      progress.line(fmt::format("stopped early: no better in {} epochs, the best was epoch {}",
                                options.patience, state.best_epoch));
    }
  }
  if (options.verdict && result.steps_report.steps > 0) {
    progress.line(verdict_line(result.steps_report));
  }
  result.stopped_early = stopped && state.epoch < options.epochs;
  result.epochs = state.epoch;
  result.steps = state.step;
  result.skipped_steps = state.skipped;
  result.best_accuracy = state.best_accuracy;
  result.best_value = state.best_value;
  result.best_epoch = state.best_epoch;
  result.weights_sha256 = state_sha256(model_.state_dict());
  return result;
}

}  // namespace wick::loop
