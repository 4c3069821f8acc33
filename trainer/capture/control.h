// Nodes with regions while a graph is built: what a region reads of outside comes in as an input.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

// The values of outside in a region.
class RegionCaptures {
 public:
  RegionCaptures(const ir::Graph& outside, ir::Graph& region)
      : outside_(outside), region_(region) {}
  // In the region: an input of it, or a constant of its own.
  ir::ValueId take(ir::ValueId outer);
  // Of outside, in the order of the inputs that are behind the region's own.
  const std::vector<ir::ValueId>& captured() const { return captured_; }

 private:
  const ir::Graph& outside_;
  ir::Graph& region_;
  std::map<ir::ValueId, ir::ValueId> inside_;
  std::vector<ir::ValueId> captured_;
};

// An input of the type of `from`; dims that nobody knows have a symbol of the region.
ir::ValueId add_region_input(ir::Graph& region, const std::string& name, const ir::Value& from);

// The node: its own inputs, then all that one region or more captured, which all of them get.
ir::NodeId add_control_node(ir::Graph& g, OpId op, const AnyAttrs& attrs,
                            std::vector<ir::ValueId> inputs, std::vector<ir::Graph> regions,
                            const std::vector<std::vector<ir::ValueId>>& captured,
                            const std::string& name);

// What inputs and regions of these ops are called: "trip", "body".
std::string region_input_name(size_t i);
std::string region_name(OpId op, size_t i);

}  // namespace wick
