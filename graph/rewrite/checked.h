// Checked passes: the graph before a pass and the one after it are run on samples and compared.
#pragma once

#include <optional>

#include "graph/interpreter/beside.h"
#include "graph/rewrite/pass.h"

namespace wick::ir {

// Returns what a pass's class promises of values.
Promise promise_of(Numerics numerics);

// PassChecker keeps the values of the graph as the last pass left it, so that each pass costs one
// run per sample.
class PassChecker {
 public:
  // Each sample has the graph's inputs, in order. `work` is how many steps (op_work) all runs
  // together may take, `bytes` what the values of a graph may; beyond them passes go unchecked, and
  // unchecked() says so.
  PassChecker(const Graph& graph, std::vector<std::vector<HostTensor>> samples, double work,
              uint64_t bytes = UINT64_MAX);
  // Throws Error if a sample does not run before the pass; if it then does not run after the pass,
  // that is a fault.
  std::optional<PassFault> check(const Pass& pass, const Graph& after);
  // Returns "" while every pass was checked.
  const std::string& unchecked() const { return unchecked_; }

 private:
  InterpreterOptions options();

  std::vector<std::vector<HostTensor>> samples_;
  std::vector<GivenValues> values_;
  double work_left_ = 0;
  uint64_t bytes_ = UINT64_MAX;
  std::string unchecked_;
};

}  // namespace wick::ir
