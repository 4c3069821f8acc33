#include "tools/wick/inspect_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/ops/products.h"
#include "runtime/registry/registry.h"
#include "tools/lib/products.h"
#include "tools/lib/program_graph.h"
#include "tools/lib/usage.h"
#include "tools/wick/page/page_data.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

const char* numerics_text(NumericsClass n) {
  return n == NumericsClass::kExact          ? "exact"
         : n == NumericsClass::kReassociates ? "reassociates"
                                             : "approximates";
}

std::string hex(Span<const uint8_t> bytes) {
  std::string text;
  for (uint8_t b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

nlohmann::json ports(const Program& program, const EntryDef& entry, Span<const uint32_t> ids) {
  auto list = nlohmann::json::array();
  for (uint32_t id : ids) {
    const ValueDef& v = entry.values[id];
    PortInfo port{v.name, v.dtype, v.unranked, v.dims};
    list.push_back(
        {{"name", v.name}, {"dtype", dtype_name(v.dtype)}, {"shape", dims_text(program, port)}});
  }
  return list;
}

// Says the sizes that are expressions ("[batch,4,past + time,8]"), for which a program has no form:
// as the graph has them that it was written from, or that is made of it.
nlohmann::json outputs_of(const Model& model, const EntryDef& entry) {
  const Program& program = model.program();
  nlohmann::json list = ports(program, entry, entry.body().outputs);
  const auto open = [&](uint32_t id) { return entry.values[id].unranked; };
  const Span<const uint32_t> ids = entry.body().outputs;
  constexpr uint64_t kMostCopied = uint64_t{64} << 20;  // bytes of weights, which a graph copies
  if (std::none_of(ids.begin(), ids.end(), open)) return list;
  std::optional<ir::Graph> made;
  const ir::Graph* graph = nullptr;
  if (model.compiled() && &entry == &program.entries()[0]) {
    graph = &*model.compiled();
  } else if (program.weight_bytes() <= kMostCopied) {
    try {
      graph = &made.emplace(shown_graph(program, entry));
    } catch (const Error&) {  // it has no such form
    }
  }
  for (size_t i = 0; graph != nullptr && i < std::min(ids.size(), graph->outputs().size()); ++i) {
    const ir::Value& v = graph->value(graph->outputs()[i].value);
    if (open(ids[i]) && v.ranked && !is_container(v.dtype)) list[i]["shape"] = shape_text(v.shape);
  }
  return list;
}

// Returns only what the file says of itself; numerics and the weights' digest are known of any
// program.
nlohmann::json provenance(const Model& model) {
  const ProvenanceDef& p = model.program().provenance();
  nlohmann::json doc = {{"numerics", numerics_text(p.numerics)},
                        {"edition", edition_number(model.program().edition())},
                        {"weights_sha256", hex(p.weights_sha256)}};
  // The file's digest; `wick verify` checks it.
  const Span<const uint8_t> digest = model.program().digest();
  if (!model.compiled() && !digest.empty()) doc["file_sha256"] = hex(digest);
  if (!model.compiled()) {
    doc["wick_version"] = p.wick_version;
    doc["source"] = p.source;
    // A training run has one, which may be 0; in any other program 0 stands for none.
    const bool trained = model.program().find_metadata("wick.seed") != nullptr ||
                         model.program().find_metadata("wick.run_sha256") != nullptr;
    if (trained || p.seed != 0) doc["seed"] = p.seed;
    return doc;
  }
  const auto& metadata = model.compiled()->metadata;
  if (metadata.contains("wick.version")) doc["wick_version"] = metadata.at("wick.version");
  if (metadata.contains("wick.source")) doc["source"] = metadata.at("wick.source");
  if (metadata.contains("wick.seed")) doc["seed"] = p.seed;
  return doc;
}

// Returns the nodes of the body, then those of If and Loop. `ops` counts each op, `steps` those in
// all FusedElementwise.
nlohmann::json nodes_of(const Model& model, const EntryDef& entry, OpCounts& ops, OpCounts& steps) {
  auto nodes = nlohmann::json::array();
  const Program& p = model.program();
  const bool first = &entry == &p.entries()[0];  // whose nodes' origins are known
  const NodeOrigins origins = first ? node_origins(model) : NodeOrigins();
  Span<const RegionDef> regions = entry.regions;
  for (size_t r = 0; r < regions.size(); ++r) {
    for (size_t at = 0; at < regions[r].nodes.size(); ++at) {
      const NodeDef& n = regions[r].nodes[at];
      ops[op_text(p, n)]++;
      nodes.push_back({{"op", op_text(p, n)}, {"name", n.name}});
      const Products products = products_of(n.op, n.attrs);
      if (products != Products::kExact) nodes.back()["products"] = products_name(products);
      if (n.op == OpId::kFusedElementwise) {
        const auto& chain = *static_cast<const ChainAttrs*>(n.attrs);
        nodes.back()["steps"] = chain_text(chain);
        for (int64_t word : chain.steps.span()) steps[find_op(chain_step(word).op)->name]++;
      }
      add_origin(origins, r, at, nodes.back());
      if (r > 0) nodes.back()["region"] = r;
      if (!n.regions.empty())
        nodes.back()["regions"] = std::vector<uint32_t>(n.regions.begin(), n.regions.end());
    }
  }
  return nodes;
}

}  // namespace

nlohmann::json inspect_document(const Model& model, const ir::LowerReport& lowered, OpCounts* steps,
                                const std::string& entry_name) {
  const Program& p = model.program();
  const EntryDef& entry = entry_named(p, entry_name);
  OpCounts ops;
  const nlohmann::json nodes = nodes_of(model, entry, ops, *steps);
  uint64_t parameters = 0;
  for (const ConstantDef& k : p.constants()) parameters += static_cast<uint64_t>(k.view.numel());
  nlohmann::json doc = {{"file_bytes", model.file_bytes()},
                        {"weight_bytes", p.weight_bytes()},
                        {"constant_elements", parameters},
                        {"inputs", ports(p, entry, entry.body().inputs)},
                        {"outputs", outputs_of(model, entry)},
                        {"nodes", nodes},
                        {"ops", ops},
                        {"growing", entry.growing},
                        {"labels", std::vector<std::string>(p.labels().begin(), p.labels().end())},
                        {"provenance", provenance(model)}};
  if (p.entries().size() > 1) {
    doc["entry"] = entry.name;
    for (const EntryDef& each : p.entries()) {
      doc["entries"].push_back(each.name);
      doc["entry_points"].push_back({{"name", each.name},
                                     {"inputs", ports(p, each, each.body().inputs)},
                                     {"outputs", outputs_of(model, each)}});
    }
  }
  for (const StateDef& s : p.states()) {
    doc["states"].push_back({{"name", s.name},
                             {"dtype", dtype_name(s.dtype)},
                             {"shape", dims_text(p, {s.name, s.dtype, false, s.dims})}});
  }
  for (const CustomOpDef& op : p.custom_ops()) {
    doc["custom_ops"].push_back({{"name", custom_op_name(op.domain, op.name).text},
                                 {"version", op.version},
                                 {"given", op.op != nullptr}});
  }
  for (const ir::StayedFloat& s : lowered.stayed)
    doc["stayed_float"].push_back({{"op", s.op}, {"name", s.name}, {"reason", s.reason}});
  for (const KeyValueDef& kv : p.metadata()) doc["metadata"][kv.key] = kv.value;
  return doc;
}

}  // namespace wick::tool
