// Runs a graph node by node on the given kernel sets, allocating as it goes. It is the reference
// that every other path is compared with, and the evaluator of constant folding. It does no
// planning and no packing, and uses one thread.
#pragma once

#include <functional>
#include <map>

#include "graph/ir/graph.h"
#include "runtime/kernels/kernel.h"

namespace wick::ir {

// Options of ir::run().
struct InterpreterOptions {
  // They are tried in this order; the default is the reference set alone.
  std::vector<const KernelSet*> kernels = {&kReferenceKernels};
  // The most bytes of all values alive at one time, constants not counted. A file may ask for any
  // size.
  uint64_t max_bytes = uint64_t{1} << 32;
  // The most nodes run, trips and what they run included: a loop in a file may never end.
  uint64_t max_nodes = uint64_t{1} << 32;
  // The work that may still be done (op_work): every node takes its part before it runs, and one
  // that asks for more than is left does not run. Null: no limit.
  double* work_left = nullptr;
  // A node that is run alone takes this one; run() and run_any() take the graph's.
  Edition edition = kNewestEdition;
  // Called with every node's outputs as soon as they are made, except those in regions.
  std::function<void(NodeId, Span<const HostTensor>)> after_node = {};
};

// Takes inputs in the graph's order. Throws Error for a dtype or shape that does not fit, if there
// is no kernel, or if a kernel refuses.
std::vector<HostTensor> run(const Graph& graph, Span<const HostTensor> inputs,
                            const InterpreterOptions& options = {});

// Sees each node that runs, those in regions too, and may replace what was computed by tensors of
// the same types and shapes.
class InterpreterWatch {
 public:
  // A branch of an If, or a trip of a Loop, begins on these inputs.
  virtual void region(const Graph& region, std::vector<HostTensor>& inputs) = 0;
  virtual void node(const Graph& graph, NodeId id, Span<const HostTensor> inputs,
                    std::vector<HostTensor>& outputs) = 0;

 protected:
  ~InterpreterWatch() = default;
};

// Runs the graph as run() does, and shows each node to `watch`.
std::vector<HostTensor> run_watched(const Graph& graph, Span<const HostTensor> inputs,
                                    InterpreterWatch& watch, const InterpreterOptions& options);

// Runs one node of a graph, of any kind, on concrete inputs.
std::vector<HostTensor> run_any(const Graph& graph, const Node& node, Span<const HostTensor> inputs,
                                const InterpreterOptions& options = {});

// Runs one node without regions on concrete inputs (absent ones have dtype kNone).
std::vector<HostTensor> run_node(OpId op, const void* attrs, Span<const HostTensor> inputs,
                                 size_t outputs, const InterpreterOptions& options = {});

}  // namespace wick::ir
