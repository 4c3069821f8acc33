#include "trainer/tensor/autocast.h"

#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "runtime/kernels/elementwise/half_loops.h"
#include "runtime/ops/op_facts.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"

namespace wick {

struct AutocastState {
  DType low = DType::kBF16;
  int wide = 0;  // number of losses that this thread is inside of
};

namespace {

struct CastOf {
  Tensor cast;
  const Storage* storage;
  uint32_t version;
};

// Only a pointer and a number while no scope lives, so that nothing is destroyed at thread exit.
struct ThreadCasts {
  int scopes = 0;
  std::unordered_map<uint64_t, CastOf>* of = nullptr;  // by the leaf's id and the target dtype
};
constinit thread_local ThreadCasts g_casts;

// A set larger than this has ids of tensors that are long gone, and is cleared: then a missing
// GradScaler is reported one step later.
constexpr size_t kMostMarked = size_t{1} << 20;
std::mutex g_mark_mutex;
std::unordered_set<uint64_t>& marked() {
  static auto* set = new std::unordered_set<uint64_t>;  // outlives every thread
  return *set;
}

void mark(const Tensor& leaf) {
  std::lock_guard lock(g_mark_mutex);
  if (marked().size() >= kMostMarked) marked().clear();
  marked().insert(leaf.id());
}

enum class Policy : uint8_t { kAsIs, kLow, kWide, kWidest };

// PyTorch's lists (torch/amp, "CUDA ops that autocast to float16" and the two after it), for the
// ops that implement its functions here.
// clang-format off
consteval OpFacts<Policy> policies() {
  using enum OpId;
  return {Policy::kAsIs, {
      {Policy::kLow,
        {kMatMul, kLinear, kFusedLinear, kFusedMatMul, kConv, kFusedConv, kConvTranspose,
         kFusedAttention, kLinearAttention, kRNN, kLSTM, kGRU}},
      {Policy::kWide,
        {kSoftmax, kLogSoftmax, kBatchNorm, kBatchNormTrain, kExp, kExpm1, kLog, kLog1p, kLog2,
         kLog10, kPow, kReciprocal, kSoftplus, kTan, kAcos, kAsin, kCosh, kSinh, kReduceSum,
         kReduceProd, kCumSum, kCumProd, kDFT}},
      {Policy::kWidest,
        {kAdd, kSub, kMul, kDiv, kMax, kMin, kPRelu, kMod, kAtan2, kEqual, kLess, kLessOrEqual,
         kGreater, kGreaterOrEqual, kWhere, kConcat, kScatterElements, kScatterND,
         kSliceScatter, kAsStridedScatter, kGridSample, kRoiAlign, kFakeQuantize,
         kFoldedBatchNorm, kDeformConv}},
      {Policy::kAsIs,
        {kIdentity, kRelu, kLeakyRelu, kElu, kSigmoid, kTanh, kGelu, kSilu, kHardSwish,
         kHardSigmoid, kSqrt, kErf, kSin, kCos, kAtan, kAsinh, kAcosh, kAtanh, kNeg, kAbs,
         kFloor, kCeil, kRound, kSign, kClip, kNot, kCast, kAnd, kOr, kXor, kConvInputGrad,
         kConvWeightGrad, kMaxPool, kAveragePool, kMaxPoolGrad, kAveragePoolGrad,
         kBatchNormGrad, kReduceMean, kReduceMax, kReduceMin, kArgMax, kArgMin, kReshape,
         kFlatten, kSqueeze, kUnsqueeze, kTranspose, kExpand, kSplit, kSlice, kPad, kShape,
         kGather, kGatherElements, kAsStrided, kGatherND, kNonZero, kTopK, kUnique, kTrilu,
         kBitwiseAnd, kBitwiseOr, kBitwiseXor, kBitwiseNot, kBitShift, kIsNaN, kIsInf, kErfc,
         kCholesky, kTriangularSolve, kSolve, kInverse, kDet, kSlogDet, kQr, kSvd, kEigh, kLuFactor, kEig,
         kBitCast, kQuantizeLinear, kDequantizeLinear, kMatMulInteger, kConvInteger, kDropout,
         kResize, kAffineGrid, kMaxRoiPool, kMaxPoolIndices, kLpPool, kCol2Im, kTfIdfVectorizer,
         kStringConcat, kStringSplit, kStringNormalizer, kCastString, kRegexFullMatch, kIf,
         kLoop, kRange, kNonMaxSuppression, kSequenceConstruct, kSequenceInsert, kSequenceErase,
         kSequenceAt, kSequenceLength, kSplitToSequence, kConcatFromSequence, kOptional,
         kOptionalHasElement, kOptionalGetElement, kFusedElementwise, kBlockLinear,
         kQLinearConv, kQLinearMatMul, kQGemm, kQLinearAdd, kQLinearMul, kQLinearAveragePool,
         kQLinearGlobalAveragePool, kByteTable, kQLinearSoftmax, kQLinearPRelu, kDynamicLinear,
         kFakeQuantizeGrad, kDynamicQuantizeLinear, kTreeEnsemble, kLookUp, kResizeGrad,
         kLayerNormGrad, kGroupNormGrad}},
  }};
}
// clang-format on
constexpr OpFacts<Policy> kPolicies = policies();

// A parameter's cast is reused, except under a capture, whose graph needs its own cast, and with
// tangents, which belong to one level.
Tensor cast_of(const Tensor& t, DType to, const Where& where) {
  const bool kept = t.requires_grad() && t.is_leaf() && active_tracer() == nullptr &&
                    modes().forward == 0 && g_casts.scopes > 0;
  if (!kept) return t.to(to, where);
  if (g_casts.of == nullptr) g_casts.of = new std::unordered_map<uint64_t, CastOf>;
  // A cast made without a history is of no use where one is recorded.
  const uint64_t key = t.id() * 4 + (to == DType::kF16 ? 2 : 0) + (grad_enabled() ? 1 : 0);
  CastOf& c = (*g_casts.of)[key];
  if (!c.cast.defined() || c.storage != &t.storage() || c.version != t.version()) {
    c = {t.to(to, where), &t.storage(), t.version()};
  }
  return c.cast;
}

}  // namespace

AutocastScope::AutocastScope(DType low, bool enabled, Where where)
    : saved_(modes().autocast), counts_(low != DType::kNone) {
  if (!counts_) return;
  if (!is_16_bit_float(low)) {
    throw_error("autocast",
                std::string("computes in float16 or bfloat16, not in ") + dtype_name(low), where,
                Code::kInvalidArgument);
  }
  modes().autocast = enabled ? new AutocastState{low, 0} : nullptr;
  ++g_casts.scopes;
}

AutocastScope::~AutocastScope() {
  if (!counts_) return;
  delete modes().autocast;
  modes().autocast = saved_;
  if (--g_casts.scopes > 0) return;
  delete g_casts.of;
  g_casts.of = nullptr;
}

DType autocast_dtype() {
  return modes().autocast != nullptr ? modes().autocast->low : DType::kNone;
}

AutocastWide::AutocastWide() : state_(modes().autocast) {
  if (state_ != nullptr) ++state_->wide;
}
AutocastWide::~AutocastWide() {
  if (state_ != nullptr) --state_->wide;
}

bool autocast_inputs(OpId op, Span<const Tensor* const> in, SmallVector<Tensor, 6>* held,
                     SmallVector<const Tensor*, 6>* as, const Where& where) {
  const AutocastState& state = *modes().autocast;
  Policy policy = kPolicies[op];
  if (op != OpId::kCast && state.wide > 0) policy = Policy::kWide;
  const bool marks = state.low == DType::kF16 && grad_enabled();
  bool wide = false, mixed = false;
  DType seen = DType::kNone;
  for (const Tensor* t : in) {
    if (t == nullptr || !t->defined() || !is_float(t->dtype())) continue;
    if (marks && op != OpId::kCast && t->requires_grad() && t->is_leaf()) mark(*t);
    wide = wide || t->dtype() == DType::kF64;
    mixed = mixed || (seen != DType::kNone && seen != t->dtype());
    seen = t->dtype();
  }
  // If there is a float64 input, the caller wants more precision than these lists give.
  if (policy == Policy::kAsIs || wide || (policy == Policy::kWidest && !mixed)) return false;
  const DType to = policy == Policy::kLow ? state.low : DType::kF32;
  bool changed = false;
  for (size_t i = 0; i < in.size(); ++i) {
    (*as)[i] = in[i];
    if (in[i] == nullptr || !in[i]->defined()) continue;
    const DType t = in[i]->dtype();
    if (t == to || !(t == DType::kF32 || is_16_bit_float(t))) continue;
    (*held)[i] = to == DType::kF32 ? in[i]->to(to, where) : cast_of(*in[i], to, where);
    (*as)[i] = &(*held)[i];
    changed = true;
  }
  return changed;
}

std::vector<Tensor> autocast_tensors(OpId op, std::vector<Tensor> in, const Where& where) {
  if (!autocast_enabled()) return in;
  SmallVector<Tensor, 6> held(in.size());
  SmallVector<const Tensor*, 6> pointers(in.size()), as(in.size());
  for (size_t i = 0; i < in.size(); ++i) pointers[i] = &in[i];
  if (!autocast_inputs(op, pointers, &held, &as, where)) return in;
  std::vector<Tensor> cast;
  for (const Tensor* t : as) cast.push_back(*t);
  return cast;
}

bool met_float16(const Tensor& leaf) {
  std::lock_guard lock(g_mark_mutex);
  return marked().count(leaf.id()) != 0;
}
void forget_float16(const Tensor& leaf) {
  std::lock_guard lock(g_mark_mutex);
  marked().erase(leaf.id());
}

}  // namespace wick
