// Where two runs part: the values of every node, kept while a model runs.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/host_tensor.h"
#include "runtime/core/trace.h"

namespace wick::tool {

// The outputs of each node of a CPU session, in the order of execution. A device keeps its
// values to itself: its nodes are not here.
class NodeTrace final : public TraceHook {
 public:
  struct Step {
    std::string op, node;
    std::vector<HostTensor> outputs;
  };
  void on_op(const TraceEvent& event) override;
  bool takes_blocks() const override { return true; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

// A copy of what a step read or made, in the tensor's own order wherever its channels lie.
HostTensor copy_of(const TensorView& v);

// The first step of `a` whose values differ by more than `tolerance` (of the largest magnitude in
// b; 0: by a bit) from those of b's step of the same name (a name that comes twice: in
// order; nodes without one: by op, in order); "" when there is none.
std::string first_difference(const NodeTrace& a, const NodeTrace& b, double tolerance);

// The first node of `graph`, interpreted on the reference kernels, that ONNX Runtime answers
// otherwise: the graph is written as ONNX with every node's outputs as outputs of the model.
std::string first_difference_from_onnxruntime(const ir::Graph& graph, Span<const HostTensor> inputs,
                                              double tolerance);

}  // namespace wick::tool
