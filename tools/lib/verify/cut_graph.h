// Cuts out the few nodes of a graph that show a difference, with the values that they read as
// inputs.
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

// Returns `nodes` of the graph and what they read: constants stay constants, any other value
// becomes an input with the given value. Sizes are those of the values; one that differs in
// `others` is a symbol. Outputs are `wanted`, outputs of the graph, and the first output of a node
// whose outputs no other node reads. Throws Error if a value is not given.
CutGraph cut_graph(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                   const std::string& wanted, const ir::GivenValues& values,
                   const ir::GivenValues* others = nullptr);

// Returns the fewest connected nodes, up to `most`, that include the maker of `wanted` and for
// which `differs` still returns true; else everything that `wanted` is computed from, or all nodes,
// if `differs` is true for that; else nothing (no nodes). More than three nodes are reduced further
// if some can be left out, and, where `differs` knows no values but those of the cut, also if
// readers of a node may read a constant or one of the node's inputs instead.
enum class Rewire : bool { kNo, kYes };
CutGraph smallest_cut(const ir::Graph& graph, const std::string& wanted,
                      const ir::GivenValues& values, size_t most,
                      const std::function<bool(const CutGraph&)>& differs,
                      const ir::GivenValues* others = nullptr, Rewire rewire = Rewire::kNo);

// A graph or a region of it, the values of one run, and the value to look for.
struct Scope {
  const ir::Graph* graph = nullptr;
  ir::GivenValues values;
  std::string wanted;
};
// Returns where a value at a place may be cut out: in its region (unless it is what enters that),
// then around each control node, the graph itself last. `values` are the graph's, with its inputs.
std::vector<Scope> scopes_of(const ir::Graph& graph, const ir::GivenValues& values,
                             const ir::Place& place, bool enters, const std::string& value);

// Returns the nodes that compute `wanted` from `inputs`, which are values by name; no nodes if it
// reads another input.
CutGraph cut_between(const ir::Graph& graph, const std::string& wanted,
                     const std::vector<std::string>& inputs, const ir::GivenValues& values);

}  // namespace wick::tool
