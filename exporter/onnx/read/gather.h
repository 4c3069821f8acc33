#pragma once

#include "wick_onnx.pb.h"

namespace wick::onnx {

// What Wick wrote as several nodes, because the opset had no such operator (SiLU, GELU), is the one
// node again before it is read: each part says what it is of (wick.form), and all that it consists
// of must be there. Graphs in nodes too.
void gather_parts(GraphProto* graph);

}  // namespace wick::onnx
