// Converts between ONNX TensorProto and HostTensor.
#pragma once

#include <string>

#include "graph/ir/host_tensor.h"
#include "runtime/core/ledger.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// Decodes every encoding of the specification: raw_data, the typed lists, external data. External
// files must be inside `folder` (no absolute path, no "..", no symlink out); an empty folder
// refuses them. Throws Error.
HostTensor decode(const TensorProto& proto, const std::string& folder);

// Returns a sparse tensor as the dense one that it stands for, whose bytes are charged to the
// ledger of the whole model.
HostTensor decode(const SparseTensorProto& proto, const std::string& folder, Ledger* ledger);

// Encodes as raw_data, little-endian.
TensorProto encode(const HostTensor& tensor, const std::string& name);

// Maps a data_type; throws Error when Wick has no such dtype.
DType dtype_of_onnx(int32_t data_type, const std::string& what);

}  // namespace wick::onnx
