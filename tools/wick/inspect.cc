// wick inspect: what is in a model file.
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "exporter/onnx/training.h"
#include "graph/ir/infer.h"
#include "runtime/registry/registry.h"
#include "tools/lib/model.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/inspect_page.h"
#include "tools/wick/page/page_data.h"

namespace wick::tool {
namespace {

struct InspectCommand {
  std::string model;
  bool json = false, values = false, lower_qdq = true;
  InspectPage page;
};

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

nlohmann::json ports(const Program& program, Span<const uint32_t> ids) {
  auto list = nlohmann::json::array();
  const EntryDef& entry = program.entries()[0];
  for (uint32_t id : ids) {
    const ValueDef& v = entry.values[id];
    PortInfo port{v.name, v.dtype, v.unranked, v.dims};
    list.push_back(
        {{"name", v.name}, {"dtype", dtype_name(v.dtype)}, {"shape", dims_text(program, port)}});
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
  if (!model.graph() && !digest.empty()) doc["file_sha256"] = hex(digest);
  if (!model.graph()) {
    doc["wick_version"] = p.wick_version;
    doc["source"] = p.source;
    doc["seed"] = p.seed;
    return doc;
  }
  const auto& metadata = model.graph()->metadata;
  if (metadata.contains("wick.version")) doc["wick_version"] = metadata.at("wick.version");
  if (metadata.contains("wick.source")) doc["source"] = metadata.at("wick.source");
  if (metadata.contains("wick.seed")) doc["seed"] = p.seed;
  return doc;
}

// Prints the values that the nodes of an ONNX or TensorFlow Lite file make, before anything is
// rewritten: the names that nn::GraphModule::set_output takes.
void print_values(const InspectCommand& c) {
  const ir::Graph g = is_tflite_file(c.model) ? open_graph(c.model) : import_for_training(c.model);
  auto doc = nlohmann::json::array();
  for (size_t i = 0; i < g.node_count(); ++i) {
    const ir::Node& n = g.node(static_cast<ir::NodeId>(i));
    for (ir::ValueId v : n.outputs) {
      const ir::Value& value = g.value(v);
      if (value.name.empty()) continue;
      const std::string op = is_custom(n.op) ? "custom" : op_info(n.op)->name;
      doc.push_back({{"name", value.name}, {"op", op}, {"type", ir::type_text(value)}});
      if (!c.json)
        fmt::print("{}\n",
                   one_line(fmt::format("{}  {}  {}", value.name, op, ir::type_text(value))));
    }
  }
  if (c.json) print_json(doc);
}

using Counts = std::map<std::string, int>;

// Returns the nodes of the body, then those of If and Loop. `ops` counts each op, `steps` those in
// all FusedElementwise.
nlohmann::json nodes_of(const Model& model, Counts& ops, Counts& steps) {
  auto nodes = nlohmann::json::array();
  const Program& p = model.program();
  const NodeOrigins origins = node_origins(model);
  Span<const RegionDef> regions = p.entries()[0].regions;
  for (size_t r = 0; r < regions.size(); ++r) {
    for (size_t at = 0; at < regions[r].nodes.size(); ++at) {
      const NodeDef& n = regions[r].nodes[at];
      ops[op_text(p, n)]++;
      nodes.push_back({{"op", op_text(p, n)}, {"name", n.name}});
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

// Returns "made by wick 1.2 from a.py, seed 3, "; empty if the file says nothing.
std::string origin_text(const nlohmann::json& origin) {
  std::string made;
  if (origin.contains("wick_version"))
    made += fmt::format("made by wick {}", origin["wick_version"].get<std::string>());
  if (origin.contains("source")) {
    made += made.empty() ? "" : " ";
    made += fmt::format("from {}", origin["source"].get<std::string>());
  }
  if (origin.contains("seed")) {
    made += made.empty() ? "" : ", ";
    made += fmt::format("seed {}", origin["seed"].get<uint64_t>());
  }
  if (!made.empty()) made += ", ";
  return made;
}

// Prints where the nodes come from, in their order: one line per module and source line, with its
// ops.
void print_origins(const nlohmann::json& nodes) {
  std::string last, ops;
  const auto flush = [&] {
    if (!last.empty()) fmt::print("\n  from    {}:{}", last, ops);
    ops.clear();
  };
  for (const auto& n : nodes) {
    std::string from = n.value("module", "");
    if (n.contains("source")) from += (from.empty() ? "" : " ") + n["source"].get<std::string>();
    if (from != last) flush();
    last = from;
    ops += " " + n["op"].get<std::string>();
  }
  flush();
}

// The metadata in which a file that Wick exported describes its training run.
constexpr std::pair<const char*, const char*> kOrigins[] = {
    {"wick.run_sha256", "run weights sha256"},
    {"wick.data_sha256", "training data sha256"},
    {"wick.passes", "passes "}};

// Returns the document with every text on one line.
nlohmann::json lines_of(nlohmann::json doc) {
  for (nlohmann::json& part : doc)
    part = part.is_string()       ? nlohmann::json(one_line(part.get<std::string>()))
           : part.is_structured() ? lines_of(std::move(part))
                                  : part;
  return doc;
}

// Prints what --json gives, as lines.
void print_model(const InspectCommand& c, const Model& model, const ir::LowerReport& lowered,
                 const nlohmann::json& whole, const Counts& steps) {
  const nlohmann::json doc = lines_of(whole);
  const Program& p = model.program();
  fmt::print("{}: {} bytes, weights {} bytes in {} elements{}\n", c.model, model.file_bytes(),
             p.weight_bytes(), doc["constant_elements"].get<uint64_t>(),
             !model.graph() ? ""
                            : fmt::format(" ({}, shown as Wick compiles it)",
                                          is_tflite_file(c.model) ? "TensorFlow Lite" : "ONNX"));
  for (const char* kind : {"inputs", "outputs"}) {
    for (const auto& port : doc[kind]) {
      fmt::print("  {:<7} {} {}{}\n", std::string(kind).substr(0, std::string(kind).size() - 1),
                 port["name"].get<std::string>(), port["dtype"].get<std::string>(),
                 port["shape"].get<std::string>());
    }
  }
  fmt::print("  nodes   {}:", doc["nodes"].size());
  for (const auto& [op, n] : doc["ops"].items()) fmt::print(" {} x{}", op, n.get<int>());
  if (!steps.empty()) fmt::print("\n  in FusedElementwise:");
  for (const auto& [op, n] : steps) fmt::print(" {} x{}", op, n);
  print_origins(doc["nodes"]);
  for (const CustomOpDef& op : p.custom_ops()) {
    fmt::print("\n  custom  {} version {}{}", one_line(custom_op_name(op.domain, op.name).text),
               op.version, op.op != nullptr ? "" : ", not given: --ops LIBRARY.so");
  }
  for (const ir::StayedFloat& s : lowered.stayed)
    fmt::print("\n  float   {} '{}': {}", s.op, one_line(s.name), s.reason);
  const nlohmann::json& origin = doc["provenance"];
  fmt::print("\n  {}numerics {}, edition {}\n  weights sha256 {}\n", origin_text(origin),
             origin["numerics"].get<std::string>(), origin["edition"].get<int>(),
             origin["weights_sha256"].get<std::string>());
  if (origin.contains("file_sha256"))
    fmt::print("  file sha256 {}\n", origin["file_sha256"].get<std::string>());
  for (const auto& [key, what] : kOrigins) {
    const char* value = p.find_metadata(key);
    if (value != nullptr) fmt::print("  {} {}\n", what, one_line(value));
  }
  if (p.entries()[0].growing)
    fmt::print("  growing: some sizes depend on data without a bound, runs may allocate\n");
  if (p.labels().empty()) return;
  fmt::print("  labels  ");
  for (const char* label : p.labels()) fmt::print("{}; ", one_line(label));
  fmt::print("\n");
}

void inspect(const InspectCommand& c) {
  if (c.values) return print_values(c);
  if (!c.page.out.empty()) {
    InspectPage page = c.page;
    page.model = c.model;
    page.json = c.json;
    return write_inspect_page(page);
  }
  ir::LowerReport lowered;
  Model model = Model::open_whole(c.model, {.lower_qdq = c.lower_qdq, .lowered = &lowered});
  const Program& p = model.program();
  const EntryDef& entry = p.entries()[0];
  Counts ops, steps;
  const nlohmann::json nodes = nodes_of(model, ops, steps);
  uint64_t parameters = 0;
  for (const ConstantDef& k : p.constants()) parameters += static_cast<uint64_t>(k.view.numel());
  nlohmann::json doc = {{"file_bytes", model.file_bytes()},
                        {"weight_bytes", p.weight_bytes()},
                        {"constant_elements", parameters},
                        {"inputs", ports(p, entry.body().inputs)},
                        {"outputs", ports(p, entry.body().outputs)},
                        {"nodes", nodes},
                        {"ops", ops},
                        {"growing", entry.growing},
                        {"labels", std::vector<std::string>(p.labels().begin(), p.labels().end())},
                        {"provenance", provenance(model)}};
  for (const CustomOpDef& op : p.custom_ops()) {
    doc["custom_ops"].push_back({{"name", custom_op_name(op.domain, op.name).text},
                                 {"version", op.version},
                                 {"given", op.op != nullptr}});
  }
  for (const ir::StayedFloat& s : lowered.stayed)
    doc["stayed_float"].push_back({{"op", s.op}, {"name", s.name}, {"reason", s.reason}});
  for (const KeyValueDef& kv : p.metadata()) doc["metadata"][kv.key] = kv.value;
  if (c.json) return print_json(doc);
  print_model(c, model, lowered, doc, steps);
}

}  // namespace

void add_inspect(CommandLine& app) {
  auto c = std::make_shared<InspectCommand>();
  Command command =
      app.add_command("inspect", "Show what is in a .wick, ONNX or TensorFlow Lite file");
  command.add_option("model", c->model, "model.wick, model.onnx or model.tflite").required();
  accept_ops(command);
  accept_signature(command);
  accept_qdq(command, &c->lower_qdq);
  command.add_flag("--json", c->json, "print JSON");
  const Option values = command.add_flag("--values", c->values,
                                         "list what the nodes of an ONNX or TensorFlow Lite file "
                                         "make: a name, the op and the type a line");
  const Option html =
      command
          .add_option("--html", c->page.out,
                      "write the graph as a page that a browser opens from the file")
          .excludes(values)
          .writes_file(".html");
  const Option profile =
      command.add_flag("--profile", c->page.profile, "run the model: time by node").needs(html);
  command
      .add_option("--input,-i", c->page.inputs,
                  "[name=]array.npy for the page's sizes and times; without it inputs are made up")
      .one_word()
      .reads_file()
      .needs(html);
  command.add_option("--dim", c->page.dims, "NAME=N: a size of the inputs that are made up")
      .one_word()
      .needs(html);
  command.add_option("--threads", c->page.threads, "of the profile; 0: as many as there are")
      .at_least(0)
      .needs(profile);
  command.add_option("--seconds", c->page.seconds, "of the profile").above_zero().needs(profile);
  command.footer(
      "Example:\n  wick inspect model.wick\n  wick inspect model.onnx --html model.html --profile");
  command.callback([c] { inspect(*c); });
}

}  // namespace wick::tool
