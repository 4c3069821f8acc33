#include "runtime/exec/state_updates.h"

#include "runtime/ops/op_id.h"

namespace wick {

Status find_in_place(const EntryDef& entry, Allocator& allocator, Span<uint8_t> in_place) {
  if (entry.state_updates.empty()) return {};
  Array<uint32_t> readers(allocator), makers(allocator), states(allocator);
  WICK_TRY(readers.resize(entry.values.size()));
  WICK_TRY(makers.resize(entry.values.size()));
  uint32_t last = 0;
  for (const ValueDef& v : entry.values) {
    if (v.state != kNoIndex && v.state >= last) last = v.state + 1;
  }
  WICK_TRY(states.resize(last));
  for (uint32_t& n : makers) n = kNoIndex;
  const auto read = [&](uint32_t v) {
    if (v == kNoIndex) return;
    ++readers[v];
    if (entry.values[v].state != kNoIndex) ++states[entry.values[v].state];
  };
  for (const RegionDef& region : entry.regions) {
    for (const NodeDef& node : region.nodes) {
      for (uint32_t v : node.inputs) read(v);
    }
    for (uint32_t v : region.outputs) read(v);
  }
  for (const StateUpdateDef& u : entry.state_updates) read(u.value);
  const Span<const NodeDef> nodes = entry.body().nodes;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].op == OpId::kScatterND) makers[nodes[n].outputs[0]] = n;
  }
  for (size_t i = 0; i < entry.state_updates.size(); ++i) {
    const StateUpdateDef& u = entry.state_updates[i];
    in_place[i] = 0;
    if (makers[u.value] == kNoIndex) continue;
    const uint32_t from = nodes[makers[u.value]].inputs[0];
    const bool own = from != kNoIndex && entry.values[from].state == u.state;
    in_place[i] = own && readers[from] == 1 && states[u.state] == 1 ? 1 : 0;
  }
  return {};
}

}  // namespace wick
