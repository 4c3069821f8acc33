// Plan says which nodes of a float graph compute with integers, which values are quantized, and
// which of those share one scale. Calibration, the insertion of Q/DQ, and training's fake
// quantization follow it.
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
  kAbsorbed,  // Relu or Clip behind another: only the output behind it is quantized
  kJoin,      // Add, Mul, Concat: each input has its own scale, or shares the output's
  kPool,      // AveragePool, ReduceMean over all spatial axes
  kSame,      // moves or picks elements: MaxPool, Reshape, Slice ... keep the scale
  kTable,     // a function of one element, Softmax of a row
};

struct PlannedNode {
  Part part = Part::kFloat;
  std::string reason;  // why, for a kFloat node of real numbers
};

// Unquantized is an op that was not quantized.
struct Unquantized {
  ir::NodeId id;
  std::string node;  // its name, or its output's
  std::string op;
  std::string reason;
};

struct Plan {
  std::vector<PlannedNode> nodes;  // by NodeId
  // Indexed by ValueId: the value that represents those which share its scale; kNoValue: not
  // quantized. Constants are not here: weights and numbers have scales of their own.
  std::vector<ir::ValueId> scale_of;
  // Indexed by ValueId: only the integers will exist, so that every reader takes the dequantized
  // value. Otherwise (an input of the graph, a float op's result) float ops go on reading the
  // original.
  std::vector<bool> integers_only;
  // The values that calibration observes for each scale.
  std::map<ir::ValueId, std::vector<ir::ValueId>> sources;
  bool quantized(ir::NodeId id) const {
    return nodes[static_cast<size_t>(id)].part != Part::kFloat;
  }
  // Returns the kFloat nodes that have a reason, in order.
  std::vector<Unquantized> stayed(const ir::Graph& graph) const;
};

// Throws Error for a graph that is quantized already, an invalid recipe, or a skip pattern that no
// node matches.
Plan plan_quantization(const ir::Graph& graph, const Recipe& recipe);

// By NodeId: why the recipe excludes a node (skip patterns, first and last layers); "" if it does
// not. Throws Error for a pattern that no node matches.
std::vector<std::string> excluded_nodes(const ir::Graph& graph, const Recipe& recipe);

// Returns the node's name; if it has none, that of its first output, else its module, else "node"
// and its id.
std::string display_name(const ir::Graph& graph, ir::NodeId id);
// Returns the axis of the node's output channels: 1 for Conv, the last for Linear, -1 if it is no
// layer.
int channel_axis(const ir::Graph& graph, const ir::Node& node);

}  // namespace wick::quantize
