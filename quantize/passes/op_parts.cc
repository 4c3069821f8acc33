#include "quantize/passes/op_parts.h"

#include <algorithm>
#include <cmath>

#include "graph/ir/clip_bounds.h"
#include "graph/rewrite/substitution.h"
#include "runtime/ops/op_facts.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::ValueId;

OpPart stays(std::string reason) { return {Part::kFloat, std::move(reason), {}}; }

bool has(const Node& n, size_t i) { return i < n.inputs.size() && n.inputs[i] != kNoValue; }

OpPart layer(const Graph& g, const Node& n) {
  if (!g.is_constant(n.inputs[1])) return stays("its weight is not a constant");
  const HostTensor& w = g.value(n.inputs[1]).constant;
  if (w.numel() == 0) return stays("its weight is empty");
  if (w.shape().rank() > 4) return stays("integers are slower than floats over three spatial dims");
  if (!is_finite(w)) return stays("its weight has NaN or infinite numbers");
  if (has(n, 2) && !g.is_constant(n.inputs[2])) return stays("its bias is not a constant");
  if (has(n, 2) && !is_finite(g.value(n.inputs[2]).constant))
    return stays("its bias has NaN or infinite numbers");
  if (g.is_constant(n.inputs[0])) return stays("its input is a constant");
  return {Part::kLayer, "", {0}};
}

// Plans a node that may have a constant among its data: its numbers are quantized by their own
// range.
OpPart with_constants(const Graph& g, const Node& n, Part part, size_t count) {
  OpPart p{part, "", {}};
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    p.data.push_back(i);
    if (!g.is_constant(n.inputs[i])) {
      any = true;
    } else if (g.value(n.inputs[i]).constant.numel() == 0 ||
               !is_finite(g.value(n.inputs[i]).constant)) {
      return stays("input " + std::to_string(i) + " is a constant without finite numbers alone");
    }
  }
  return any ? p : stays("it reads constants alone");
}

OpPart mean(const Graph& g, const Node& n) {
  const ir::Value& x = g.value(n.inputs[0]);
  if (!x.ranked) return stays("the rank of its input is not known");
  const int rank = x.shape.rank();
  std::vector<int64_t> axes(n.attrs.as<ReduceAttrs>().axes.span().begin(),
                            n.attrs.as<ReduceAttrs>().axes.span().end());
  if (has(n, 1)) {
    if (!g.is_constant(n.inputs[1])) return stays("its axes are not constants");
    axes = int_values(g.value(n.inputs[1]).constant);
  }
  for (int64_t& a : axes) a = a < 0 ? a + rank : a;
  std::sort(axes.begin(), axes.end());
  std::vector<int64_t> spatial;
  for (int a = 2; a < rank; ++a) spatial.push_back(a);
  if (spatial.empty() || axes != spatial)
    return stays("integers have a mean over all spatial axes only");
  return {Part::kPool, "", {0}};
}

OpPart softmax(const Graph& g, const Node& n) {
  const ir::Value& x = g.value(n.inputs[0]);
  const int64_t axis = n.attrs.as<AxisAttrs>().axis;
  if (axis != -1 && (!x.ranked || axis != x.shape.rank() - 1))
    return stays("integers have a softmax over the last axis only");
  return {Part::kTable, "", {0}};
}

// The slope of a captured module is a parameter behind a change of shape.
OpPart prelu(const Graph& g, const Node& n) {
  ValueId slope = n.inputs[1];
  for (const Node* made = ir::producer_of(g, slope); made != nullptr && is_view(made->op);
       made = ir::producer_of(g, slope))
    slope = made->inputs[0];
  if (!g.is_constant(slope)) return stays("its slope is not a constant");
  if (!is_finite(g.value(slope).constant)) return stays("its slope has NaN or infinite numbers");
  return {Part::kTable, "", {0}};
}

// Form says what integers can do of an op.
enum class Form : uint8_t {
  kNone,
  kLayer,    // with a constant weight and a bias
  kProduct,  // a product of two, one of which may be a constant
  kJoin,     // elementwise on two
  kConcat,
  kPool,
  kMean,
  kSame,  // moves or chooses elements: the same numbers
  kResize,
  kSoftmax,
  kTable,  // a function of one byte
  kClip,
  kPRelu,
  kFused,  // several ops in one
};

// clang-format off
consteval OpFacts<Form> forms() {
  using enum OpId;
  return {Form::kNone, {
      {Form::kLayer,
        {kConv, kLinear}},
      {Form::kProduct,
        {kMatMul}},
      {Form::kJoin,
        {kAdd, kMul}},
      {Form::kConcat,
        {kConcat}},
      {Form::kPool,
        {kAveragePool}},
      {Form::kMean,
        {kReduceMean}},
      {Form::kSame,
        {kMaxPool, kReshape, kFlatten, kSqueeze, kUnsqueeze, kTranspose, kSlice, kSplit}},
      {Form::kResize,
        {kResize}},
      {Form::kSoftmax,
        {kSoftmax}},
      {Form::kTable,
        {kRelu, kLeakyRelu, kElu, kSigmoid, kTanh, kGelu, kSilu, kHardSwish, kHardSigmoid,
         kSoftplus, kErf}},
      {Form::kClip,
        {kClip}},
      {Form::kPRelu,
        {kPRelu}},
      {Form::kFused,
        {kFusedConv, kFusedLinear, kFusedMatMul, kFusedElementwise, kFusedAttention}},
      {Form::kNone,
        {kIdentity, kExp, kLog, kSqrt, kReciprocal, kSin, kCos, kTan, kAsin, kAcos, kAtan,
         kSinh, kCosh, kAsinh, kAcosh, kAtanh, kNeg, kAbs, kFloor, kCeil, kRound, kSign, kNot,
         kCast, kSub, kDiv, kPow, kMax, kMin, kEqual, kLess, kLessOrEqual, kGreater,
         kGreaterOrEqual, kAnd, kOr, kXor, kWhere, kConvInputGrad, kConvWeightGrad,
         kMaxPoolGrad, kAveragePoolGrad, kBatchNorm, kLogSoftmax, kBatchNormTrain,
         kBatchNormGrad, kReduceSum, kReduceMax, kReduceMin, kReduceProd, kArgMax, kArgMin,
         kExpand, kPad, kShape, kGather, kGatherElements, kScatterElements, kSliceScatter,
         kAsStrided, kAsStridedScatter, kGatherND, kScatterND, kNonZero, kTopK, kUnique,
         kCumSum, kCumProd, kTrilu, kMod, kBitwiseAnd, kBitwiseOr, kBitwiseXor, kBitwiseNot,
         kBitShift, kIsNaN, kIsInf, kLog1p, kExpm1, kLog2, kLog10, kErfc, kAtan2, kCholesky,
         kTriangularSolve, kSolve, kInverse, kDet, kSlogDet, kQr, kSvd, kEigh, kLuFactor, kEig, kBitCast,
         kQuantizeLinear, kDequantizeLinear, kMatMulInteger, kConvInteger, kDropout,
         kLinearAttention, kGridSample, kAffineGrid, kRoiAlign, kMaxRoiPool, kMaxPoolIndices,
         kLpPool, kConvTranspose, kCol2Im, kDeformConv, kRNN, kGRU, kLSTM, kDFT,
         kTfIdfVectorizer, kStringConcat, kStringSplit, kStringNormalizer, kCastString,
         kRegexFullMatch, kIf, kLoop, kRange, kNonMaxSuppression, kSequenceConstruct,
         kSequenceInsert, kSequenceErase, kSequenceAt, kSequenceLength, kSplitToSequence,
         kConcatFromSequence, kOptional, kOptionalHasElement, kOptionalGetElement, kBlockLinear,
         kQLinearConv, kQLinearMatMul, kQGemm, kQLinearAdd, kQLinearMul, kQLinearPRelu, kQLinearAveragePool,
         kQLinearGlobalAveragePool, kByteTable, kQLinearSoftmax, kDynamicLinear, kFakeQuantize,
         kFakeQuantizeGrad, kFoldedBatchNorm, kDynamicQuantizeLinear, kTreeEnsemble, kLookUp,
         kResizeGrad, kLayerNormGrad, kGroupNormGrad}},
  }};
}
// clang-format on
constexpr OpFacts<Form> kForms = forms();

}  // namespace

bool is_finite(const HostTensor& t) {
  if (t.dtype() != DType::kF32) return false;
  const float* v = t.as<float>();
  return std::all_of(v, v + t.numel(), [](float x) { return std::isfinite(x); });
}

bool limits_range(const Graph& g, const Node& n) {
  if (n.op == OpId::kRelu) return true;
  if (n.op != OpId::kClip) return false;
  const auto bounds = ir::clip_bounds(g, n);
  return bounds && bounds->min <= 0 && bounds->max >= 0;
}

OpPart op_part(const Graph& g, const Node& n) {
  const DType dtype = g.value(n.outputs[0]).dtype;
  if (is_custom(n.op)) return stays("a user's own op");
  if (!n.regions.empty()) return stays("what its regions hold stays float");
  if (dtype != DType::kF32) {
    return stays(std::string("it makes ") + dtype_name(dtype) + ", only float32 is quantized" +
                 (is_float(dtype) ? ": take the model in float32" : ""));
  }
  switch (kForms[n.op]) {
    case Form::kLayer: return layer(g, n);
    case Form::kProduct: return with_constants(g, n, Part::kLayer, 2);
    case Form::kJoin: return with_constants(g, n, Part::kJoin, 2);
    case Form::kConcat: return with_constants(g, n, Part::kJoin, n.inputs.size());
    case Form::kPool: return {Part::kPool, "", {0}};
    case Form::kMean: return mean(g, n);
    case Form::kSame: return {Part::kSame, "", {0}};
    case Form::kResize: {
      const auto& a = n.attrs.as<ResizeAttrs>();
      if (a.mode != static_cast<int64_t>(ResizeMode::kNearest))
        return stays("integers are resized to the nearest only");
      if (a.coordinates == static_cast<int64_t>(ResizeCoordinates::kCropAndResize))
        return stays("integers are not cropped and resized");
      return {Part::kSame, "", {0}};
    }
    case Form::kSoftmax: return softmax(g, n);
    case Form::kTable: return {Part::kTable, "", {0}};
    case Form::kClip:
      for (size_t i = 1; i < n.inputs.size(); ++i) {
        if (has(n, i) && !g.is_constant(n.inputs[i])) return stays("its bounds are not constants");
      }
      return {Part::kTable, "", {0}};
    case Form::kPRelu: return prelu(g, n);
    case Form::kFused:
      return stays("several ops in one: quantize the graph before it is optimized");
    case Form::kNone: break;
  }
  return stays("it has no integer form");
}

}  // namespace wick::quantize
