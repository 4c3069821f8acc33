// Wick's compiler in C++: capture a model, read and write ONNX, optimise, write .wick.
//
//   wick::ir::Graph g = wick::capture(model, {wick::InputSpec("image", {1, 1, 28, 28}).dynamic(0, "batch")});
//   wick::export_onnx(g, "model.onnx");
//   wick::export_wick(g, "model.wick");
#pragma once

#include "exporter/onnx/onnx.h"
#include "exporter/program/program.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"

namespace wick {

// Optimises a copy by exact passes and writes it as a program: what `wick run model.onnx` loads.
inline std::vector<uint8_t> compile_program(ir::Graph graph, ProgramOptions options = {}) {
  ir::PassReport report = ir::optimize(graph);
  options.numerics = report.numerics > options.numerics ? report.numerics : options.numerics;
  return build_program(graph, options);
}

}  // namespace wick
