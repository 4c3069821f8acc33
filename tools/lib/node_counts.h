// Compares a quantized model with ONNX Runtime node by node: each node gets the inputs that ONNX
// Runtime computed for it, so that a difference is the node's own and none is carried on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"

namespace wick::tool {

// Results of one kind, over all its nodes.
struct ClassCount {
  int nodes = 0;
  int64_t equal = 0, one_step = 0, more = 0;  // integers
  int allowed = 0;                            // steps that docs/numerics.md allows
  double worst = 0;          // for floats: the largest difference over the largest magnitude
  std::string first_beyond;  // the first node beyond what is allowed
};

// The nodes of a quantized model, counted by how far they are from ONNX Runtime.
struct NodeCounts {
  std::map<std::string, ClassCount> integers, floats;  // by operator
  std::map<std::string, int> ran;                      // what ONNX Runtime ran, by operator
  int uncompared = 0;  // results without a value of ONNX Runtime that no other node reads

  bool within(double tolerance) const;  // `tolerance` is for floats
  // Returns a table.
  std::string text(double tolerance) const;
};

// Takes `inputs` in the graph's order. Q/DQ patterns run as the integer ops that a program gets.
// `optimize` false: ONNX Runtime runs the file's operators one by one; true: it fuses them as well.
// Throws Error without ONNX Runtime.
NodeCounts count_by_node(const std::string& path, Span<const HostTensor> inputs, bool optimize);

}  // namespace wick::tool
