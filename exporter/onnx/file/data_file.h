// Reads and writes ONNX's data files (onnx-data.proto, and TensorProto): one value per file, of the
// type that a model declares.
#pragma once

#include <string>

#include "graph/ir/graph.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// Decodes the bytes of a TensorProto, SequenceProto or OptionalProto, by `type`; sequences and
// optionals become packed values. Throws Error with `what` in its text.
HostTensor decode_data(const std::string& bytes, const ir::Value& type, const std::string& what);
std::string encode_data(const HostTensor& value, const std::string& name);

}  // namespace wick::onnx
