// Wick's compiler in C++: capture a module, read and write ONNX, optimise, write .wick. Example
// (tests/docs/readme_train.cc):
//
//   net.eval();
//   export_wick(capture(net, {{"image", zeros({1, 1, 28, 28}), {{0, "batch"}}, {}}}), "net.wick");
//
// Everything here throws wick::Error; what a user must fix as a list (operators that cannot be
// read, training ops) is reported all at once.
//
//   capture      a module in eval mode -> graph (trainer/capture/capture.h)
//   import_onnx  an ONNX file -> graph; export_onnx the way back (exporter/onnx/onnx.h)
//   import_tflite   a TensorFlow Lite file -> graph (exporter/tflite/tflite.h)
//   import_module   an ONNX file -> nn::GraphModule, to be trained (trainer/capture/graph_module.h)
//   ir::optimize, ir::run, ir::print   passes, interpreter, text (graph/)
//   export_wick  graph -> .wick; compile_program the same in memory
//
// wick/quantize.h quantizes graphs and modules.
#pragma once

#include "exporter/onnx/onnx.h"
#include "exporter/program/program_writer.h"
#include "exporter/tflite/tflite.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/passes/lower_qdq.h"
#include "graph/rewrite/pass.h"
#ifdef WICK_WITH_TRAINER
#include "exporter/onnx/training.h"
#include "trainer/capture/capture.h"
#include "trainer/capture/decoder.h"
#include "trainer/capture/graph_module.h"
#endif

namespace wick {

// Options of compile_program() and export_wick().
struct CompileOptions {
  // Fuses chains of small ops into one FusedElementwise. Turn it off for a program linked with
  // wick_selected_ops: a chain brings in the kernels of every elementwise op, some 400 KB.
  bool chains = true;
  // Numerics that the file chooses (docs/numerics.md). kWinograd: 3x3 convolutions are faster and
  // have other bits; the program states the class `reassociates`. kBf16: operands of products are
  // rounded to bfloat16; the class is `approximates`.
  Products products = Products::kExact;
  // Each sample has the graph's inputs, in order: every pass is checked on the samples and undone
  // where it breaks its promise (ir::OptimizeOptions). `report`, if given, then says so.
  std::vector<std::vector<HostTensor>> samples = {};
  ir::PassReport* report = nullptr;
  ProgramForm form = {};  // how the file keeps the program
};

// Optimises a copy by exact passes (and those of `products`), then makes the program: what `wick
// run model.onnx` loads. The bytes are for Program::load, which takes them without a copy when they
// are 64-byte aligned. The weakest promise of the passes that changed something is recorded; a
// weaker one in `info` stays. Throws Error when a node belongs to training (all such nodes are
// listed) or the graph is unsound.
std::vector<uint8_t> compile_program(ir::Graph graph, ProgramInfo info = {},
                                     CompileOptions options = {});

// Writes the same into a file, which is replaced as a whole: on an error (kIo: a full disk, a
// missing folder) an older file of that name is left as it was.
void export_wick(ir::Graph graph, const std::string& path, ProgramInfo info = {},
                 CompileOptions options = {});

// The same for programs of several entry points, which share weights and states (ir::Entry). There
// are no samples here, and `report` gets that of the last entry point.
std::vector<uint8_t> compile_program(std::vector<ir::Entry> entries, ProgramInfo info = {},
                                     CompileOptions options = {});
void export_wick(std::vector<ir::Entry> entries, const std::string& path, ProgramInfo info = {},
                 CompileOptions options = {});

#ifdef WICK_WITH_TRAINER
// Reads an ONNX file for training.
inline nn::GraphModule import_module(const std::string& path) {
  return nn::GraphModule(import_for_training(path));
}

// Do the same: wick::import_onnx() returns the graph, nn::import_onnx() the module.
namespace nn {
// The same as import_module().
inline GraphModule import_onnx(const std::string& path) { return import_module(path); }
}  // namespace nn
#endif

}  // namespace wick
