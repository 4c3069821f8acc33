#include "trainer/autograd/grad/common.h"

namespace wick {

WICK_NONDIFF(BitCast, NonDiff::kIntegerOutput);
WICK_NONDIFF(QuantizeLinear, NonDiff::kPiecewiseConstant);
// x has integers; a scale that is trained is written as a product
WICK_NONDIFF(DequantizeLinear, NonDiff::kPiecewiseConstant);
// created by graph passes
WICK_NONDIFF(BlockLinear, NonDiff::kInferenceOnly);
WICK_NONDIFF(MatMulInteger, NonDiff::kIntegerOutput);
WICK_NONDIFF(ConvInteger, NonDiff::kIntegerOutput);
WICK_NONDIFF(QLinearConv, NonDiff::kIntegerOutput);
WICK_NONDIFF(QLinearMatMul, NonDiff::kIntegerOutput);
WICK_NONDIFF(QGemm, NonDiff::kIntegerOutput);
WICK_NONDIFF(QLinearAdd, NonDiff::kIntegerOutput);
WICK_NONDIFF(QLinearMul, NonDiff::kIntegerOutput);
WICK_NONDIFF(QLinearPRelu, NonDiff::kIntegerOutput);
WICK_NONDIFF(QLinearAveragePool, NonDiff::kIntegerOutput);
WICK_NONDIFF(QLinearGlobalAveragePool, NonDiff::kIntegerOutput);
WICK_NONDIFF(ByteTable, NonDiff::kIntegerOutput);
WICK_NONDIFF(QLinearSoftmax, NonDiff::kIntegerOutput);
WICK_NONDIFF(DynamicQuantizeLinear, NonDiff::kPiecewiseConstant);
WICK_NONDIFF(DynamicLinear, NonDiff::kPiecewiseConstant);
// an op of programs; the trainer's dropout() is a product with a mask
WICK_NONDIFF(Dropout, NonDiff::kRandom);

}  // namespace wick
