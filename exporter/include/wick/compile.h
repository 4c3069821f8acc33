// Wick's compiler in C++: capture a module, read and write ONNX, optimise, write .wick. Example
// (tests/docs/readme_train.cc):
//
//   net.eval();
//   export_wick(capture(net, {{"image", zeros({1, 1, 28, 28}), {{0, "batch"}}, {}}}), "net.wick");
//
// Everything here throws wick::Error; what a user must fix as a list (operators that cannot be
// read, training ops) is reported all at once.
//
//   capture      a module in eval mode -> graph (exporter/capture/capture.h)
//   import_onnx  an ONNX file -> graph; export_onnx the way back (exporter/onnx/onnx.h)
//   import_module   an ONNX file -> nn::GraphModule, to be trained (exporter/capture/)
//   ir::optimize, ir::run, ir::print   passes, interpreter, text (graph/)
//   quantize::quantize   weights and layers of a graph as integers (quantize/passes/quantize.h)
//   quantize::compare    what that costs, layer by layer (quantize/report/compare.h)
//   quantize::quantize_model, QatModule   a module as integers, as it is or trained for it
//                        (quantize/modules/quantizer.h, quantize/qat/qat_module.h)
//   export_wick  graph -> .wick; compile_program the same in memory
#pragma once

#include "exporter/onnx/onnx.h"
#include "exporter/program/program_writer.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/passes/lower_qdq.h"
#include "graph/rewrite/pass.h"
#include "quantize/passes/quantize.h"
#include "quantize/report/compare.h"
#ifdef WICK_WITH_TRAINER
#include "exporter/capture/capture.h"
#include "exporter/capture/graph_module.h"
#include "quantize/modules/quantizer.h"
#include "quantize/qat/qat_module.h"
#endif

namespace wick {

struct CompileOptions {
  // Chains of small ops as one FusedElementwise. Off for a program linked with wick_selected_ops: a
  // chain brings the kernels of every elementwise op, some 400 KB.
  bool chains = true;
};

// Optimises a copy by exact passes, then makes the program: what `wick run model.onnx` loads. The
// bytes are for Program::load, which takes them without a copy when they are 64-byte aligned. The
// weakest promise of the passes that changed something is recorded; a weaker one in `info` stays.
// Throws Error when a node belongs to training (all such nodes are listed) or the graph is unsound.
std::vector<uint8_t> compile_program(ir::Graph graph, ProgramInfo info = {},
                                     CompileOptions options = {});

// The same into a file, which is replaced as a whole: on an error (kIo: a full disk, a missing
// folder) an older file of that name is as it was.
void export_wick(ir::Graph graph, const std::string& path, ProgramInfo info = {},
                 CompileOptions options = {});

}  // namespace wick
