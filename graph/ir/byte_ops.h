#pragma once

#include "runtime/ops/op_info.h"

namespace wick::ir {

// Ops that integer lowering makes: bytes that stand for reals go in. Not those of ONNX that give
// sums of integers, and not float32 by weights in blocks.
inline bool is_byte_op(OpId op) {
  const OpKind kind = kind_of(op);
  if (kind == OpKind::kByteMath) return true;
  if (kind != OpKind::kByteConv && kind != OpKind::kByteProduct) return false;
  return op != OpId::kConvInteger && op != OpId::kMatMulInteger && op != OpId::kBlockLinear;
}

}  // namespace wick::ir
