// ONNX <-> Graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/passes/lower_qdq.h"
#include "runtime/core/ledger.h"

namespace wick {

// Reads a model file: IR 3-14, opset 1-28 of the default domain, external data inside the model's
// folder only. Throws Error; what is not supported is listed whole, with the nodes' names. A newer
// IR or opset is read with a warning where all its operators are known and have nothing new; they
// are then what they are in the newest version that is known.
struct OnnxReadOptions {
  // Large weights are read when somebody asks for their bytes: for a graph that is compiled and run
  // right away. The file is held open, and must not be written to while the graph or a program made
  // of it lives: bytes that can no longer be had are an Error (a Status, of a session).
  bool weights_stay = false;
  // Every dimension of an input has a size of its own, also where the file gives several of them
  // one name (the further ones are NAME_2, NAME_3 ...). A name stands for one size otherwise, and
  // inputs that give it two are an error when they are bound: ONNX Runtime takes such files.
  bool own_sizes = false;
  // What stands between DequantizeLinear and QuantizeLinear becomes integer ops (ir::lower_qdq), as
  // ONNX Runtime runs such a file; false: float ops between the two, as the file says it.
  bool lower_qdq = false;
  // Where given: the integer ops, and what stayed float and why.
  ir::LowerReport* lowered = nullptr;
  // What reading may make beyond the file, so that a small file is no large model: bytes of sparse
  // tensors when dense, and nodes, sizes and functions visited, each time that one is read. 0 is
  // 4 MiB and 64 times the file, and 2^16 and 8 times the file. More is kBudgetExceeded.
  uint64_t max_ram = 0, max_visits = 0;
  // Where given: what was spent of these, also where the file was refused.
  LedgerLimits* spent = nullptr;
  // Where given: the warnings, a sentence each; else they go to stderr, a line each.
  std::vector<std::string>* warnings = nullptr;
};
ir::Graph import_onnx(const std::string& path, const OnnxReadOptions& options = {});
// The same from memory. `folder` is where external data may lie; empty: none.
ir::Graph import_onnx_bytes(Span<const uint8_t> bytes, const std::string& folder = "",
                            const OnnxReadOptions& options = {});

// How the operators of bytes are written: each as the operator it is (QLinearConv; QGemm,
// QLinearAdd ... of com.microsoft where ONNX has none), or as the float operator between
// DequantizeLinear and QuantizeLinear, which OnnxReadOptions::lower_qdq reads back. Tables
// (ByteTable) are a Gather, DynamicLinear is standard operators in both.
enum class QuantizedForm { kOperators, kQdq };

// At OnnxFileOptions' opset, with symbolic dims as
// dim_params, labels and metadata as metadata_props; reading it gives the graph's text again where
// it was read from ONNX. Throws Error when an op has no ONNX form (train-role and fused ops), or
// when libonnx's checker, which knows opset 17, finds fault.
std::vector<uint8_t> onnx_bytes(const ir::Graph& graph,
                                QuantizedForm quantized = QuantizedForm::kOperators,
                                int64_t opset = 0);
// The op_types of the nodes that onnx_bytes() writes, in order, custom ones as "domain::Name".
std::vector<std::string> onnx_op_types(const ir::Graph& graph,
                                       QuantizedForm quantized = QuantizedForm::kOperators);

struct OnnxFileOptions {
  // Constants of 1 KiB and more go to PATH.data. Those over 2 GB in all do anyway: one ONNX file
  // cannot hold them.
  bool external_data = false;
  QuantizedForm quantized = QuantizedForm::kOperators;
  // 11 to 28 (others are an Error); 0 is 17. A later one is taken where a form needs it:
  // OnnxFile::opset says which, OnnxFile::opset_by what needs it. Several operators stand for one
  // that came later (Gelu 20, Swish 24, LayerNormalization 17); read by Wick they have its bits.
  int64_t opset = 0;
};
struct OnnxFile {
  int64_t opset = 0;
  std::string data_path;  // empty: everything is in the model
  // Where the opset is later than the one asked for: "Pad 'conv.pad'"; else empty.
  std::string opset_by;
};
// The files are written beside the old ones and renamed over them: a failure leaves the old ones
// whole.
OnnxFile export_onnx(const ir::Graph& graph, const std::string& path,
                     const OnnxFileOptions& options = {});
// A value in a file of ONNX's own (TensorProto, SequenceProto, OptionalProto), of this type:
// `dtype` kSequence and the like with the dtype of the elements. `what` names it in errors.
HostTensor read_onnx_data(const std::string& bytes, DType dtype, DType element,
                          const std::string& what);
std::string write_onnx_data(const HostTensor& value, const std::string& name);

}  // namespace wick
