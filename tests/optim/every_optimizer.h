// Every optimizer, by name: for tests that say something about all of them.
#pragma once

#include <functional>
#include <memory>

#include "tests/optim/goldens.h"

namespace wick::test {

using Settings = std::map<std::string, double>;

// Fields that are named are set, in options whose other fields keep their defaults.
template <class O>
O options_of(const Settings& settings) {
  O options;
  size_t used = 0;
  options.fields([&](const char* name, auto& value) {
    auto it = settings.find(name);
    if (it == settings.end()) return;
    value = static_cast<std::decay_t<decltype(value)>>(it->second);
    ++used;
  });
  if (used != settings.size()) throw std::runtime_error("options without a field of that name");
  return options;
}

using OptimizerPtr = std::unique_ptr<optim::Optimizer>;
using Params = std::vector<std::vector<Tensor>>;  // by group

template <class Opt, class O>
OptimizerPtr make(const Params& params, const std::vector<Settings>& settings) {
  std::vector<optim::Group<O>> groups;
  for (size_t i = 0; i < params.size(); ++i) {
    groups.push_back({params[i], options_of<O>(settings[std::min(i, settings.size() - 1)])});
  }
  return std::make_unique<Opt>(groups);
}

inline OptimizerPtr make_optimizer(const std::string& name, const Params& params,
                                   const std::vector<Settings>& settings) {
  using namespace optim;  // NOLINT: a table
  if (name == "sgd") return make<SGD, SgdOptions>(params, settings);
  if (name == "adam") return make<Adam, AdamOptions>(params, settings);
  if (name == "adamw") return make<AdamW, AdamWOptions>(params, settings);
  if (name == "nadam") return make<NAdam, NAdamOptions>(params, settings);
  if (name == "radam") return make<RAdam, RAdamOptions>(params, settings);
  if (name == "adamax") return make<Adamax, AdamaxOptions>(params, settings);
  if (name == "adagrad") return make<Adagrad, AdagradOptions>(params, settings);
  if (name == "adadelta") return make<Adadelta, AdadeltaOptions>(params, settings);
  if (name == "rmsprop") return make<RMSprop, RMSpropOptions>(params, settings);
  if (name == "rprop") return make<Rprop, RpropOptions>(params, settings);
  if (name == "asgd") return make<ASGD, AsgdOptions>(params, settings);
  if (name == "lion") return make<Lion, LionOptions>(params, settings);
  if (name == "sparse_adam") return make<SparseAdam, SparseAdamOptions>(params, settings);
  if (name == "muon") return make<Muon, MuonOptions>(params, settings);
  throw std::runtime_error("no optimizer " + name);
}

struct OptimizerCase {
  std::string name;
  Settings settings;
  int64_t times;  // bytes of state per byte of the parameters
};

// Every optimizer with all of its state. LBFGS, whose step differs, has its own tests.
inline const std::vector<OptimizerCase>& every_optimizer() {
  static const std::vector<OptimizerCase> all = {
      {"sgd", {{"lr", 0.05}}, 0},
      {"sgd", {{"lr", 0.05}, {"momentum", 0.9}, {"nesterov", 1}, {"weight_decay", 0.01}}, 1},
      {"adam", {{"lr", 0.01}}, 2},
      {"adam", {{"lr", 0.01}, {"amsgrad", 1}, {"weight_decay", 0.01}}, 3},
      {"adamw", {{"lr", 0.01}}, 2},
      {"nadam", {}, 2},
      {"radam", {{"beta2", 0.9}}, 2},
      {"adamax", {}, 2},
      {"adagrad", {{"lr_decay", 0.01}, {"initial_accumulator_value", 0.1}}, 1},
      {"adadelta", {}, 2},
      {"rmsprop", {{"centered", 1}, {"momentum", 0.9}, {"alpha", 0.9}}, 3},
      {"rmsprop", {}, 1},
      {"rprop", {}, 2},
      {"asgd", {{"t0", 2}, {"lambd", 0.01}, {"weight_decay", 0.01}}, 1},
      {"lion", {{"lr", 0.01}, {"weight_decay", 0.1}}, 1},
      {"muon", {{"weight_decay", 0.01}}, 1},
  };
  return all;
}

}  // namespace wick::test
