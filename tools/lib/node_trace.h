// Finds where two runs differ: keeps the values of every node while a model runs.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/host_tensor.h"
#include "runtime/core/trace.h"

namespace wick::tool {

// Keeps the outputs of each node that the CPU ran, in the order of execution. A device does not
// expose its values, so its nodes are not here.
class NodeTrace final : public TraceHook {
 public:
  // A node that ran: its op, its name, copies of its outputs, and its number in the program.
  struct Step {
    std::string op, node;
    std::vector<HostTensor> outputs;
    int64_t index = 0;  // its number in the program
  };
  void on_op(const TraceEvent& event) override;
  bool takes_blocks() const override { return true; }
  // Returns the nodes in order of execution.
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

// Returns a copy of what a step read or made, in the tensor's own order, however its channels are
// laid out.
HostTensor copy_of(const TensorView& v);

// Returns the first step of `a` whose values differ by more than `tolerance` (of the largest
// magnitude in b; 0: in any bit) from those of b's step of the same number, or, where the two
// programs number other steps, of the same op and name, in order; "" if there is none.
std::string first_difference(const NodeTrace& a, const NodeTrace& b, double tolerance);

}  // namespace wick::tool
