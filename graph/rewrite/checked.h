// Checked passes: the graph before a pass and the one behind it, run on samples.
#pragma once

#include <optional>

#include "graph/interpreter/beside.h"
#include "graph/rewrite/pass.h"

namespace wick::ir {

// A pass's class as what it promises of values.
Promise promise_of(Numerics numerics);

// Keeps the values of the graph as the last pass left it, so that each pass costs one run a sample.
class PassChecker {
 public:
  // Each sample: the graph's inputs, in order. `work` is how many steps (op_work) all runs together
  // may take; beyond it passes go unchecked, and unchecked() says so.
  PassChecker(const Graph& graph, std::vector<std::vector<HostTensor>> samples, double work);
  // Throws Error where a sample does not run before the pass; what then does not run behind it is a
  // fault.
  std::optional<PassFault> check(const Pass& pass, const Graph& after);
  // "" while every pass was looked at.
  const std::string& unchecked() const { return unchecked_; }

 private:
  std::vector<std::vector<HostTensor>> samples_;
  std::vector<GivenValues> values_;
  double work_left_ = 0;
  std::string unchecked_;
};

}  // namespace wick::ir
