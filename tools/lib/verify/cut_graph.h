// The few nodes of a graph that show a difference, with the values that they read as inputs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/interpreter/beside.h"

namespace wick::tool {

struct CutGraph {
  ir::Graph graph;
  std::vector<HostTensor> inputs;
  size_t nodes = 0;
};

// `nodes` of the graph and what they read: constants stay constants, any other value is an input
// with the value given, and sizes are those of the values, symbols where `others` has another size.
// Outputs: `wanted`, outputs of the graph, and the first of a node that none of them reads. Throws
// Error where a value is not given.
CutGraph cut_graph(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                   const std::string& wanted, const ir::GivenValues& values,
                   const ir::GivenValues* others = nullptr);

// The fewest nodes behind each other, up to `most`, that end with the maker of `wanted` and that
// `differs` still says yes to; else everything that `wanted` is made of, or all nodes, if that
// does; else nothing (no nodes). More than three are made fewer where some can be left out.
CutGraph smallest_cut(const ir::Graph& graph, const std::string& wanted,
                      const ir::GivenValues& values, size_t most,
                      const std::function<bool(const CutGraph&)>& differs,
                      const ir::GivenValues* others = nullptr);

// What the graph makes `wanted` of where `inputs`, values by name, are given: no nodes where it
// reads another input.
CutGraph cut_between(const ir::Graph& graph, const std::string& wanted,
                     const std::vector<std::string>& inputs, const ir::GivenValues& values);

}  // namespace wick::tool
