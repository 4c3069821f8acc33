#include "quantize/parameters.h"

namespace wick::quantize {

bool is_parameter(OpId op, size_t i, DType dtype, int64_t numel) {
  switch (op) {
    case OpId::kQLinearConv: return i == 3 || i == 8;
    case OpId::kQGemm: return i == 3 || i == 6;
    case OpId::kQLinearMatMul: return i == 0 || i == 3;
    case OpId::kQLinearAdd:
    case OpId::kQLinearMul: return (i == 0 || i == 3) && numel > 1;
    case OpId::kDynamicLinear: return i == 1 || i == 3;
    case OpId::kBlockLinear: return i == 1 || i == 4;
    case OpId::kMatMulInteger:
    case OpId::kConvInteger: return i < 2;
    case OpId::kDequantizeLinear: return i == 0 && numel > 1;
    case OpId::kQuantizeLinear: return i == 0 && is_float(dtype) && numel > 1;
    case OpId::kQLinearAveragePool:
    case OpId::kQLinearGlobalAveragePool:
    case OpId::kQLinearSoftmax:
    case OpId::kByteTable:
    case OpId::kFakeQuantize: return i == 0 && numel > 1;
    // rows of a table, which may be integers
    case OpId::kGather: return i == 0 && numel > 1 && (is_float(dtype) || dtype_bits(dtype) <= 8);
    default: return is_float(dtype) && numel > 1;
  }
}

}  // namespace wick::quantize
