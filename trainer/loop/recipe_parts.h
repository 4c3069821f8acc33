// Optimizers and schedules by name, as `wick train` accepts them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/optim/lr/lr_scheduler.h"
#include "trainer/optim/optimizer.h"

namespace wick::loop {

// "adagrad", "adam", "adamw", "lion", "nadam", "radam", "rmsprop", "sgd" (Nesterov momentum 0.9).
const std::vector<std::string>& optimizer_names();
// PyTorch's defaults, unless a recipe has its own.
double default_lr(const std::string& optimizer);
double default_weight_decay(const std::string& optimizer);
std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name,
                                                 const std::vector<Tensor>& parameters, double lr,
                                                 double weight_decay, const Where& where);

// "constant"; "cosine" (to 0, after the recipe's warmup); "onecycle"; "plateau" (a tenth after more
// than two epochs without a better validation loss); "step" (a tenth after each third of training).
const std::vector<std::string>& schedule_names();
// steps: of the whole training; warmup: the first of those. Returns null for "constant".
std::unique_ptr<optim::LrScheduler> make_schedule(const std::string& name,
                                                  optim::Optimizer& optimizer, int64_t steps,
                                                  int64_t warmup, const Where& where);

// The dtypes that products are computed in: "none" (float32), "bf16", "f16".
const std::vector<std::string>& autocast_names();
DType autocast_named(const std::string& name);

}  // namespace wick::loop
