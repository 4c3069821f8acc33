// Wick's compiler in C++: capture a model, read and write ONNX, optimise, write .wick.
//
//   wick::ir::Graph g = wick::capture(model, {{"image", example, {{0, "batch"}}}});
//   wick::export_onnx(g, "model.onnx");
//   wick::export_wick(g, "model.wick");
#pragma once

#include "exporter/onnx/onnx.h"
#include "exporter/program/program_writer.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"
#ifdef WICK_WITH_TRAINER
#include "exporter/capture/capture.h"
#endif

namespace wick {

// Optimises a copy by exact passes, then writes it: what `wick run model.onnx` loads. The promise
// that the passes leave is recorded.
std::vector<uint8_t> compile_program(ir::Graph graph, ProgramInfo info = {});
void export_wick(ir::Graph graph, const std::string& path, ProgramInfo info = {});

}  // namespace wick
