#include "runtime/ops/op_cost.h"

#include "runtime/ops/attrs.h"
#include "runtime/ops/op_facts.h"
#include "runtime/ops/op_info.h"
#include "runtime/ops/shape_counts.h"

namespace wick {
namespace {

using namespace counts;  // NOLINT: short names for estimates

double bytes_of(const TensorView& v) {
  if (v.dtype == DType::kNone || is_container(v.dtype)) return 0;
  double n = 1;
  for (int i = 0; i < v.rank(); ++i) {
    if (v.strides[i] != 0 || v.shape[i] == 0) n *= static_cast<double>(v.shape[i]);
  }
  return n * dtype_bits(v.dtype) / 8;
}

// Returns b * n^3 for a batch of b square matrices.
double cubes(const Shape& s) { return elements(s) * dim(s, -1); }

// The operations per element of the output, or of the input where the op reads more than it writes.
enum class Of { kOutput, kInput, kNothing };
struct Rate {
  Of of;
  double each;
};

// clang-format off
consteval OpFacts<Rate> rates() {
  using enum OpId;
  return {Rate{Of::kNothing, 0}, {
      {{Of::kNothing, 0},
        {kIdentity, kCast, kReshape, kFlatten, kSqueeze, kUnsqueeze, kTranspose, kExpand,
         kConcat, kSplit, kSlice, kPad, kShape, kGather, kGatherElements, kSliceScatter,
         kAsStrided, kAsStridedScatter, kGatherND, kTrilu, kBitCast, kDropout, kCol2Im,
         kSequenceConstruct, kSequenceInsert, kSequenceErase, kSequenceAt, kSequenceLength,
         kSplitToSequence, kConcatFromSequence, kOptional, kOptionalHasElement,
         kOptionalGetElement, kStringConcat, kStringSplit, kStringNormalizer, kCastString,
         kRegexFullMatch, kIf, kLoop}},
      {{Of::kInput, 1},
        {kReduceSum, kReduceMean, kReduceMax, kReduceMin, kReduceProd, kArgMax, kArgMin,
         kNonZero, kMaxPool, kAveragePool, kMaxPoolIndices, kMaxPoolGrad, kAveragePoolGrad,
         kCumSum, kCumProd}},
      {{Of::kInput, 2},
        {kLpPool}},
      {{Of::kOutput, 2},
        {kBatchNorm, kSilu, kHardSwish, kDequantizeLinear}},
      {{Of::kOutput, 5},
        {kSoftmax, kLogSoftmax, kFakeQuantize}},
      {{Of::kOutput, 6},
        {kBatchNormTrain}},
      {{Of::kOutput, 9},
        {kBatchNormGrad, kLayerNormGrad, kGroupNormGrad}},
      {{Of::kOutput, 4},
        {kGelu, kFakeQuantizeGrad}},
      {{Of::kOutput, 3},
        {kSigmoid, kQuantizeLinear}},
      {{Of::kOutput, 8},
        {kResize, kResizeGrad, kGridSample, kRoiAlign}},
      {{Of::kOutput, 1},
        {kRelu, kLeakyRelu, kElu, kTanh, kHardSigmoid, kSoftplus, kExp, kLog, kSqrt,
         kReciprocal, kErf, kSin, kCos, kTan, kAsin, kAcos, kAtan, kSinh, kCosh, kAsinh, kAcosh,
         kAtanh, kNeg, kAbs, kFloor, kCeil, kRound, kSign, kClip, kNot, kAdd, kSub, kMul, kDiv,
         kPow, kMax, kMin, kPRelu, kEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kAnd, kOr,
         kXor, kWhere, kMatMul, kLinear, kFusedLinear, kConv, kFusedConv, kConvInputGrad,
         kConvWeightGrad, kScatterElements, kScatterND, kTopK, kUnique, kMod, kBitwiseAnd,
         kBitwiseOr, kBitwiseXor, kBitwiseNot, kBitShift, kIsNaN, kIsInf, kLog1p, kExpm1, kLog2,
         kLog10, kErfc, kAtan2, kCholesky, kTriangularSolve, kSolve, kInverse, kDet, kSlogDet,
         kQr, kSvd, kEigh, kLuFactor, kEig, kMatMulInteger, kConvInteger, kLinearAttention, kAffineGrid,
         kMaxRoiPool, kConvTranspose, kDeformConv, kRNN, kGRU, kLSTM, kDFT, kTfIdfVectorizer,
         kRange, kNonMaxSuppression, kFusedElementwise, kFusedAttention, kFusedMatMul,
         kBlockLinear, kQLinearConv, kQLinearMatMul, kQGemm, kQLinearAdd, kQLinearMul,
         kQLinearAveragePool, kQLinearGlobalAveragePool, kByteTable, kQLinearSoftmax, kQLinearPRelu,
         kDynamicLinear, kFoldedBatchNorm, kDynamicQuantizeLinear, kTreeEnsemble, kLookUp}},
  }};
}
// clang-format on
constexpr OpFacts<Rate> kRates = rates();

// Returns the leading term for ops without a rate (decompositions and transforms); -1: it has a
// rate.
double closed_form(OpId op, Span<const TensorView> in) {
  const Shape& a = in[0].shape;
  const double m = dim(a, -2), n = dim(a, -1);
  const double batch = m * n == 0 ? 0 : elements(a) / (m * n), k = least(m, n);
  const double columns = in.size() > 1 ? n * elements(in[1].shape) : 0;
  if (op == OpId::kCholesky) return cubes(a) / 3;
  if (op == OpId::kSolve) return 2 * cubes(a) / 3 + 2 * columns;  // LU, then two triangular solves
  if (op == OpId::kTriangularSolve) return columns;
  if (op == OpId::kInverse) return 2 * cubes(a);
  if (op == OpId::kDet || op == OpId::kSlogDet) return 2 * cubes(a) / 3;
  if (op == OpId::kQr) return batch * (4 * m * n * k - 4 * k * k * k / 3);
  if (op == OpId::kSvd) return batch * (4 * m * n * k + 22 * k * k * k);
  if (op == OpId::kEigh) return 9 * cubes(a);
  if (op == OpId::kEig) return 25 * cubes(a);
  if (op == OpId::kLuFactor) return batch * (m * n * k - (m + n) * k * k / 2 + k * k * k / 3) * 2;
  if (op == OpId::kDFT) return 5 * elements(a) / most(1, n <= 2 ? n : 1) * log2_of(n <= 2 ? m : n);
  if (op == OpId::kTopK) return elements(a) * log2_of(n);
  return -1;
}

}  // namespace

OpCost op_cost(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out) {
  OpCost cost;
  for (const TensorView& v : in) cost.bytes_read += bytes_of(v);
  for (const TensorView& v : out) cost.bytes_written += bytes_of(v);
  const OpKind kind = kind_of(op);
  if ((kind == OpKind::kGather || kind == OpKind::kMove) && !in.empty()) {
    const double all = bytes_of(in[0]);  // no more of it is read than is written
    if (all > cost.bytes_written) cost.bytes_read += cost.bytes_written - all;
  }
  if (is_custom(op) || in.empty() || out.empty()) return cost;
  constexpr size_t kMost = 8;  // no product has more
  Shape ins[kMost], outs[kMost];
  size_t n = 0, m = 0;
  for (; n < in.size() && n < kMost; ++n) ins[n] = in[n].shape;
  for (; m < out.size() && m < kMost; ++m) outs[m] = out[m].shape;
  cost.macs = op_macs(op, attrs, {ins, n}, {outs, m});
  if (cost.macs > 0) {
    const bool biased = op == OpId::kLinear || op == OpId::kConv || op == OpId::kConvTranspose;
    if (biased && in.size() > 2 && in[2].present()) cost.other = elements(outs[0]);
    return cost;
  }
  if (double flops = closed_form(op, in); flops >= 0) {
    cost.other = flops;
    return cost;
  }
  const Rate r = kRates[op];
  if ((op == OpId::kMaxPool || op == OpId::kAveragePool) && attrs != nullptr) {
    cost.other = elements(outs[0]);
    for (int64_t k : static_cast<const PoolAttrs*>(attrs)->kernel_shape.span())
      cost.other *= static_cast<double>(k);
  } else if (op == OpId::kFusedElementwise && attrs != nullptr) {
    cost.other =
        elements(outs[0]) * static_cast<double>(static_cast<const ChainAttrs*>(attrs)->steps.count);
  } else if (r.of != Of::kNothing) {
    cost.other = r.each * elements(r.of == Of::kInput ? ins[0] : outs[0]);
  }
  return cost;
}

}  // namespace wick
