#include "trainer/loop/fit_check.h"

#include <fmt/core.h>

#include <cmath>

#include "trainer/tensor/call.h"

namespace wick::loop {

void check_fit(const FitOptions& o, bool validated, const Where& where) {
  auto refuse = [&](const std::string& text) { throw_error("trainer", text, where); };
  auto natural = [&](const char* name, double value) {
    if (!std::isfinite(value) || value < 0) {
      refuse(fmt::format("{} must be finite and at least 0, got {}", name, value));
    }
  };
  if (o.epochs < 1) refuse("epochs must be at least 1");
  if (o.accumulation_steps < 1) {
    refuse(fmt::format("accumulation_steps must be at least 1, got {}", o.accumulation_steps));
  }
  natural("clip_grad_norm", o.clip_grad_norm);
  natural("clip_grad_value", o.clip_grad_value);
  natural("min_delta", o.min_delta);
  natural("patience", static_cast<double>(o.patience));
  natural("save_every_steps", static_cast<double>(o.save_every_steps));
  for (const auto& [name, metric] : o.metrics) {
    if (name.empty() || name.find_first_of(",\"\r\n") != std::string::npos || !metric) {
      refuse("the metric '" + name + "' needs a function, and a name without commas and quotes");
    }
  }
  if (o.monitor.empty()) {
    if (o.patience > 0 && !validated) {
      refuse("patience needs a validation, or a monitor that does without: train_loss");
    }
    return;
  }
  std::string known = "train_loss, train_accuracy";
  bool found = o.monitor == "train_loss" || o.monitor == "train_accuracy";
  if (validated) {
    known += ", val_loss, val_accuracy";
    found = found || o.monitor == "val_loss" || o.monitor == "val_accuracy" ||
            o.metrics.contains(o.monitor);
    for (const auto& [name, metric] : o.metrics) known += ", " + name;
  }
  if (!found) refuse("monitor '" + o.monitor + "': there are " + known);
}

}  // namespace wick::loop
