// Anomaly mode: the first op, forward or backward, that makes NaN or inf out of finite numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/tensor/tensor.h"
#include "trainer/tensor/watcher.h"

namespace wick {

// While it lives, every op of this thread is checked, and the first whose floating-point result
// holds a NaN or an inf, though its inputs hold none, throws Error: the op, the module, the forward
// line, the ranges of its inputs, and what usually helps. In backward: whose backward it was.
// -inf that was put in on purpose (a mask) is an input already, and passes. Reads every value:
// for one step, not for a run.
class AnomalyMode final : Watcher {
 public:
  explicit AnomalyMode(bool check_inf = true) : check_inf_(check_inf) {}

 private:
  void on_call(const TracedCall& call) override;
  void on_node_begin(const Node& node, Span<const Tensor> grads) override;
  void on_node_end(const Node& node, Span<const Tensor> grads, Span<const Tensor> results) override;

  struct Formula {
    bool fed_bad = false;  // its gradients were not finite to begin with
    std::string culprit;   // the op inside it that made the first bad value
  };
  // Of the node whose backward runs; null where none does.
  Formula* formula();

  bool check_inf_;
  std::vector<Formula> formulas_;  // one in the other
  uint64_t bad_run_ = 0;           // the backward that had a gradient that was not finite
};

// Runs `step` once in anomaly mode. "": every number stayed finite; else the report.
std::string detect_anomaly(const std::function<void()>& step);

}  // namespace wick
