// Converts between ONNX and graphs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/passes/lower_qdq.h"
#include "runtime/core/ledger.h"

namespace wick {

// Reads a model file: IR 3-14, opset 1-28 of the default domain, external data inside the model's
// folder only. Throws Error that lists everything that is not supported, with the nodes' names. A
// newer IR or opset is read with a warning if all its operators are known and have nothing new;
// they then have the semantics of the newest version that is known.
struct OnnxReadOptions {
  // Large weights, those in external data included, are read when somebody asks for their bytes:
  // for a graph that is compiled and run right away. Their files are held open, and must not be
  // written to while the graph or a program made of it lives: bytes that can no longer be read are
  // an Error (a Status, in a session).
  bool weights_stay = false;
  // Every dimension of an input gets a size of its own, even if the file gives several of them one
  // name (the further ones are NAME_2, NAME_3 ...). Otherwise a name stands for one size, and
  // inputs that give it two are an error when they are bound: ONNX Runtime takes such files.
  bool own_sizes = false;
  // Lowers what is between DequantizeLinear and QuantizeLinear to integer ops (ir::lower_qdq), as
  // ONNX Runtime runs such a file; false: keeps float ops between the two, as the file says it.
  bool lower_qdq = false;
  // If given: gets the integer ops, and what stayed float and why.
  ir::LowerReport* lowered = nullptr;
  // Limits what reading may make beyond the file, so that a small file is no large model: bytes of
  // sparse tensors once dense, of constants that operators stand for, and of external data where
  // tensors overlap in it (its own size is free, and so are tensors of the same bytes); and nodes,
  // sizes and functions visited, each time that one is read. 0 is 4 MiB and 64 times the file, and
  // 2^16 and 8 times the file. The nodes, attributes and tensors of the parsed file, without what
  // they hold, may take max_ram, 4 MiB or 32 times the file, whichever is most. More is
  // kBudgetExceeded.
  uint64_t max_ram = 0, max_visits = 0;
  // If given: gets what was spent of these limits, even if the file was refused.
  LedgerLimits* spent = nullptr;
  // If given: gets the warnings, a sentence each; else they go to stderr, a line each.
  std::vector<std::string>* warnings = nullptr;
};
// Returns the graph, in the runtime's ops where the options do not say otherwise.
ir::Graph import_onnx(const std::string& path, const OnnxReadOptions& options = {});
// Reads the same from memory. External data may be in `folder`; if that is empty, there is none.
ir::Graph import_onnx_bytes(Span<const uint8_t> bytes, const std::string& folder = "",
                            const OnnxReadOptions& options = {});

// The form in which byte operators are written: each as the operator it is (QLinearConv; QGemm,
// QLinearAdd ... of com.microsoft where ONNX has none), or as the float operator between
// DequantizeLinear and QuantizeLinear, which OnnxReadOptions::lower_qdq reads back. In both forms a
// table (ByteTable) is a Gather, and DynamicLinear is standard operators.
enum class QuantizedForm { kOperators, kQdq };

// Writes the graph at OnnxFileOptions' opset, with symbolic dims as dim_params, and labels and
// metadata as metadata_props; reading it gives the graph's text again if the graph was read from
// ONNX. Throws Error when an op has no ONNX form (train-role and fused ops), or when libonnx's
// checker, which knows opset 17, finds fault.
std::vector<uint8_t> onnx_bytes(const ir::Graph& graph,
                                QuantizedForm quantized = QuantizedForm::kOperators,
                                int64_t opset = 0);
// Returns the op_types of the nodes that onnx_bytes() writes, in order, custom ones as
// "domain::Name".
std::vector<std::string> onnx_op_types(const ir::Graph& graph,
                                       QuantizedForm quantized = QuantizedForm::kOperators);

// Options of export_onnx().
struct OnnxFileOptions {
  // Constants of 1 KiB and more go to PATH.data. If all constants are over 2 GB together they do
  // anyway: one ONNX file cannot hold them.
  bool external_data = false;
  QuantizedForm quantized = QuantizedForm::kOperators;  // how quantized layers are written
  // The opset is 11 to 28 (others are an Error); 0 is 17. A later one is taken if a form needs it:
  // OnnxFile::opset says which, OnnxFile::opset_by what needs it. Several operators stand for one
  // that came later (Gelu 20, Swish 24, LayerNormalization 17); read by Wick they have its bits.
  int64_t opset = 0;
};
// Says what export_onnx() wrote.
struct OnnxFile {
  int64_t opset = 0;      // the opset of the file
  std::string data_path;  // empty: everything is in the model
  // Says what needs an opset later than the one asked for: "Pad 'conv.pad'"; else empty.
  std::string opset_by;
};
// The files are written next to the old ones and renamed over them: a failure leaves the old ones
// whole.
OnnxFile export_onnx(const ir::Graph& graph, const std::string& path,
                     const OnnxFileOptions& options = {});
// Reads a value from a file of ONNX's own (TensorProto, SequenceProto, OptionalProto), of this
// type: `dtype` kSequence and the like with the dtype of the elements. `what` names it in errors.
HostTensor read_onnx_data(const std::string& bytes, DType dtype, DType element,
                          const std::string& what);
// Returns the value in that form, with this name.
std::string write_onnx_data(const HostTensor& value, const std::string& name);

}  // namespace wick
