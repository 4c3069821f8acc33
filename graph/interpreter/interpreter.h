// Runs a graph node by node on the kernel sets given, allocating as it goes: the reference every
// other path is compared with, and the evaluator of constant folding. No planning, no packing, one
// thread.
#pragma once

#include <functional>
#include <map>

#include "graph/ir/graph.h"
#include "runtime/kernels/kernel.h"

namespace wick::ir {

struct InterpreterOptions {
  // In this order; the default is the reference set alone.
  std::vector<const KernelSet*> kernels = {&kReferenceKernels};
  // Of all values alive at one time, constants not counted. A file may ask for any size.
  uint64_t max_bytes = uint64_t{1} << 32;
  // Nodes run, trips and what they run included: a loop of a file may never end.
  uint64_t max_nodes = uint64_t{1} << 32;
  // What may still be done (op_work): every node takes its part before it runs, and one that asks
  // for more than is left does not run. Null: as much as it takes.
  double* work_left = nullptr;
  // Sees every node's outputs as soon as they are made, those of regions apart.
  std::function<void(NodeId, Span<const HostTensor>)> after_node;
};

// Inputs in the graph's order. Throws Error: a dtype or shape that does not fit, no kernel, a
// kernel's refusal.
std::vector<HostTensor> run(const Graph& graph, Span<const HostTensor> inputs,
                            const InterpreterOptions& options = {});

// One node of a graph, of any kind, on concrete inputs.
std::vector<HostTensor> run_any(const Node& node, Span<const HostTensor> inputs,
                                const InterpreterOptions& options = {});

// One node without regions on concrete inputs (absent ones have dtype kNone).
std::vector<HostTensor> run_node(OpId op, const void* attrs, Span<const HostTensor> inputs,
                                 size_t outputs, const InterpreterOptions& options = {});

}  // namespace wick::ir
