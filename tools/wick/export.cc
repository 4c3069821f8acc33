// wick export: a training run as ONNX or .wick.
#include <fmt/format.h>

#include "exporter/include/wick/compile.h"
#include "tools/wick/command.h"
#include "tools/wick/trained.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

struct ExportCommand {
  std::string folder;
  std::vector<std::string> out;
};

bool ends_with(const std::string& s, const std::string& end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

void run_export(const ExportCommand& c) {
  Trained trained = open_trained(c.folder);
  ir::Graph graph = capture_trained(trained);
  for (const std::string& out : c.out) {
    if (ends_with(out, ".onnx")) {
      export_onnx(graph, out);
      fmt::print("{}: ONNX opset 17, checked by libonnx\n", out);
    } else if (ends_with(out, ".wick")) {
      ir::Graph optimized = graph;
      ir::PassReport report = ir::optimize(optimized);
      write_program(
          optimized, out,
          {.seed = trained.seed, .numerics = static_cast<NumericsClass>(report.numerics)});
      std::string passes;
      for (const auto& name : report.changed) passes += (passes.empty() ? "" : ", ") + name;
      fmt::print("{}: numerics {} (passes that changed it: {})\n", out,
                 ir::numerics_name(report.numerics), passes);
    } else {
      throw Error("-o must end in .onnx or .wick, got '" + out + "'");
    }
  }
}

}  // namespace

void add_export(CLI::App& app) {
  auto c = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand("export", "Export a trained model to ONNX or .wick");
  command->add_option("run", c->folder, "folder that wick train wrote")->required();
  command->add_option("-o,--out", c->out, "model.onnx or model.wick; more than one is fine")
      ->required();
  command->footer("Example:\n  wick export runs/lenet -o lenet.onnx -o lenet.wick");
  command->callback([c] { run_export(*c); });
}

}  // namespace wick::tool
