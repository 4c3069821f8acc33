// wick export: a training run as ONNX or .wick.
#include <fmt/core.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "exporter/include/wick/compile.h"
#include "tools/lib/products.h"
#include "tools/lib/std_files.h"
#include "tools/wick/command.h"
#include "tools/wick/trained.h"
#include "tools/wick/written.h"

namespace wick::tool {
namespace {

struct ExportCommand {
  std::string folder;
  std::vector<std::string> out;
  bool json = false, external_data = false, no_chains = false;
  int64_t opset = 0;
  Products products = Products::kExact;
  ProgramForm form = {.compact = true};
  CheckOptions checks;
};

void run_export(const ExportCommand& c) {
  for (const std::string& out : c.out) {  // checked before any is written
    if (!ends_with(out, ".onnx") && !ends_with(out, ".wick"))
      wrong_usage("--out", "must end in .onnx or .wick, got '" + out + "'");
    if (c.external_data && shown(out) != out)
      wrong_usage("--external-data",
                  "writes a second file beside the model; name it: -o FILE.onnx");
  }
  if (c.products != Products::kExact &&
      std::none_of(c.out.begin(), c.out.end(),
                   [](const std::string& out) { return ends_with(out, ".wick"); }))
    wrong_usage("--numerics", "is for .wick files: ONNX cannot say how products are added");
  check_form(c.form, c.out);
  Trained trained = open_trained(c.folder);
  ir::Graph graph = capture_trained(trained);
  Written written(c.checks, c.folder);
  auto files = nlohmann::json::array();
  for (const std::string& out : c.out) {
    if (ends_with(out, ".onnx")) {
      const OnnxFile file = export_trained_onnx(
          trained, graph, out, {.external_data = c.external_data, .opset = c.opset});
      if (!file.opset_by.empty()) {
        fmt::print(stderr, "note: {}: opset {}: {} has no form at an earlier one\n", out,
                   file.opset, file.opset_by);
      }
      files.push_back({{"file", out}, {"format", "onnx"}, {"opset", file.opset}});
      if (!file.opset_by.empty()) files.back()["opset_by"] = file.opset_by;
      if (!file.data_path.empty()) files.back()["data"] = file.data_path;
      if (!c.json) {
        fmt::print("{}: ONNX opset {}{}{}\n", out, file.opset,
                   file.opset <= 17 ? ", checked by libonnx" : "",
                   file.data_path.empty() ? "" : "; weights in " + file.data_path);
      }
    } else {
      ir::Graph optimized = graph;
      const ir::PassReport report = written.optimize(&optimized, !c.no_chains, {}, c.products);
      ProgramInfo info{.seed = trained.seed};
      info.passed(report);
      write_program(optimized, out, info, {}, c.form);
      files.push_back({{"file", out},
                       {"format", "wick"},
                       {"numerics", ir::numerics_name(report.numerics)},
                       {"winograd", product_counts(optimized).winograd},
                       {"bf16", product_counts(optimized).bf16},
                       {"passes", report.changed},
                       {"undone", written.undone()}});
      if (!c.json) {
        fmt::print("{}: numerics {} (passes that changed it: {})\n", out,
                   ir::numerics_name(report.numerics), info.passes);
        if (c.products != Products::kExact)
          fmt::print("{}: numerics {}, {}\n", out, products_name(c.products),
                     products_text(product_counts(optimized), c.products));
      }
    }
    files.back()["verified"] = written.verify(graph, out, {});
  }
  if (c.json) print_json(files);
  written.finish();
}

}  // namespace

void add_export(CommandLine& app) {
  auto c = std::make_shared<ExportCommand>();
  Command command = app.add_command("export", "Export a trained model to ONNX or .wick");
  command.add_option("run", c->folder, "folder that wick train wrote").required();
  command
      .add_option(
          "-o,--out", c->out,
          "model.onnx or model.wick; more than one is fine; -: .wick to standard output, -.onnx: "
          "ONNX")
      .required()
      .writes_file(".wick");
  accept_numerics(command, &c->products);
  command.add_flag("--external-data", c->external_data,
                   "weights of an ONNX model into FILE.data beside it");
  command
      .add_option(
          "--opset", c->opset,
          "of an ONNX model, 11 to 28 (default: 17); a later one is taken where an op needs it")
      .between(11, 28);
  command.add_flag("--no-chains", c->no_chains,
                   "small ops stay nodes of their own: for a program of wick_selected_ops()");
  accept_form(command, &c->form);
  accept_checks(command, &c->checks, true);
  command.add_flag("--json", c->json, "print what was written as JSON");
  command.footer("Example:\n  wick export runs/lenet -o lenet.onnx -o lenet.wick");
  command.callback([c] { run_export(*c); });
}

}  // namespace wick::tool
