#include "quantize/parameters.h"

namespace wick::quantize {

bool is_parameter(OpId op, size_t i, DType dtype, int64_t numel) {
  const char role = input_role(op, i);
  switch (kind_of(op)) {
    case OpKind::kByteProduct:
    case OpKind::kByteConv: return role == 'x' || role == 'w' || role == 'b';
    case OpKind::kByteMath:
    case OpKind::kDequantize: return role == 'x' && numel > 1;
    case OpKind::kQuantize:
    case OpKind::kFakeQuantize: return role == 'x' && numel > 1 && is_float(dtype);
    case OpKind::kGather:  // rows of a table, which may be integers
      return role == 'x' && numel > 1 && (is_float(dtype) || dtype_bits(dtype) <= 8);
    default: return is_float(dtype) && numel > 1;
  }
}

}  // namespace wick::quantize
