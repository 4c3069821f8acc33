// wick convert: ONNX and TensorFlow Lite to .wick or ONNX, and .wick to ONNX, without training.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "exporter/onnx/onnx.h"
#include "exporter/program/program_writer.h"
#include "graph/rewrite/pass.h"
#include "tools/lib/limits.h"
#include "tools/lib/model.h"
#include "tools/lib/products.h"
#include "tools/lib/program_graph.h"
#include "tools/lib/sample_inputs.h"
#include "tools/lib/std_files.h"
#include "tools/wick/command.h"
#include "tools/wick/places.h"
#include "tools/wick/written.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

struct ConvertCommand {
  std::string model, out, entry;
  std::vector<std::string> dims;
  bool json = false, external_data = false, pack = false, own_sizes = false;
  bool no_chains = false, lower_qdq = true, verbose = false;
  std::string quantized;
  Products products = Products::kExact;
  uint64_t fold_bytes = 0;
  ProgramForm form = {.compact = true};
  CheckOptions checks;
};

// Writes the weights as this machine's kernels read them in addition to the raw ones: a session
// here then packs nothing. What a kernel wants may depend on sizes: the model's, 1 for a batch,
// --dim's.
void write_packed(const ir::Graph& graph, const ProgramInfo& info, const ConvertCommand& c) {
  Model model = Model::from_graph(graph, false);
  Runner runner(model, {"cpu", 0, false, nullptr});
  std::vector<Shape> shapes;
  const QuickLimits of_inputs(kQuickHeld, 0);
  const Sample sample =
      sample_inputs(runner.session(), model.program(), {.batch = std::nullopt, .named = c.dims});
  for (const HostTensor& t : sample.inputs) shapes.push_back(t.shape());
  check(runner.session().bind(shapes), "bind");
  std::vector<PackedConstant> forms;
  for (size_t i = 0; i < runner.session().packed_form_count(); ++i) {
    const Session::PackedForm form = take(runner.session().packed_form(i), "packed form");
    if (!form.bytes.empty()) forms.push_back({form.constant, form.layout, form.bytes});
  }
  write_program(graph, c.out, info, forms, c.form);
}

void print_lowered(const ir::LowerReport& report) {
  for (const auto& [op, n] : report.integer) fmt::print(stderr, "integer {} x{}\n", op, n);
  for (const ir::StayedFloat& s : report.stayed)
    fmt::print(stderr, "float {} '{}': {}\n", s.op, s.name, s.reason);
}

// Returns the graph of a .wick file, with its origin as the metadata that an ONNX file has.
ir::Graph program_of(const std::string& path, const std::string& entry) {
  const Model model = Model::open(path);
  try {
    ir::Graph graph = program_graph(model.program(), entry);
    const ProvenanceDef& p = model.program().provenance();
    if (p.source[0] != '\0') graph.metadata.emplace("wick.source", p.source);
    if (p.seed != 0) graph.metadata.emplace("wick.seed", std::to_string(p.seed));
    graph.metadata.erase("wick.passes");  // none of them is in a file of plain operators
    return graph;
  } catch (const Error& e) {
    throw Error(
        fmt::format("{} has no form in ONNX: {}; the model that it was made of may have one", path,
                    e.what()),
        e.code());
  }
}

// Refuses what does not go together. Returns whether the model is a .wick file.
bool check_convert(const ConvertCommand& c) {
  if (!ends_with(c.out, ".onnx") && !ends_with(c.out, ".wick"))
    wrong_usage("--out", "must end in .wick or .onnx, got '" + c.out + "'");
  if (!c.quantized.empty() && !ends_with(c.out, ".onnx"))
    wrong_usage("--quantized", "is for ONNX files; name one: -o FILE.onnx");
  if (c.pack && ends_with(c.out, ".onnx"))
    wrong_usage("--pack", "is for .wick files; name one: -o FILE.wick");
  if (c.external_data && shown(c.out) != c.out)
    wrong_usage("--external-data", "writes a second file beside the model; name it: -o FILE.onnx");
  if (c.products != Products::kExact && ends_with(c.out, ".onnx"))
    wrong_usage("--numerics", "is for .wick files: ONNX cannot say how products are added");
  if (c.fold_bytes != 0 && ends_with(c.out, ".onnx"))
    wrong_usage("--fold-limit", "is for .wick files: nodes of constants stay nodes in ONNX");
  check_form(c.form, {c.out});
  check_places({c.model}, {{"--out", c.out}});
  if (!is_wick_file(c.model)) {
    if (!c.entry.empty()) wrong_usage("--entry", "is for programs (.wick)");
    return false;
  }
  if (ends_with(c.out, ".wick")) {
    throw Error(
        fmt::format("{} is a .wick file already; -o FILE.onnx writes it as ONNX, and a .wick "
                    "with other options is made of the model that it was made of",
                    c.model));
  }
  if (c.own_sizes) wrong_usage("--own-sizes", "is for ONNX models");
  return true;
}

void convert(const ConvertCommand& c) {
  const bool onnx = ends_with(c.out, ".onnx"), wick = check_convert(c);
  ir::LowerReport lowered;
  ir::Graph graph =
      wick ? program_of(c.model, c.entry)
           : open_graph(c.model, {.own_sizes = c.own_sizes,
                                  .lower_qdq = onnx ? !c.quantized.empty() : c.lower_qdq,
                                  .lowered = &lowered});
  for (const std::string& dim : c.dims) check_named_size(graph, dim);  // or it throws
  if (c.verbose) print_lowered(lowered);
  const ir::Graph read = graph;
  Written written(c.checks, c.model);
  if (onnx) {
    if (wick) {
      constexpr ir::Pass kPlain[] = {ir::kUnfuse};
      ir::run_passes(graph, kPlain);
    }
    graph.metadata.emplace("wick.source", shown(c.model));
    const QuantizedForm form =
        c.quantized == "qdq" ? QuantizedForm::kQdq : QuantizedForm::kOperators;
    export_onnx(graph, c.out, {c.external_data, form});
  } else {
    ProgramInfo info = graph_origin(graph, c.model);
    const ir::PassReport report =
        written.optimize(&graph, !c.no_chains, c.dims, c.products, c.fold_bytes);
    info.passed(report);
    // There is one rounding where the file has several.
    if (lowered.quantized && lowered.integer_nodes() > 0)
      info.numerics = std::max(info.numerics, NumericsClass::kReassociates);
    if (c.pack) {
      write_packed(graph, info, c);
    } else {
      write_program(graph, c.out, info, {}, c.form);
    }
  }
  const nlohmann::json verified =
      written.verify(read, c.out, {c.dims, onnx ? !c.quantized.empty() : c.lower_qdq});
  const ProductCounts products = product_counts(graph);
  if (c.json) {
    print_json({{"file", c.out},
                {"source", c.model},
                {"winograd", products.winograd},
                {"bf16", products.bf16},
                {"undone", written.undone()},
                {"verified", verified}});
  } else if (c.products != Products::kExact) {
    fmt::print("{}: numerics {}, {}\n", c.out, products_name(c.products),
               products_text(products, c.products));
  } else {
    fmt::print("{}\n", c.out);
  }
  written.finish();
}

}  // namespace

void add_convert(CommandLine& app) {
  auto c = std::make_shared<ConvertCommand>();
  Command command = app.add_command("convert", "Convert a model to .wick or to ONNX");
  command
      .add_option("model", c->model,
                  "model.onnx or model.tflite; model.wick: to ONNX; -: standard input")
      .required()
      .reads_file();
  accept_ops(command);
  accept_signature(command);
  accept_qdq(command, &c->lower_qdq);
  command
      .add_option("-o,--out", c->out,
                  "model.wick or model.onnx; -: .wick to standard output, -.onnx: ONNX")
      .required()
      .writes_file(".wick");
  accept_entry(command, &c->entry);
  accept_numerics(command, &c->products);
  command.add_flag("--external-data", c->external_data,
                   "constants of an ONNX model into FILE.data beside it");
  command.add_flag("--own-sizes", c->own_sizes,
                   "a name that several dimensions of the inputs share stands for one size each");
  command.add_flag("--no-chains", c->no_chains,
                   "small ops stay nodes of their own: for a program of wick_selected_ops()");
  command.add_bytes("--fold-limit", c->fold_bytes,
                    "memory of all constants when nodes of constants are folded to one; without it "
                    "in proportion to what the model has");
  command.add_flag("--pack", c->pack,
                   "add the weights as this machine's kernels read them: larger, loaded at once");
  command
      .add_option("--quantized", c->quantized,
                  "of ONNX: qdq or qoperator (QLinearConv ...); without it the file's own form")
      .one_of({"qdq", "qoperator"});
  command.add_flag("-v,--verbose", c->verbose,
                   "of a quantized model: the integer ops, and what stays float and why");
  accept_form(command, &c->form);
  accept_checks(command, &c->checks, true);
  command
      .add_option("--dim", c->dims,
                  "NAME=N: of --pack and of what is verified, a size that is not the batch")
      .one_word()
      .named_size();
  command.add_flag("--json", c->json, "print what was written as JSON");
  command.footer(
      "Example:\n  wick convert mobilenet.onnx -o mobilenet.wick\n"
      "  wick convert lenet.wick -o lenet.onnx");
  command.callback([c] { convert(*c); });
}

}  // namespace wick::tool
