#include "trainer/explain/op_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/ops/attrs.h"

namespace wick {
namespace {

double elements(const Shape& s) {
  double n = 1;
  for (int64_t d : s) n *= static_cast<double>(d);
  return n;
}
// The i-th dimension, counted from the end where negative; 1 where there is none.
double dim(const Shape& s, int i) {
  if (i < 0) i += s.rank();
  return i < 0 || i >= s.rank() ? 1 : static_cast<double>(s[i]);
}

double bytes_of(const TensorView& v) {
  if (v.dtype == DType::kNone || is_container(v.dtype)) return 0;
  double n = 1;
  for (int i = 0; i < v.rank(); ++i) {
    if (v.strides[i] != 0 || v.shape[i] == 0) n *= static_cast<double>(v.shape[i]);
  }
  return n * dtype_bits(v.dtype) / 8;
}

// A square matrix, or a batch of them: b of n^3.
double cubes(const Shape& s) { return elements(s) * dim(s, -1); }

// Operations an element of the output, or of the input where the op reads more than it writes.
enum class Of { kOutput, kInput, kNothing };
struct Rate {
  Of of;
  double each;
};

Rate rate(OpId op) {
  switch (op) {
    // moves elements
    case OpId::kIdentity:
    case OpId::kCast:
    case OpId::kReshape:
    case OpId::kFlatten:
    case OpId::kSqueeze:
    case OpId::kUnsqueeze:
    case OpId::kTranspose:
    case OpId::kExpand:
    case OpId::kConcat:
    case OpId::kSplit:
    case OpId::kSlice:
    case OpId::kPad:
    case OpId::kShape:
    case OpId::kGather:
    case OpId::kGatherElements:
    case OpId::kSliceScatter:
    case OpId::kAsStrided:
    case OpId::kAsStridedScatter:
    case OpId::kGatherND:
    case OpId::kTrilu:
    case OpId::kBitCast:
    case OpId::kDropout:
    case OpId::kCol2Im:
    case OpId::kSequenceConstruct:
    case OpId::kSequenceInsert:
    case OpId::kSequenceErase:
    case OpId::kSequenceAt:
    case OpId::kSequenceLength:
    case OpId::kSplitToSequence:
    case OpId::kConcatFromSequence:
    case OpId::kOptional:
    case OpId::kOptionalHasElement:
    case OpId::kOptionalGetElement:
    case OpId::kStringConcat:
    case OpId::kStringSplit:
    case OpId::kStringNormalizer:
    case OpId::kCastString:
    case OpId::kRegexFullMatch:
    case OpId::kIf:
    case OpId::kLoop: return {Of::kNothing, 0};
    // one an element read
    case OpId::kReduceSum:
    case OpId::kReduceMean:
    case OpId::kReduceMax:
    case OpId::kReduceMin:
    case OpId::kReduceProd:
    case OpId::kArgMax:
    case OpId::kArgMin:
    case OpId::kNonZero:
    case OpId::kMaxPool:
    case OpId::kAveragePool:
    case OpId::kMaxPoolIndices:
    case OpId::kMaxPoolGrad:
    case OpId::kAveragePoolGrad:
    case OpId::kCumSum:
    case OpId::kCumProd: return {Of::kInput, 1};
    case OpId::kLpPool: return {Of::kInput, 2};
    // several an element
    case OpId::kBatchNorm: return {Of::kOutput, 2};       // * scale + shift
    case OpId::kSoftmax: return {Of::kOutput, 5};         // max, -, exp, sum, /
    case OpId::kLogSoftmax: return {Of::kOutput, 5};      // max, -, exp, sum, -
    case OpId::kBatchNormTrain: return {Of::kOutput, 6};  // sum; -, square, sum; * scale + shift
    case OpId::kBatchNormGrad: return {Of::kOutput, 9};   // two sums of products, three terms
    case OpId::kSilu:
    case OpId::kHardSwish: return {Of::kOutput, 2};
    case OpId::kGelu: return {Of::kOutput, 4};              // / sqrt(2), erf, + 1, *
    case OpId::kSigmoid: return {Of::kOutput, 3};           // exp, +, /
    case OpId::kQuantizeLinear: return {Of::kOutput, 3};    // /, round, +
    case OpId::kDequantizeLinear: return {Of::kOutput, 2};  // -, *
    case OpId::kFakeQuantize: return {Of::kOutput, 5};      // those
    case OpId::kFakeQuantizeGrad: return {Of::kOutput, 4};  // /, round, -, *
    case OpId::kResize:
    case OpId::kGridSample:
    case OpId::kRoiAlign: return {Of::kOutput, 8};  // four neighbours, * and + each
    default: return {Of::kOutput, 1};
  }
}

// The leading term of what has no rate: decompositions and transforms.
double closed_form(OpId op, Span<const TensorView> in) {
  const Shape& a = in[0].shape;
  const double m = dim(a, -2), n = dim(a, -1);
  const double batch = m * n == 0 ? 0 : elements(a) / (m * n), k = std::min(m, n);
  switch (op) {
    case OpId::kCholesky: return cubes(a) / 3;
    case OpId::kSolve:  // LU, then two triangles for each column
      return 2 * cubes(a) / 3 + (in.size() > 1 ? 2 * n * elements(in[1].shape) : 0);
    case OpId::kTriangularSolve: return in.size() > 1 ? n * elements(in[1].shape) : 0;
    case OpId::kInverse: return 2 * cubes(a);
    case OpId::kDet:
    case OpId::kSlogDet: return 2 * cubes(a) / 3;
    case OpId::kQr: return batch * (4 * m * n * k - 4 * k * k * k / 3);
    case OpId::kSvd: return batch * (4 * m * n * k + 22 * k * k * k);
    case OpId::kEigh: return 9 * cubes(a);
    case OpId::kDFT: {
      const double points = std::max(2.0, n <= 2 ? m : n);
      return 5 * elements(a) / std::max(1.0, n <= 2 ? n : 1) * std::log2(points);
    }
    case OpId::kTopK: return elements(a) * std::log2(std::max(2.0, n));
    default: return -1;
  }
}

}  // namespace

OpCost op_cost(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out) {
  OpCost cost;
  for (const TensorView& v : in) cost.bytes_read += bytes_of(v);
  for (const TensorView& v : out) cost.bytes_written += bytes_of(v);
  if (is_custom(op) || in.empty() || out.empty()) return cost;
  std::vector<Shape> ins, outs;
  for (const TensorView& v : in) ins.push_back(v.shape);
  for (const TensorView& v : out) outs.push_back(v.shape);
  cost.macs = op_macs(op, ins, outs);
  if (cost.macs > 0) {
    const bool biased = op == OpId::kLinear || op == OpId::kConv || op == OpId::kConvTranspose;
    if (biased && in.size() > 2 && in[2].dtype != DType::kNone) cost.other = elements(outs[0]);
    return cost;
  }
  if (double flops = closed_form(op, in); flops >= 0) {
    cost.other = flops;
    return cost;
  }
  const Rate r = rate(op);
  const bool window = op == OpId::kMaxPool || op == OpId::kAveragePool;
  if (window && attrs != nullptr) {
    cost.other = elements(outs[0]);
    const auto& kernel = static_cast<const PoolAttrs*>(attrs)->kernel_shape;
    for (int64_t i = 0; i < kernel.count; ++i) cost.other *= static_cast<double>(kernel.values[i]);
  } else if (op == OpId::kFusedElementwise && attrs != nullptr) {
    cost.other = elements(outs[0]) * static_cast<const ChainAttrs*>(attrs)->steps.count;
  } else if (r.of != Of::kNothing) {
    cost.other = r.each * elements(r.of == Of::kInput ? ins[0] : outs[0]);
  }
  return cost;
}

}  // namespace wick
