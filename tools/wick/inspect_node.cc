#include "tools/wick/inspect_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/ir/infer.h"
#include "runtime/registry/registry.h"
#include "tools/lib/arrays.h"
#include "tools/lib/model.h"
#include "tools/lib/program_graph.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/inspect_document.h"
#include "tools/wick/json.h"
#include "tools/wick/page/page_data.h"
#include "tools/wick/weight_stats.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

using nlohmann::json;

// A constant, and where it is read: input -1 if it was named itself.
struct Weight {
  const ir::Graph* graph;
  ir::ValueId value;
  int input = -1;
};

struct Found {
  std::vector<std::pair<const ir::Graph*, const ir::Node*>> nodes;
  std::vector<Weight> weights;
  std::vector<std::string> like;  // names that contain what was asked for
};

// What is shown: the graph of the file as it was read; a .wick's is what an entry point runs.
struct Shown {
  ir::Graph graph;
  std::string entry;                // of a program that has several
  std::vector<std::string> others;  // entry points
};

Shown shown_in(const InspectNode& c) {
  if (!is_wick_file(c.model)) {
    if (!c.entry.empty())
      wrong_usage("--entry", "is for programs (.wick) of several entry points here");
    return {open_graph(c.model, {.lower_qdq = c.lower_qdq}), "", {}};
  }
  const Model model = Model::open(c.model);
  const EntryDef& entry = entry_named(model.program(), c.entry);
  Shown shown = {shown_graph(model.program(), entry), "", {}};
  if (model.program().entries().size() == 1) return shown;
  shown.entry = entry.name;
  for (const EntryDef& other : model.program().entries()) {
    if (&other != &entry) shown.others.emplace_back(other.name);
  }
  return shown;
}

// Returns "entry point prefill (--entry shows: decode)"; "" where there is one alone.
std::string entry_text(const Shown& shown) {
  if (shown.entry.empty()) return "";
  std::string others;
  for (const std::string& name : shown.others) others += " " + one_line(name);
  return fmt::format("entry point {} (--entry shows:{})", one_line(shown.entry), others);
}

void look_for(const ir::Graph& g, const std::string& name, Found* found) {
  const auto is_it = [&](const std::string& other) {
    if (other == name) return true;
    constexpr size_t kMost = 5;
    const bool like = !other.empty() && other.find(name) != std::string::npos;
    if (like && found->like.size() < kMost) found->like.push_back(other);
    return false;
  };
  for (const ir::Node& n : g.nodes()) {
    if (n.removed()) continue;
    bool here = is_it(n.name);
    for (ir::ValueId v : n.outputs) here = (v != ir::kNoValue && is_it(g.value(v).name)) || here;
    if (here) found->nodes.emplace_back(&g, &n);
    for (const ir::Graph& region : n.regions) look_for(region, name, found);
  }
  for (size_t i = 0; i < g.value_count(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    if (g.is_constant(id) && is_it(g.value(id).name)) found->weights.push_back({&g, id, -1});
  }
}

std::vector<Weight> weights_of(const ir::Graph& g, const ir::Node& n) {
  std::vector<Weight> all;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (g.is_constant(n.inputs[i])) all.push_back({&g, n.inputs[i], static_cast<int>(i)});
  }
  return all;
}

// Looks for NAME, and if there is none for input K of the node in NAME#K.
Found find(const Shown& shown, const InspectNode& c) {
  const ir::Graph& g = shown.graph;
  Found found;
  look_for(g, c.node, &found);
  const size_t mark = c.node.rfind('#');
  if (found.nodes.empty() && found.weights.empty() && mark != std::string::npos) {
    Found all;
    look_for(g, c.node.substr(0, mark), &all);
    for (const auto& [graph, node] : all.nodes) {
      for (const Weight& w : weights_of(*graph, *node)) {
        if (std::to_string(w.input) == c.node.substr(mark + 1)) found.weights.push_back(w);
      }
    }
  }
  if (found.nodes.empty() && found.weights.empty()) {
    std::string like;
    for (const std::string& name : found.like) like += " " + name;
    throw Error(
        fmt::format("{} has no node, value or weight named '{}'{}; {}", c.model, c.node,
                    shown.entry.empty() ? "" : " in " + entry_text(shown),
                    like.empty() ? fmt::format("wick inspect {} --json lists its nodes", c.model)
                                 : "there are:" + like),
        Code::kNotFound);
  }
  return found;
}

json document_of(const Weight& w) {
  const HostTensor& t = w.graph->value(w.value).constant;
  json doc = {{"name", w.graph->value(w.value).name},
              {"dtype", dtype_name(t.dtype())},
              {"shape", std::vector<int64_t>(t.shape().begin(), t.shape().end())},
              {"bytes", t.nbytes()},
              {"values", preview_json(t)}};
  if (w.input >= 0) doc["input"] = w.input;
  const WeightStats s = weight_stats(t.view());
  if (!s.known) return doc;
  doc.update({{"min", s.min},
              {"max", s.max},
              {"mean", s.mean},
              {"std", s.std},
              {"zeros", s.zeros},
              {"nans", s.nans},
              {"infinities", s.infinities}});
  return doc;
}

json document_of(const ir::Graph& g, const ir::Node& n, bool weights) {
  const auto values = [&](const std::vector<ir::ValueId>& ids) {
    auto list = json::array();
    for (ir::ValueId v : ids) {
      if (v == ir::kNoValue) {
        list.push_back(nullptr);
        continue;
      }
      list.push_back({{"name", g.value(v).name},
                      {"type", ir::type_text(g.value(v))},
                      {"weight", g.is_constant(v)}});
    }
    return list;
  };
  const OpInfo& op = *op_info(n.op);
  json doc = {{"op", op.name},
              {"name", n.name},
              {"attributes", attributes_of(*op.attrs, n.attrs.get())},
              {"inputs", values(n.inputs)},
              {"outputs", values(n.outputs)}};
  if (!n.module.empty()) doc["module"] = n.module;
  if (!n.source.file.empty()) doc["source"] = n.source.text();
  if (!weights) return doc;
  doc["weights"] = json::array();
  for (const Weight& w : weights_of(g, n)) doc["weights"].push_back(document_of(w));
  return doc;
}

void print_weight(const Weight& w) {
  const HostTensor& t = w.graph->value(w.value).constant;
  const WeightStats s = weight_stats(t.view());
  fmt::print("  weight{} {} {}{}, {} bytes{}\n    {}\n",
             w.input < 0 ? "" : fmt::format(" {}", w.input), one_line(w.graph->value(w.value).name),
             dtype_name(t.dtype()), to_text(t.shape()).text, t.nbytes(),
             !s.known ? ""
                      : fmt::format(": {:.6g} to {:.6g}, mean {:.6g}, std {:.6g}, {} zeros{}",
                                    s.min, s.max, s.mean, s.std, s.zeros,
                                    s.nans + s.infinities == 0
                                        ? ""
                                        : fmt::format(", {} NaN, {} inf", s.nans, s.infinities)),
             preview(t));
}

void print_node(const ir::Graph& g, const ir::Node& n, bool weights) {
  const json doc = document_of(g, n, false);
  fmt::print("{} {}{}{}\n", doc["op"].get<std::string>(), one_line(n.name),
             n.module.empty() ? "" : "  of " + one_line(n.module),
             n.source.file.empty() ? "" : "  " + one_line(n.source.text()));
  for (const auto& [name, value] : doc["attributes"].items())
    fmt::print("  {} {}\n", name, value.dump());
  for (const char* kind : {"input", "output"}) {
    size_t number = 0;
    for (const json& v : doc[std::string(kind) + "s"]) {
      if (!v.is_null()) {
        fmt::print("  {} {} {} {}{}\n", kind, number, one_line(v["name"].get<std::string>()),
                   one_line(v["type"].get<std::string>()),
                   v["weight"].get<bool>() ? ", a weight" : "");
      }
      ++number;
    }
  }
  if (!weights) return;
  for (const Weight& w : weights_of(g, n)) print_weight(w);
}

// Writes the only weight that was found.
void write_weight(const InspectNode& c, const Found& found) {
  std::vector<Weight> all = found.weights;
  for (const auto& [graph, node] : found.nodes) {
    for (const Weight& w : weights_of(*graph, *node)) {
      const bool known = std::any_of(all.begin(), all.end(), [&](const Weight& other) {
        return other.graph == w.graph && other.value == w.value;
      });
      if (!known) all.push_back(w);
    }
  }
  if (all.size() == 1) return write_array(c.npy, all[0].graph->value(all[0].value).constant);
  if (all.empty())
    throw Error(fmt::format("'{}' has no weights; --npy needs one", c.node), Code::kNotFound);
  std::string choices;
  for (const Weight& w : all) {
    const std::string& name = w.graph->value(w.value).name;
    choices +=
        " --node " + shell_quote(name.empty() ? fmt::format("{}#{}", c.node, w.input) : name);
  }
  throw Error(fmt::format("'{}' has {} weights, and --npy writes one; choose it by{}", c.node,
                          all.size(), choices));
}

}  // namespace

void inspect_node(const InspectNode& c) {
  const Shown shown = shown_in(c);
  const Found found = find(shown, c);
  if (!c.npy.empty()) write_weight(c, found);
  if (!c.json) {
    if (!shown.entry.empty()) fmt::print("{}\n", entry_text(shown));
    for (const auto& [g, n] : found.nodes) print_node(*g, *n, c.weights);
    if (found.nodes.empty()) {
      for (const Weight& w : found.weights) print_weight(w);
    }
    return;
  }
  json doc = {{"nodes", json::array()}, {"weights", json::array()}};
  if (!shown.entry.empty()) doc.update({{"entry", shown.entry}, {"other_entries", shown.others}});
  for (const auto& [g, n] : found.nodes) doc["nodes"].push_back(document_of(*g, *n, c.weights));
  for (const Weight& w : found.weights) doc["weights"].push_back(document_of(w));
  print_json(doc);
}

}  // namespace wick::tool
