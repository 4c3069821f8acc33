// Reads a Clip's bounds, whether they are attributes or inputs.
#pragma once

#include <optional>

#include "graph/ir/graph.h"

namespace wick::ir {

// Returns nothing if a bound is not one constant number.
inline std::optional<ClipAttrs> clip_bounds(const Graph& g, const Node& n) {
  ClipAttrs bounds = n.attrs.as<ClipAttrs>();
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const ValueId v = n.inputs[i];
    if (v == kNoValue) continue;
    if (!g.is_constant(v) || g.value(v).constant.numel() != 1) return std::nullopt;
    (i == 1 ? bounds.min : bounds.max) = element_as_double(g.value(v).constant, 0);
  }
  return bounds;
}

}  // namespace wick::ir
