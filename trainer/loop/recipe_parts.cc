#include "trainer/loop/recipe_parts.h"

#include <algorithm>

#include "trainer/optim/adagrad.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/lr/lr_cycles.h"
#include "trainer/optim/lr/lr_plateau.h"
#include "trainer/optim/nadam.h"
#include "trainer/optim/radam.h"
#include "trainer/optim/rmsprop.h"
#include "trainer/optim/sgd.h"

namespace wick::loop {
namespace {

using Make = std::unique_ptr<optim::Optimizer> (*)(const std::vector<Tensor>&, double lr,
                                                   double weight_decay, const Where&);

template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> make(const std::vector<Tensor>& parameters, double lr,
                                       double weight_decay, const Where& where) {
  Options options;
  options.lr = lr;
  options.weight_decay = weight_decay;
  if constexpr (std::is_same_v<Options, optim::SgdOptions>) {
    options.momentum = 0.9;
    options.nesterov = true;
  }
  return std::make_unique<Optimizer>(parameters, options, where);
}

struct Known {
  const char* name;
  double lr, weight_decay;
  Make make;
};
constexpr Known kOptimizers[] = {
    {"adagrad", 1e-2, 0, make<optim::Adagrad, optim::AdagradOptions>},
    {"adam", 1e-3, 0, make<optim::Adam, optim::AdamOptions>},
    {"adamw", 1e-3, 1e-2, make<optim::AdamW, optim::AdamWOptions>},
    {"lion", 1e-4, 0, make<optim::Lion, optim::LionOptions>},
    {"nadam", 2e-3, 0, make<optim::NAdam, optim::NAdamOptions>},
    {"radam", 1e-3, 0, make<optim::RAdam, optim::RAdamOptions>},
    {"rmsprop", 1e-2, 0, make<optim::RMSprop, optim::RMSpropOptions>},
    {"sgd", 0.05, 0, make<optim::SGD, optim::SgdOptions>},
};

const Known& known(const std::string& name) {
  std::string all;
  for (const Known& k : kOptimizers) {
    if (name == k.name) return k;
    all += std::string(all.empty() ? "" : ", ") + k.name;
  }
  throw Error("[train] no optimizer '" + name + "'; there are " + all, Code::kNotFound);
}

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Known& k : kOptimizers) names.emplace_back(k.name);
    return names;
  }();
  return kNames;
}

double default_lr(const std::string& optimizer) { return known(optimizer).lr; }
double default_weight_decay(const std::string& optimizer) { return known(optimizer).weight_decay; }

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name,
                                                 const std::vector<Tensor>& parameters, double lr,
                                                 double weight_decay, const Where& where) {
  return known(name).make(parameters, lr, weight_decay, where);
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> kNames = {"constant", "cosine", "onecycle", "plateau",
                                                  "step"};
  return kNames;
}

std::unique_ptr<optim::LrScheduler> make_schedule(const std::string& name,
                                                  optim::Optimizer& optimizer, int64_t steps,
                                                  int64_t warmup, const Where& where) {
  if (name == "constant") return nullptr;
  if (name == "cosine") {
    return std::make_unique<optim::CosineAnnealingLR>(optimizer, steps, 0,
                                                      std::min(warmup, steps - 1), where);
  }
  if (name == "onecycle") {
    optim::OneCycleOptions options;
    options.total_steps = steps;
    options.cycle_momentum = optimizer.has_momentum();
    return std::make_unique<optim::OneCycleLR>(optimizer, optimizer.lr(), options, where);
  }
  if (name == "plateau") {
    optim::PlateauOptions options;
    options.patience = 2;
    return std::make_unique<optim::ReduceLROnPlateau>(optimizer, options, where);
  }
  if (name == "step") {
    return std::make_unique<optim::StepLR>(optimizer, std::max<int64_t>((steps + 2) / 3, 1), 0.1,
                                           where);
  }
  throw Error(
      "[train] no schedule '" + name + "'; there are constant, cosine, onecycle, plateau, step",
      Code::kNotFound);
}

const std::vector<std::string>& autocast_names() {
  static const std::vector<std::string> kNames = {"none", "bf16", "f16"};
  return kNames;
}

DType autocast_named(const std::string& name) {
  if (name == "none") return DType::kNone;
  if (name == "bf16") return DType::kBF16;
  if (name == "f16") return DType::kF16;
  throw Error("[train] no autocast '" + name + "'; there are none, bf16, f16", Code::kNotFound);
}

}  // namespace wick::loop
