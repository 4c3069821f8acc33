// Scopes of names, subgraphs, and functions that a model brings along.
#pragma once

#include "exporter/onnx/read/read.h"

namespace wick::onnx {

constexpr int kMaxDepth = 32;  // of subgraphs and functions within each other

inline bool default_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

// The version, where it is one of the default domain's that there are; `what` names who imports it.
int64_t checked_opset(int64_t version, const std::string& what);

// A weight of a state_dict by its name; without one of its own, a constant.
ValueId add_initializer(Graph& g, HostTensor tensor, const std::string& name);

// A loop whose body `make` builds: it gets the region's context, the trip number and the carried
// values there, and gives the condition, the carried and the stacked values. It is called again
// where a trip changes a carried shape. The node's outputs: carried, then stacked.
struct LoopBody {
  ValueId trip, condition;
  std::vector<ValueId> carried;
};
std::vector<ValueId> emit_loop(
    ReadCtx& c, ValueId trips, ValueId condition, const std::vector<ValueId>& carried,
    const std::vector<std::string>& input_names,
    const std::function<std::vector<ValueId>(ReadCtx&, const LoopBody&)>& make);

}  // namespace wick::onnx
