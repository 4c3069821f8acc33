// wick inspect: what is in a model file.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "exporter/onnx/training.h"
#include "graph/ir/infer.h"
#include "runtime/ops/products.h"
#include "runtime/registry/registry.h"
#include "tools/lib/model.h"
#include "tools/lib/products.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/inspect_document.h"
#include "tools/wick/inspect_node.h"
#include "tools/wick/inspect_page.h"
#include "tools/wick/inspect_two.h"

namespace wick::tool {
namespace {

struct InspectCommand {
  std::string model, other, entry;
  bool json = false, values = false, lower_qdq = true;
  InspectPage page;
  InspectNode node;
};

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

// Returns " x float32[n] y int64[1]".
std::string ports_text(const nlohmann::json& ports) {
  std::string text;
  for (const auto& port : ports) {
    text += fmt::format(" {} {}{}", port["name"].get<std::string>(),
                        port["dtype"].get<std::string>(), port["shape"].get<std::string>());
  }
  return text;
}

// Prints what --json gives, as lines.
void print_model(const InspectCommand& c, const Model& model, const ir::LowerReport& lowered,
                 const nlohmann::json& whole, const OpCounts& steps) {
  const nlohmann::json doc = lines_of(whole);
  const Program& p = model.program();
  fmt::print("{}: {} bytes, weights {} bytes in {} elements{}\n", c.model, model.file_bytes(),
             p.weight_bytes(), doc["constant_elements"].get<uint64_t>(),
             !model.compiled() ? ""
                               : fmt::format(" ({}, shown as Wick compiles it)",
                                             is_tflite_file(c.model) ? "TensorFlow Lite" : "ONNX"));
  if (p.entries().size() > 1) {
    fmt::print("  entries");
    for (const EntryDef& entry : p.entries()) fmt::print(" {};", one_line(entry.name));
    fmt::print(" what follows is of {}\n", c.entry.empty() ? "the first one" : one_line(c.entry));
    for (const auto& entry : doc["entry_points"]) {
      fmt::print("  entry   {}:{} ->{}\n", entry["name"].get<std::string>(),
                 ports_text(entry["inputs"]), ports_text(entry["outputs"]));
    }
  }
  for (const char* kind : {"inputs", "outputs", "states"}) {
    if (!doc.contains(kind)) continue;
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
  const ProductCounts products = product_counts(entry_named(p, c.entry));
  if (products.winograd > 0)
    fmt::print("  numerics fast: {}\n", products_text(products, Products::kWinograd));
  if (products.bf16 > 0)
    fmt::print("  numerics bf16: {}\n", products_text(products, Products::kBf16));
  if (origin.contains("file_sha256"))
    fmt::print("  file sha256 {}\n", origin["file_sha256"].get<std::string>());
  for (const auto& [key, what] : kOrigins) {
    const char* value = p.find_metadata(key);
    if (value != nullptr) fmt::print("  {} {}\n", what, one_line(value));
  }
  if (entry_named(p, c.entry).growing)
    fmt::print("  growing: some sizes depend on data without a bound, runs may allocate\n");
  if (p.labels().empty()) return;
  fmt::print("  labels  ");
  for (const char* label : p.labels()) fmt::print("{}; ", one_line(label));
  fmt::print("\n");
}

void inspect(const InspectCommand& c) {
  if (!c.entry.empty() && (!c.other.empty() || c.values))
    wrong_usage("--entry",
                "is for what one model holds; two models side by side are their first entry "
                "points, and --values is of files that have one");
  if (!c.other.empty()) {
    if (c.values || !c.page.out.empty() || !c.node.node.empty())
      wrong_usage("other",
                  "two models are shown side by side; --values, --html and --node take one");
    return inspect_two({c.model, c.other, c.json, c.lower_qdq});
  }
  if (c.values) return print_values(c);
  if (!c.node.node.empty()) {
    InspectNode node = c.node;
    node.model = c.model;
    node.entry = c.entry;
    node.json = c.json;
    node.lower_qdq = c.lower_qdq;
    return inspect_node(node);
  }
  if (!c.page.out.empty()) {
    InspectPage page = c.page;
    page.model = c.model;
    page.entry = c.entry;
    page.json = c.json;
    return write_inspect_page(page);
  }
  ir::LowerReport lowered;
  const Model model =
      Model::open_whole(c.model, {.lower_qdq = c.lower_qdq, .lowered = &lowered}, false);
  OpCounts steps;
  const nlohmann::json doc = inspect_document(model, lowered, &steps, c.entry);
  if (c.json) return print_json(doc);
  print_model(c, model, lowered, doc, steps);
}

}  // namespace

void add_inspect(CommandLine& app) {
  auto c = std::make_shared<InspectCommand>();
  Command command =
      app.add_command("inspect", "Show what is in a .wick, ONNX or TensorFlow Lite file");
  command.add_option("model", c->model, "model.wick, model.onnx or model.tflite; -: standard input")
      .required()
      .reads_file();
  command.add_option("other", c->other, "another model: both side by side").reads_file();
  accept_ops(command);
  accept_signature(command);
  accept_qdq(command, &c->lower_qdq);
  accept_entry(command, &c->entry);
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
      .named_size()
      .needs(html);
  command.add_option("--threads", c->page.threads, "of the profile; 0: as many as there are")
      .at_least(0)
      .needs(profile);
  command.add_option("--seconds", c->page.seconds, "of the profile").above_zero().needs(profile);
  const Option node =
      command
          .add_option("--node", c->node.node,
                      "one node, by its name or that of a value it makes; or a weight by its name")
          .excludes(values)
          .excludes(html);
  const Option weights =
      command.add_flag("--weights", c->node.weights, "of the node: type, statistics, first values")
          .needs(node);
  command.add_option("--npy", c->node.npy, "write the weight as an array to this file")
      .needs(weights)
      .writes_file(".npy");
  command.footer(
      "Example:\n  wick inspect model.wick\n  wick inspect model.wick model.onnx\n"
      "  wick inspect model.onnx --node conv1 --weights --npy conv1.npy\n"
      "  wick inspect model.onnx --html model.html --profile");
  command.callback([c] { inspect(*c); });
}

}  // namespace wick::tool
