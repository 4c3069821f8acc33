// wick convert: ONNX <-> .wick without training.
#include <fmt/format.h>

#include "exporter/onnx/onnx.h"
#include "exporter/program/program_writer.h"
#include "tools/wick/command.h"
#include "tools/wick/model.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

struct ConvertCommand {
  std::string model, out;
  bool json = false, external_data = false;
};

void convert(const ConvertCommand& c) {
  if (!ends_with(c.out, ".onnx") && !ends_with(c.out, ".wick"))
    wrong_usage("--out", "must end in .wick or .onnx, got '" + c.out + "'");
  if (is_wick_file(c.model))
    throw Error(c.model + " is a .wick file already: only ONNX models can be converted");
  ir::Graph graph = import_onnx(c.model);
  if (ends_with(c.out, ".onnx")) {
    graph.metadata.emplace("wick.source", c.model);
    export_onnx(graph, c.out, {c.external_data});
  } else {
    ProgramInfo info = onnx_origin(graph, c.model);
    info.numerics = static_cast<NumericsClass>(ir::optimize(graph).numerics);
    write_program(graph, c.out, info);
  }
  if (c.json)
    print_json({{"file", c.out}, {"source", c.model}});
  else
    fmt::print("{}\n", c.out);
}

}  // namespace

void add_convert(CLI::App& app) {
  auto c = std::make_shared<ConvertCommand>();
  CLI::App* command = app.add_subcommand(
      "convert", "Convert an ONNX model to .wick (or to ONNX as Wick writes it)");
  command->add_option("model", c->model, "model.onnx")->required();
  accept_ops(*command);
  command->add_option("-o,--out", c->out, "model.wick or model.onnx")->required();
  command->add_flag("--external-data", c->external_data,
                    "constants of an ONNX model into FILE.data beside it");
  command->add_flag("--json", c->json, "print what was written as JSON");
  command->footer("Example:\n  wick convert mobilenet.onnx -o mobilenet.wick");
  command->callback([c] { convert(*c); });
}

}  // namespace wick::tool
