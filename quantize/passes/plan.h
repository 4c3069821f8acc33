// Plan: which nodes of a float graph compute with integers, which values become integers, and which
// of those share one scale. Calibration, the insertion of Q/DQ, and training's fake quantization
// follow it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "quantize/recipe.h"

namespace wick::quantize {

enum class Part : uint8_t {
  kFloat,     // stays as it is
  kLayer,     // Conv, Linear, MatMul
  kAbsorbed,  // Relu or Clip behind another: only what comes out behind it becomes integers
  kJoin,      // Add, Mul, Concat: each input has its own scale, or shares the output's
  kPool,      // AveragePool, ReduceMean over all spatial axes
  kSame,      // moves or picks elements: MaxPool, Reshape, Slice ... keep the scale
  kTable,     // a function of one element, Softmax of a row
};

struct PlannedNode {
  Part part = Part::kFloat;
  std::string reason;  // kFloat of real numbers: why
};

// An op that was not quantized.
struct Unquantized {
  ir::NodeId id;
  std::string node;  // its name, or that of what it makes
  std::string op;
  std::string reason;
};

struct Plan {
  std::vector<PlannedNode> nodes;  // by NodeId
  // By ValueId: the value in whose name all those stand that share its scale; kNoValue: no
  // integers. Constants are not here: weights and numbers have scales of their own.
  std::vector<ir::ValueId> scale_of;
  // By ValueId: only integers there will be, so that every reader takes what they stand for.
  // Otherwise (an input of the graph, a float op's result) float ops go on reading the original.
  std::vector<bool> integers_only;
  // What calibration observes for each scale.
  std::map<ir::ValueId, std::vector<ir::ValueId>> sources;
  bool quantized(ir::NodeId id) const {
    return nodes[static_cast<size_t>(id)].part != Part::kFloat;
  }
  // Floats with their reasons, in order.
  std::vector<Unquantized> stayed(const ir::Graph& graph) const;
};

// Throws Error for a graph that is quantized already, a bad recipe, or a skip pattern that no node
// fits.
Plan plan_quantization(const ir::Graph& graph, const Recipe& recipe);

// By NodeId: why the recipe excludes a node (skip patterns, first and last layers); "" where it
// does not. Throws Error for a pattern that no node fits.
std::vector<std::string> excluded_nodes(const ir::Graph& graph, const Recipe& recipe);

// The node's name; where it has none, that of its first output, or "Conv of module features.0".
std::string display_name(const ir::Graph& graph, ir::NodeId id);
// The axis of the node's output channels, -1 where it is no layer: 1 of Conv, the last of Linear.
int channel_axis(const ir::Graph& graph, const ir::Node& node);

}  // namespace wick::quantize
