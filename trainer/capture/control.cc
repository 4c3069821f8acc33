#include "trainer/capture/control.h"

#include <algorithm>

namespace wick {

ir::ValueId add_region_input(ir::Graph& region, const std::string& name, const ir::Value& from) {
  std::string fresh = name.empty() ? "captured" : name;
  const auto taken = [&](ir::ValueId v) { return region.value(v).name == fresh; };
  while (std::any_of(region.inputs().begin(), region.inputs().end(), taken)) fresh += "_";
  ir::Value type = from;
  for (int d = 0; d < type.shape.rank(); ++d) {
    if (is_open(type.shape[d])) type.shape[d] = region.fresh_symbol(0);
  }
  return region.add_input(fresh, type);
}

ir::ValueId RegionCaptures::take(ir::ValueId outer) {
  if (auto known = inside_.find(outer); known != inside_.end()) return known->second;
  const ir::Value& v = outside_.value(outer);
  ir::ValueId id = ir::kNoValue;
  if (v.origin == ir::ValueOrigin::kConstant) {
    id = region_.add_constant(v.constant, v.name, v.parameter);
  } else {
    id = add_region_input(region_, v.name, v);
    region_.value(id).has_elements = v.has_elements;
    region_.value(id).elements = v.elements;
    captured_.push_back(outer);
  }
  return inside_[outer] = id;
}

ir::NodeId add_control_node(ir::Graph& g, OpId op, const AnyAttrs& attrs,
                            std::vector<ir::ValueId> inputs, std::vector<ir::Graph> regions,
                            const std::vector<std::vector<ir::ValueId>>& captured,
                            const std::string& name) {
  std::vector<ir::ValueId> all;
  for (const auto& each : captured) {
    for (ir::ValueId v : each) {
      if (std::find(all.begin(), all.end(), v) == all.end()) all.push_back(v);
    }
  }
  for (size_t r = 0; r < regions.size(); ++r) {
    ir::Graph& region = regions[r];
    const std::vector<ir::ValueId> had = region.inputs();
    const size_t own = had.size() - captured[r].size();
    std::vector<ir::ValueId> order(had.begin(), had.begin() + static_cast<long>(own));
    for (ir::ValueId v : all) {
      const auto at = std::find(captured[r].begin(), captured[r].end(), v);
      order.push_back(at != captured[r].end()
                          ? had[own + static_cast<size_t>(at - captured[r].begin())]
                          : add_region_input(region, g.value(v).name, g.value(v)));
    }
    region.inputs() = order;
  }
  inputs.insert(inputs.end(), all.begin(), all.end());
  return g.add_control(op, attrs, std::move(inputs), std::move(regions), name);
}

std::string region_input_name(size_t i) {
  return i == 0 ? "trip" : i == 1 ? "condition" : "state" + std::to_string(i - 2);
}
std::string region_name(OpId op, size_t i) {
  return op == OpId::kLoop ? "body" : i == 0 ? "then_branch" : "else_branch";
}

}  // namespace wick
