#include "trainer/loop/trainer.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>

#include "runtime/kernels/elementwise/half_loops.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/loop/fit_board.h"
#include "trainer/loop/fit_check.h"
#include "trainer/loop/fit_state.h"
#include "trainer/loop/interrupt.h"
#include "trainer/loop/progress.h"
#include "trainer/loop/run_folder.h"
#include "trainer/loop/run_report.h"
#include "trainer/loop/verdict.h"
#include "trainer/nn/clip_grad.h"
#include "trainer/nn/mode_scope.h"
#include "trainer/profile/range.h"
#include "trainer/tensor/ops.h"

namespace wick::loop {

using data::Phase;

namespace {

// The batches of one optimizer step. All are read before the first is used: each is weighted by its
// share of the items, and the last group of an epoch may be incomplete.
struct StepBatches {
  std::vector<data::Batch> batches;
  std::vector<data::LoaderPosition> at;
  int64_t items = 0;
};

int64_t items_in(const data::Batch& batch) {
  if (batch.size() < 2 || batch[0].rank() < 1) {
    throw Error(
        fmt::format("[trainer] batches must be {{input, target}} with the items along the "
                    "first dimension; the loader gave {} fields",
                    batch.size()));
  }
  return batch[0].raw_shape()[0];
}

// Reads up to `count` batches; sets `ended` if the epoch has no more.
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

// Returns "items 4, 17, 3 ... (64 in all)".
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

// Below kLeast a gradient of 1 is not representable in float16: no scale makes the gradients
// finite.
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

// Returns the position of a target that is not a class of the output; empty if all are valid.
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

// Returns the text after an epoch's line.
std::string tail_text(const EpochMetrics& m, const FitState& state, double scale) {
  std::string tail;
  if (m.validated) {
    tail = fmt::format("  val loss {:.4f}", m.val_loss);
    if (m.val_predicts) tail += fmt::format("  val acc {:.2f}%", 100 * m.val_accuracy);
    for (const auto& [name, value] : m.own) tail += fmt::format("  {} {:.4g}", name, value);
  }
  if (state.skipped > 0)
    tail += fmt::format("  {} steps skipped in all, loss scale {}", state.skipped, scale);
  return tail;
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

// One call of fit(): its arguments, its output, and its progress.
class Trainer::Fit {
 public:
  Fit(Trainer& trainer, data::DataLoader& train, data::DataLoader* validation,
      const FitOptions& options, const Where& where)
      : trainer_(trainer),
        train_(train),
        validation_(validation),
        options_(options),
        where_(where),
        board_(options.tensorboard),
        amp_(options.amp, where),
        parts_{trainer.model_, trainer.optimizer_, trainer.schedule_, options, amp_},
        state_(start()),
        metrics_(keeps() ? in_folder(options.out, "metrics.csv") : "", state_.epoch, own_columns()),
        report_(options.out, state_.epoch, options.classes),
        progress_(options.progress) {
    if (options.handle_interrupt) interrupt_.emplace();
  }

  FitResult run();

 private:
  bool keeps() const { return !options_.out.empty(); }

  // Prepares the folder and returns the state to begin with.
  FitState start() {
    if (keeps()) hold_folder(options_.out, &lock_, where_);
    FitState state;
    if (options_.resume) state = load_fit(parts_, train_, where_);
    board_.begin(state.step, where_);  // a folder that it cannot write costs no earlier run
    if (keeps() && !options_.resume) remove_run(options_.out, where_);
    return state;
  }

  std::vector<std::string> own_columns() const {
    std::vector<std::string> own;
    for (const auto& [name, metric] : options_.metrics) {
      if (validation_ != nullptr) own.push_back(name);
    }
    return own;
  }

  void validate(RunReport* shown) {
    nn::Module& model = options_.average != nullptr ? options_.average->module() : parts_.model;
    validation_->seek({0, 0});
    const auto scope = amp_.begin();
    result_.validation = trainer_.evaluate(model, *validation_, options_.metrics, shown);
    if (result_.validation.items == 0) throw_error("trainer", "the validation is empty", where_);
  }

  void show_means() {
    shown_.items_done = state_.items;
    shown_.loss = state_.mean_loss();
    shown_.accuracy = state_.accuracy();
    shown_.predicts = state_.predictions > 0;
  }

  void show_step(const StepBatches& step, data::LoaderPosition next) {
    shown_.batch = next.batch;
    shown_.items_here += step.items;
    shown_.items_left =
        train_.items() < 0 ? 0 : (options_.epochs - state_.epoch) * train_.items() - state_.items;
    show_means();
    progress_.update(shown_);
  }

  void say_interrupted() {
    progress_.line(fmt::format("interrupted at epoch {}, step {}", state_.epoch + 1, state_.step));
    if (!keeps()) return;
    progress_.line("saved " + in_folder(options_.out, "last.safetensors"));
    if (!options_.resume_command.empty()) progress_.line("to go on: " + options_.resume_command);
  }

  bool train_epoch();  // returns false if it was interrupted
  void train_step(const StepBatches& step, data::StepProfile& profile);
  void check_epoch() const;
  void end_epoch();
  EpochMetrics epoch_metrics();

  Trainer& trainer_;
  data::DataLoader& train_;
  data::DataLoader* validation_;
  const FitOptions& options_;
  const Where& where_;
  FitBoard board_;
  optim::Amp amp_;
  FitParts parts_;
  FileLock lock_;  // lock of the folder
  FitState state_;
  MetricsCsv metrics_;
  RunReport report_;
  Progress progress_;
  std::optional<InterruptScope> interrupt_;
  ProgressState shown_;  // of this epoch
  FitResult result_;
};

void Trainer::Fit::train_step(const StepBatches& step, data::StepProfile& profile) {
  report_.step_begins(parts_.model, parts_.optimizer, step.batches[0]);
  parts_.optimizer.zero_grad();
  report_.part_ends(&EpochTimes::zero_grad);
  const double lr = parts_.optimizer.lr();
  double step_loss = 0;
  bool measured = true;
  for (size_t i = 0; i < step.batches.size(); ++i) {
    const data::Batch& batch = step.batches[i];
    const int64_t n = items_in(batch);
    Tensor output, loss;
    double value = 0;
    {
      const auto time = profile.measure(Phase::kForward);
      const auto scope = amp_.begin();
      output = parts_.model(batch[0]);
      report_.part_ends(&EpochTimes::forward);
      loss = trainer_.loss_of(output, train_, step.at[i], batch);
      value = loss.item();
      report_.part_ends(&EpochTimes::loss);
    }
    // Before backward: the weights are still those of the step before.
    const bool finite = std::isfinite(value);
    if (!finite && (!amp_.scaler().is_enabled() || state_.lost + 1 >= FitOptions::kLostSteps)) {
      throw_error("trainer",
                  fmt::format("the loss is {} at epoch {}, step {} (lr {}){}; a smaller lr may "
                              "help. The batch was {}; anomaly mode (--anomaly) names the op that "
                              "made the first such number",
                              value, state_.epoch + 1, state_.step + 1, parts_.optimizer.lr(),
                              lost_text(state_), items_text(train_, step.at[i])),
                  where_);
    }
    measured = measured && finite;
    step_loss += value * (static_cast<double>(n) / static_cast<double>(step.items));
    {
      const auto time = profile.measure(Phase::kBackward);
      if (step.batches.size() == 1) {
        amp_.backward(loss, where_);
      } else {
        amp_.backward(loss * (static_cast<double>(n) / static_cast<double>(step.items)), where_);
      }
      report_.part_ends(&EpochTimes::backward);
    }
    state_.loss_sum += finite ? value * static_cast<double>(n) : 0;
    state_.unmeasured += finite ? 0 : n;
    if (const std::optional<Correct> c = correct_of(output, batch[1])) {
      state_.correct += c->correct;
      state_.predictions += c->predictions;
    }
    state_.items += n;
  }
  const auto time = profile.measure(Phase::kOptimizer);
  if (options_.clip_grad_value > 0 || options_.clip_grad_norm > 0) {
    amp_.unscale_(parts_.optimizer, where_);
    const std::vector<Tensor> parameters = parts_.model.parameters();
    if (options_.clip_grad_value > 0) nn::clip_grad_value_(parameters, options_.clip_grad_value);
    if (options_.clip_grad_norm > 0) nn::clip_grad_norm_(parameters, options_.clip_grad_norm);
  }
  if (amp_.step(parts_.optimizer, where_)) {
    if (parts_.schedule != nullptr && !parts_.schedule->wants_metric()) parts_.schedule->step();
    if (options_.average != nullptr) options_.average->update_parameters(parts_.model);
  } else {
    check_scale(amp_.scaler().get_scale(), state_, where_);
    ++state_.skipped;
  }
  state_.lost = measured ? 0 : state_.lost + 1;
  ++state_.step;
  board_.step_ends(state_.step, step_loss, lr, where_);
  report_.part_ends(&EpochTimes::optimizer);
  report_.step_ends();
}

bool Trainer::Fit::train_epoch() {
  progress_.start_epoch();
  shown_ = {};
  shown_.epoch = state_.epoch;
  shown_.epochs = options_.epochs;
  shown_.batches = train_.batches();
  shown_.batch = train_.position().batch;
  show_means();
  data::StepProfile profile;
  report_.epoch_begins();
  StepBatches step;
  bool ended = false;
  auto next = [&] {
    ProfileRange range("loader");
    const bool more = read_step(train_, options_.accumulation_steps, step, ended, profile);
    report_.loaded();
    return more;
  };
  while (!result_.interrupted && next()) {
    train_step(step, profile);
    // Not the loader's position: to find that a group is incomplete, it moved on to the next epoch.
    const data::LoaderPosition position{step.at.back().epoch, step.at.back().batch + 1};
    show_step(step, position);
    result_.interrupted = interrupt_ && InterruptScope::requested();
    bool due = options_.save_every_steps > 0 && state_.step % options_.save_every_steps == 0;
    if (keeps() && (result_.interrupted || due)) {
      board_.flush(where_);  // what a resumed run does not write again
      save_fit(state_, parts_, train_, position);
    }
    if (options_.on_step) options_.on_step(state_.step);
  }
  add_steps(result_.steps_report, profile.report());
  return !result_.interrupted;
}

void Trainer::Fit::check_epoch() const {
  if (state_.items == 0) {
    throw_error("trainer",
                fmt::format("epoch {} gave no batch: a stream of fewer items than batch_size {} "
                            "with drop_last?",
                            state_.epoch + 1, train_.options().batch_size),
                where_);
  }
  if (state_.items == state_.unmeasured) {
    throw_error("trainer",
                fmt::format("no loss of epoch {} was finite: float16 has lost all {} steps",
                            state_.epoch + 1, state_.lost),
                where_);
  }
}

// Returns the results of the epoch, including validation.
EpochMetrics Trainer::Fit::epoch_metrics() {
  EpochMetrics m;
  m.epoch = state_.epoch;
  m.step = state_.step;
  m.lr = parts_.optimizer.lr();
  m.seconds = progress_.seconds();
  m.items_per_second = result_.items_per_second = progress_.items_per_second(shown_);
  m.train_loss = result_.train_loss = state_.mean_loss();
  m.train_accuracy = result_.train_accuracy = state_.accuracy();
  m.train_predicts = state_.predictions > 0;
  if (validation_ == nullptr) return m;
  validate(&report_);
  m.validated = true;
  m.val_loss = result_.validation.loss;
  m.val_accuracy = result_.validation.accuracy;
  m.val_predicts = result_.validation.predictions > 0;
  m.own = result_.validation.metrics;
  return m;
}

void Trainer::Fit::end_epoch() {
  check_epoch();
  report_.training_ends(parts_.model);
  ++state_.epoch;
  const EpochMetrics m = epoch_metrics();
  if (parts_.schedule != nullptr && parts_.schedule->wants_metric()) {
    parts_.schedule->step(m.validated ? m.val_loss : m.train_loss);
  }
  state_.loss_sum = 0;
  state_.correct = state_.predictions = state_.items = state_.unmeasured = 0;
  if (note_epoch(state_, options_, m, monitored(options_, m)) && keeps()) save_best(parts_);
  // Written first: if the run is killed now, the resumed run drops the line and writes it again.
  metrics_.append(m);
  report_.epoch_ends(m);
  board_.epoch_ends(m, parts_.model, where_);
  if (keeps()) save_fit(state_, parts_, train_, train_.position());
  shown_.items_left = 0;
  progress_.end_epoch(shown_, m.items_per_second, tail_text(m, state_, amp_.scaler().get_scale()));
  if (options_.on_epoch) options_.on_epoch(m);
}

FitResult Trainer::Fit::run() {
  bool stopped = out_of_patience(state_, options_);
  if (state_.epoch >= options_.epochs || stopped) {
    progress_.line(fmt::format("nothing left to train: {} of {} epochs are done{}", state_.epoch,
                               options_.epochs, stopped ? ", stopped early" : ""));
    if (validation_ != nullptr) validate(nullptr);
  }
  parts_.optimizer.accumulate(1);
  if (!parts_.model.training()) parts_.model.train();
  while (state_.epoch < options_.epochs && !stopped) {
    if (!train_epoch()) {
      say_interrupted();
      break;
    }
    end_epoch();
    stopped = out_of_patience(state_, options_);
    if (stopped && state_.epoch < options_.epochs) {
      progress_.line(fmt::format("stopped early: no better in {} epochs, the best was epoch {}",
                                 options_.patience, state_.best_epoch));
    }
  }
  board_.close(where_);
  if (options_.verdict && result_.steps_report.steps > 0) {
    progress_.line(verdict_line(result_.steps_report));
  }
  result_.stopped_early = stopped && state_.epoch < options_.epochs;
  result_.epochs = state_.epoch;
  result_.steps = state_.step;
  result_.skipped_steps = state_.skipped;
  result_.best_accuracy = state_.best_accuracy;
  result_.best_value = state_.best_value;
  result_.best_epoch = state_.best_epoch;
  result_.weights_sha256 = state_sha256(parts_.model.state_dict());
  return std::move(result_);
}

FitResult Trainer::fit(data::DataLoader& train, data::DataLoader* validation,
                       const FitOptions& options, Where where) {
  check_fit(options, validation != nullptr, where);
  return Fit(*this, train, validation, options, where).run();
}

}  // namespace wick::loop
