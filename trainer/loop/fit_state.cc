#include "trainer/loop/fit_state.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

#include "trainer/checkpoint/json.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

using Json = nlohmann::json;

// Prefixes of the optimizer's and the average's tensors: '/' never occurs in a state_dict name.
constexpr const char* kOptimizerPrefix = "optimizer/";
constexpr const char* kAveragePrefix = "average/";
constexpr const char* kStateKey = "wick.training_state";

constexpr int64_t kMaxEpochs = 1'000'000'000;

// Calls f for each field. `always`: every file has it; the others were added later.
template <class State, class F>
void state_fields(State& s, F&& f) {
  f("epoch", s.epoch, true), f("step", s.step, true), f("loss_sum", s.loss_sum, true);
  f("correct", s.correct, true), f("items", s.items, true);
  f("best_accuracy", s.best_accuracy, true), f("best_epoch", s.best_epoch, true);
  f("predictions", s.predictions, false), f("best_value", s.best_value, false);
  f("stop_value", s.stop_value, false), f("stop_epoch", s.stop_epoch, false);
  f("skipped", s.skipped, false), f("lost", s.lost, false);
  f("unmeasured", s.unmeasured, false);
}

// Checks the range of those fields: counts are not negative, and the epoch is at most the number of
// epochs of the run.
FitState read_state(const JsonPlace& run, int64_t epochs) {
  FitState state;
  const auto read = [&](const char* name, auto& value, bool always) {
    if (!always && !run.has(name)) return;
    const JsonPlace place = run.at(name);
    if constexpr (std::is_same_v<decltype(value), int64_t&>) {
      value = place.integer(0, kMaxJsonCount);
    } else {
      constexpr double kMost = std::numeric_limits<double>::max();
      value = place.number(-kMost, kMost);
    }
  };
  state_fields(state, read);
  (void)run.at("epoch").integer(0, epochs);
  for (const char* name : {"best_epoch", "stop_epoch"}) {
    if (run.has(name)) (void)run.at(name).integer(0, state.epoch);
  }
  if (!run.has("best_value")) {
    state.predictions = state.items;
    state.best_value = state.stop_value = state.best_accuracy;
    state.stop_epoch = state.best_epoch;
  }
  return state;
}

// Returns "batch_size is 32, now 16" for the first key of this run whose saved value differs.
std::string first_difference(const nlohmann::json& saved, const nlohmann::json& now) {
  for (const auto& [name, value] : now.items()) {
    if (!saved.is_object() || !saved.contains(name)) return name + " is missing";
    if (saved[name] != value) return name + " is " + shown(saved[name]) + ", now " + shown(value);
  }
  return "";
}

// Writes the options that decide the weights and the best epoch: a resume must have the same ones.
void write_decisions(JsonWriter& json, const FitParts& parts) {
  const FitOptions& o = parts.options;
  std::vector<std::string> names;
  for (const auto& [name, metric] : o.metrics) names.push_back(name);
  json.field("accumulation_steps", o.accumulation_steps);
  json.field("clip_grad_norm", o.clip_grad_norm).field("clip_grad_value", o.clip_grad_value);
  json.list("metrics", names).field("monitor", o.monitor);
  json.field("better", static_cast<int>(o.better)).field("average", o.average != nullptr);
  // Written only if used: older files without this choice are of float32.
  if (o.amp.autocast != DType::kNone) json.field("autocast", dtype_name(o.amp.autocast));
}

void write_loader_settings(JsonWriter& json, const data::DataLoader& train) {
  const data::LoaderOptions& o = train.options();
  json.field("items", train.dataset_size()).field("batch_size", o.batch_size);
  json.field("shuffle", o.shuffle).field("seed", o.seed).field("drop_last", o.drop_last);
}

// Returns as a tree what either of them writes, for a comparison with a file.
template <class Write, class From>
Json as_json(Write&& write, const From& from) {
  JsonWriter json;
  json.open('{');
  write(json, from);
  return read_json(json.close().done(), "this run");
}

nn::NamedTensors take(nn::NamedTensors& all, const std::string& prefix) {
  nn::NamedTensors taken;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(prefix)) taken.emplace_back(name.substr(prefix.size()), tensor);
  }
  std::erase_if(all, [&](const auto& t) { return t.first.starts_with(prefix); });
  return taken;
}

}  // namespace

std::string in_folder(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

Monitored monitored(const FitOptions& options, const EpochMetrics& m) {
  Monitored result;
  result.name = options.monitor;
  if (result.name.empty() && m.validated) {
    result.name = m.val_predicts ? "val_accuracy" : "val_loss";
  }
  if (result.name.empty()) return result;
  if (result.name == "train_loss") {
    result.value = m.train_loss;
  } else if (result.name == "train_accuracy" && m.train_predicts) {
    result.value = m.train_accuracy;
  } else if (result.name == "val_loss" && m.validated) {
    result.value = m.val_loss;
  } else if (result.name == "val_accuracy" && m.validated && m.val_predicts) {
    result.value = m.val_accuracy;
  } else if (auto own = m.own.find(result.name); own != m.own.end()) {
    result.value = own->second;
  } else {
    throw Error(fmt::format("[trainer] nothing to monitor: epoch {} has no {}{}", m.epoch,
                            result.name,
                            result.name.ends_with("accuracy") && (m.validated || !m.val_predicts)
                                ? " (outputs and targets are no classes)"
                                : ""));
  }
  result.more = options.better == Better::kMore ||
                (options.better == Better::kAuto && result.name.ends_with("accuracy"));
  return result;
}

bool note_epoch(FitState& state, const FitOptions& options, const EpochMetrics& m,
                const Monitored& watched) {
  if (watched.name.empty()) return false;
  const double value = watched.value;
  auto gain = [&](double before) { return watched.more ? value - before : before - value; };
  // NaN is never better; the state has only finite numbers.
  const bool best = std::isfinite(value) && (state.best_epoch == 0 || gain(state.best_value) > 0);
  if (best) {
    state.best_value = value;
    state.best_epoch = m.epoch;
    state.best_accuracy = m.validated ? m.val_accuracy : 0;
  }
  if (std::isfinite(value) &&
      (state.stop_epoch == 0 || gain(state.stop_value) > options.min_delta)) {
    state.stop_value = value;
    state.stop_epoch = m.epoch;
  }
  return best;
}

void save_fit(const FitState& state, const FitParts& parts, const data::DataLoader& train,
              data::LoaderPosition next) {
  const FitOptions& options = parts.options;
  nn::NamedTensors tensors = parts.model.state_dict();
  optim::OptimizerState optimizer = parts.optimizer.state_dict();
  for (const auto& [name, tensor] : optimizer.tensors) {
    tensors.emplace_back(kOptimizerPrefix + name, tensor);
  }
  if (options.average != nullptr) {
    for (const auto& [name, tensor] : options.average->state_dict()) {
      tensors.emplace_back(kAveragePrefix + name, tensor);
    }
  }
  JsonWriter json;
  json.open('{').key("run").open('{');
  state_fields(state, [&](const char* name, const auto& value, bool) { json.field(name, value); });
  json.close().field("optimizer", optimizer.settings).key("schedule");
  if (parts.schedule != nullptr) {
    json.value(parts.schedule->state_dict());
  } else {
    json.value(-1);
  }
  if (parts.amp.scaler().is_enabled()) json.field("scaler", parts.amp.state_dict());
  const std::array<uint64_t, 2> generator = {default_generator().seed, default_generator().stream};
  json.list("generator", generator).key("loader").open('{');
  write_loader_settings(json, train);
  json.field("epoch", next.epoch).field("batch", next.batch).close();
  json.key("fit").open('{');
  write_decisions(json, parts);
  json.close().field("epochs", options.epochs).close();
  std::map<std::string, std::string> metadata = options.metadata;
  metadata["format"] = "pt";
  metadata[kStateKey] = json.done();
  save_safetensors(in_folder(options.out, "last.safetensors"), tensors, metadata);
}

void save_best(const FitParts& parts) {
  std::map<std::string, std::string> metadata = parts.options.metadata;
  metadata["format"] = "pt";
  const optim::AveragedModel* average = parts.options.average;
  save_safetensors(in_folder(parts.options.out, "best.safetensors"),
                   (average != nullptr ? average->module() : parts.model).state_dict(), metadata);
}

FitState load_fit(const FitParts& parts, data::DataLoader& train, const Where& where) {
  const FitOptions& options = parts.options;
  const std::string path = in_folder(options.out, "last.safetensors");
  if (!std::filesystem::exists(path)) {
    throw_error("trainer", "nothing to resume: no " + path, where, Code::kNotFound);
  }
  Safetensors file = load_safetensors(path);
  if (!file.metadata.contains(kStateKey)) {
    throw_error("trainer", path + " holds weights only, no training state", where);
  }
  FitState state;
  optim::OptimizerState optimizer;
  optimizer.tensors = take(file.tensors, kOptimizerPrefix);
  const nn::NamedTensors average = take(file.tensors, kAveragePrefix);
  try {
    const Json json = read_json(file.metadata[kStateKey], path);
    const JsonPlace saved(json, path), loader = saved.at("loader");
    std::string differs = first_difference(loader.value(), as_json(write_loader_settings, train));
    if (!differs.empty()) {
      throw_error("trainer", "the saved run read its data differently: " + differs, where);
    }
    // Older files do not have these values.
    if (saved.has("fit")) {
      const Json& fit = saved.at("fit").value();
      const Json now = as_json(write_decisions, parts);
      differs = first_difference(fit, now);
      if (differs.empty() && fit.size() != now.size()) {
        differs = fmt::format("{} settings, now {}", fit.size(), now.size());
      }
      if (!differs.empty()) {
        throw_error("trainer", "the saved run trained differently: " + differs, where);
      }
    }
    const JsonPlace schedule = saved.at("schedule");
    if ((schedule.value() == -1) != (parts.schedule == nullptr)) {
      throw_error("trainer", "the saved run and this one differ in having a schedule", where);
    }
    if (parts.amp.scaler().is_enabled() && !saved.has("scaler")) {
      throw_error("trainer", "the saved run has no loss scale: it did not train in float16", where);
    }
    // The first files did not store the number of epochs.
    const int64_t epochs =
        saved.has("epochs") ? saved.at("epochs").integer(0, kMaxEpochs) : kMaxEpochs;
    state = read_state(saved.at("run"), epochs);
    optimizer.settings = saved.at("optimizer").text();
    const JsonPlace generator = saved.at("generator");
    const Generator drawn = {generator.at(size_t{0}).count(), generator.at(1).count()};
    const data::LoaderPosition next = {loader.at("epoch").integer(0, kMaxEpochs),
                                       loader.at("batch").integer(0, kMaxJsonCount)};
    const auto of_file = [&](auto&& load) {
      try {
        load();
      } catch (const JsonError&) {
        throw;
      } catch (const Error& e) {
        throw Error("[trainer] " + path + ": " + e.what(), e.code());
      }
    };
    of_file([&] {
      parts.model.load_state_dict(file.tensors, where);
      parts.optimizer.load_state_dict(optimizer, where);
      if (options.average != nullptr) options.average->load_state_dict(average, where);
      if (parts.amp.scaler().is_enabled()) {
        parts.amp.load_state_dict(saved.at("scaler").text(), where);
      }
    });
    if (parts.schedule != nullptr) {
      // Files written before schedules kept a state have the number of the step.
      if (schedule.value().is_string()) {
        of_file([&] { parts.schedule->load_state_dict(schedule.text(), where); });
      } else {
        parts.schedule->set_last_step(schedule.integer(0, kMaxJsonCount));
      }
    }
    default_generator() = drawn;
    train.seek(next, where);
  } catch (const JsonError& e) {
    throw_error("trainer", std::string("damaged training state: ") + e.what(), where);
  }
  return state;
}

}  // namespace wick::loop
