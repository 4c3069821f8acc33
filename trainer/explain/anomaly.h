// Anomaly mode: finds the first op, forward or backward, that makes NaN or inf from finite numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/tensor/tensor.h"
#include "trainer/tensor/watcher.h"

namespace wick {

// While it lives, every op of this thread is checked. The first whose floating-point result has a
// NaN or an inf although its inputs have none throws Error with the op, the module, the line of the
// forward call, the ranges of its inputs, and advice; in backward it names the op whose backward
// ran. -inf that was passed in on purpose (a mask) is already in an input, and is accepted. It
// reads every value, so use it for a step, not for a whole run.
class AnomalyMode final : Watcher {
 public:
  explicit AnomalyMode(bool check_inf = true) : check_inf_(check_inf) {}

 private:
  bool reads_numbers() const override { return true; }
  void on_call(const TracedCall& call) override;
  void on_node_begin(const Node& node, Span<const Tensor> grads) override;
  void on_node_end(const Node& node, Span<const Tensor> grads, Span<const Tensor> results) override;

  struct Formula {
    bool fed_bad = false;  // its incoming gradients were already not finite
    std::string culprit;   // the op inside it that made the first bad value
  };
  // Returns the record of the node whose backward is running; null if there is none.
  Formula* formula();

  bool check_inf_;
  std::vector<Formula> formulas_;  // nested formulas, innermost last
  uint64_t bad_run_ = 0;           // the backward that received a gradient that was not finite
};

// Runs `step` once in anomaly mode. Returns "" if all numbers stayed finite, otherwise the report.
std::string detect_anomaly(const std::function<void()>& step);

}  // namespace wick
