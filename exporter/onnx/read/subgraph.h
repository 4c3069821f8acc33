// Scopes of names, subgraphs, and a model's own functions.
#pragma once

#include "exporter/onnx/read/read.h"

namespace wick::onnx {

constexpr int kMaxDepth = 32;  // of subgraphs and functions within each other

inline bool default_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

// Returns the version, which must be at least 1; a newer one than the newest known is read as far
// as it is known. `what` names who imports it.
int64_t checked_opset(int64_t version, const std::string& what);

// Adds a weight of a state_dict by its name; if that is a made-up one, a plain constant.
ValueId add_initializer(Graph& g, HostTensor tensor, const std::string& name);

// Emits a loop whose body `make` builds: it gets the region's context, the trip number and the
// carried values there, and returns the condition, the carried and the stacked values. It is called
// again if a trip changes a carried shape. Returns the node's outputs: carried, then stacked.
struct LoopBody {
  ValueId trip, condition;
  std::vector<ValueId> carried;
};
std::vector<ValueId> emit_loop(
    ReadCtx& c, ValueId trips, ValueId condition, const std::vector<ValueId>& carried,
    const std::vector<std::string>& input_names,
    const std::function<std::vector<ValueId>(ReadCtx&, const LoopBody&)>& make);

}  // namespace wick::onnx
