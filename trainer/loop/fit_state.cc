#include "trainer/loop/fit_state.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "trainer/checkpoint/json_text.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

using Json = nlohmann::json;

// Tensors of the optimizer and of the average beside the model's: '/' never occurs in a state_dict
// name.
constexpr const char* kOptimizerPrefix = "optimizer/";
constexpr const char* kAveragePrefix = "average/";
constexpr const char* kStateKey = "wick.training_state";

// `always`: fields that every file has; the others came later.
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

// What decides the weights and the best epoch: a resume with other values would be another run.
Json decisions(const FitParts& parts) {
  const FitOptions& o = parts.options;
  Json names = Json::array();
  for (const auto& [name, metric] : o.metrics) names.push_back(name);
  Json all = {{"accumulation_steps", o.accumulation_steps},
              {"clip_grad_norm", o.clip_grad_norm},
              {"clip_grad_value", o.clip_grad_value},
              {"metrics", std::move(names)},
              {"monitor", o.monitor},
              {"better", static_cast<int>(o.better)},
              {"average", o.average != nullptr}};
  // Only where it is used: files from before that had the choice are of float32.
  if (o.amp.autocast != DType::kNone) all["autocast"] = dtype_name(o.amp.autocast);
  return all;
}

Json loader_settings(const data::DataLoader& train) {
  const data::LoaderOptions& o = train.options();
  return {{"items", train.dataset_size()},
          {"batch_size", o.batch_size},
          {"shuffle", o.shuffle},
          {"seed", o.seed},
          {"drop_last", o.drop_last}};
}

// The decisions that are not the same, each before and now.
std::string differences(const Json& saved, const Json& now) {
  if (!saved.is_object()) return "its decisions are " + short_text(saved);
  std::string text;
  const auto add = [&](const std::string& name, const Json* before, const Json* after) {
    text += fmt::format("{}{} {}, now {}", text.empty() ? "" : "; ", name.substr(0, 40),
                        before == nullptr ? "unknown" : short_text(*before),
                        after == nullptr ? "unknown" : short_text(*after));
  };
  for (const auto& [name, value] : now.items()) {
    const bool had = saved.contains(name);
    if (!had || saved.at(name) != value) add(name, had ? &saved.at(name) : nullptr, &value);
  }
  for (const auto& [name, value] : saved.items()) {
    if (!now.contains(name) && text.size() < 200) add(name, &value, nullptr);
  }
  return text;
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
  // NaN is never better; the state holds finite numbers only.
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
  Json json;
  state_fields(state,
               [&](const char* name, const auto& value, bool) { json["run"][name] = value; });
  json["optimizer"] = optimizer.settings;
  json["schedule"] = parts.schedule != nullptr ? Json(parts.schedule->state_dict()) : Json(-1);
  if (parts.amp.scaler().is_enabled()) json["scaler"] = parts.amp.state_dict();
  json["generator"] = {default_generator().seed, default_generator().stream};
  json["loader"] = loader_settings(train);
  json["loader"]["epoch"] = next.epoch;
  json["loader"]["batch"] = next.batch;
  json["fit"] = decisions(parts);
  json["epochs"] = options.epochs;
  std::map<std::string, std::string> metadata = options.metadata;
  metadata["format"] = "pt";
  metadata[kStateKey] = json.dump();
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
    Json json = json_of(file.metadata[kStateKey], path);
    const std::string what = path + ": damaged training state";
    const Json& loader = json.at("loader");
    const Json settings = loader_settings(train), fit = decisions(parts);
    for (const auto& [name, value] : settings.items()) {
      if (loader.at(name) == value) continue;
      throw_error("trainer",
                  fmt::format("the saved run read its data differently: {} was {}, now {}", name,
                              short_text(loader.at(name)), short_text(value)),
                  where);
    }
    // Files from before those had values do without.
    if (json.contains("fit") && json["fit"] != fit) {
      throw_error("trainer", "the saved run trained differently: " + differences(json["fit"], fit),
                  where);
    }
    if ((json.at("schedule") == -1) != (parts.schedule == nullptr)) {
      throw_error("trainer", "the saved run and this one differ in having a schedule", where);
    }
    if (parts.amp.scaler().is_enabled() && !json.contains("scaler")) {
      throw_error("trainer", "the saved run has no loss scale: it did not train in float16", where);
    }
    const Json& run = json.at("run");
    state_fields(state, [&](const char* name, auto& value, bool always) {
      if (!always && !run.contains(name)) return;
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
        value = finite_number(run.at(name), name, what);
      } else {
        value = whole_number(run, name, 0, kMostCount, what);
      }
    });
    if (!run.contains("best_value")) {
      state.predictions = state.items;
      state.best_value = state.stop_value = state.best_accuracy;
      state.stop_epoch = state.best_epoch;
    }
    optimizer.settings = json.at("optimizer").get<std::string>();
    parts.model.load_state_dict(file.tensors, where);
    parts.optimizer.load_state_dict(optimizer, where);
    if (options.average != nullptr) options.average->load_state_dict(average, where);
    if (parts.amp.scaler().is_enabled()) {
      parts.amp.load_state_dict(json.at("scaler").get<std::string>(), where);
    }
    if (parts.schedule != nullptr) {
      // Files written before schedules kept a state have the number of the step.
      const Json& schedule = json["schedule"];
      if (schedule.is_string()) {
        parts.schedule->load_state_dict(schedule.get<std::string>(), where);
      } else {
        parts.schedule->set_last_step(whole_number(json, "schedule", 0, kMostCount, what));
      }
    }
    default_generator() = {json.at("generator").at(0).get<uint64_t>(),
                           json.at("generator").at(1).get<uint64_t>()};
    train.seek({whole_number(loader, "epoch", 0, kMostCount, what),
                whole_number(loader, "batch", 0, kMostCount, what)},
               where);
  } catch (const Json::exception& e) {
    throw_error("trainer", path + ": damaged training state: " + e.what(), where);
  }
  return state;
}

}  // namespace wick::loop
