#pragma once

#include "runtime/ops/op_info.h"

namespace wick::ir {

// Returns whether integer lowering makes this op: its inputs are bytes that stand for reals. ONNX's
// ops that give sums of integers are not among them, nor is float32 by weights in blocks.
inline bool is_byte_op(OpId op) {
  const OpKind kind = kind_of(op);
  if (kind == OpKind::kByteMath) return true;
  if (kind != OpKind::kByteConv && kind != OpKind::kByteProduct) return false;
  return op != OpId::kConvInteger && op != OpId::kMatMulInteger && op != OpId::kBlockLinear;
}

}  // namespace wick::ir
