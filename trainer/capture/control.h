// Builds nodes with regions: a value of the outer graph that a region reads becomes an input of the
// region.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

// The values of the outer graph that a region captures.
class RegionCaptures {
 public:
  RegionCaptures(const ir::Graph& outside, ir::Graph& region)
      : outside_(outside), region_(region) {}
  // Returns the region's value for an outer value: a new input, or for a constant a copy.
  ir::ValueId take(ir::ValueId outer);
  // The captured outer values, in the order of the inputs that come after the region's own.
  const std::vector<ir::ValueId>& captured() const { return captured_; }

 private:
  const ir::Graph& outside_;
  ir::Graph& region_;
  std::map<ir::ValueId, ir::ValueId> inside_;
  std::vector<ir::ValueId> captured_;
};

// Adds an input with the type of `from`; dims of unknown size get a new symbol of the region.
ir::ValueId add_region_input(ir::Graph& region, const std::string& name, const ir::Value& from);

// Adds the node. Its inputs are `inputs` and then the values that any of its regions captured;
// every region gets all of them.
ir::NodeId add_control_node(ir::Graph& g, OpId op, const AnyAttrs& attrs,
                            std::vector<ir::ValueId> inputs, std::vector<ir::Graph> regions,
                            const std::vector<std::vector<ir::ValueId>>& captured,
                            const std::string& name);

// Return the names of inputs and regions of these ops: "trip", "body".
std::string region_input_name(size_t i);
std::string region_name(OpId op, size_t i);

}  // namespace wick
