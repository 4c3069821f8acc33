#pragma once

#include "wick_onnx.pb.h"

namespace wick::onnx {

// Fuses what Wick wrote as several nodes, because the opset had no such operator (SiLU, GELU), into
// the one node again before it is read: each part says which form it belongs to (wick.form), and
// all parts must be there. Subgraphs are included.
void gather_parts(GraphProto* graph);

}  // namespace wick::onnx
