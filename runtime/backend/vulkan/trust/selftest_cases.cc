#include "runtime/backend/vulkan/trust/selftest_cases.h"

#include <cstring>

#include "runtime/core/half.h"
#include "runtime/ops/chain.h"
#include "runtime/ops/rule.h"

namespace wick::vulkan {
namespace {

// An input: known only at run time, or a constant (a weight, a scale).
struct In {
  DType dtype = DType::kNone;
  Shape shape;
  bool constant = false;
  float scale = 1;                   // of a constant's numbers; a single one equals it
  const int64_t* numbers = nullptr;  // values of an int64 constant
};
In in(DType dtype, const Shape& shape) { return {dtype, shape, false, 1, nullptr}; }
In weight(DType dtype, const Shape& shape, float scale = 1) {
  return {dtype, shape, true, scale, nullptr};
}

constexpr DType kF32 = DType::kF32, kF16 = DType::kF16, kU8 = DType::kU8, kI8 = DType::kI8,
                kI32 = DType::kI32, kI64 = DType::kI64, kBool = DType::kBool;
constexpr DType kDTypes[] = {kF32,        kF16, DType::kBF16, kI32, DType::kU32, DType::kI16,
                             DType::kU16, kI8,  kU8,          kI64, kBool};
constexpr DType kFloats[] = {kF32, kF16};

class Cases {
 public:
  Cases(SelfTestCalls& calls, Allocator& allocator) : calls_(calls), arena_(allocator) {}

  template <class A>
  void add(OpId op, const A& attrs, std::initializer_list<In> inputs, size_t outputs = 1) {
    if (status_.ok()) status_ = run(op, &attrs, {inputs.begin(), inputs.size()}, outputs, false);
  }
  // Adds a case whose dtype the op may not accept.
  template <class A>
  void may(OpId op, const A& attrs, std::initializer_list<In> inputs, size_t outputs = 1) {
    if (status_.ok()) status_ = run(op, &attrs, {inputs.begin(), inputs.size()}, outputs, true);
  }
  Status status() const { return status_; }
  bool strict = false;  // optional cases are required for float32

 private:
  static constexpr size_t kMost = 10;

  Status run(OpId op, const void* attrs, Span<const In> inputs, size_t outputs, bool may_not) {
    arena_.clear();
    TensorView views[kMost], made[kMost];
    ValueInfo<int64_t> known[kMost], inferred[kMost];
    for (size_t i = 0; i < inputs.size(); ++i) {
      const In& from = inputs[i];
      if (from.dtype == DType::kNone) continue;
      views[i] = TensorView(nullptr, from.dtype, from.shape);
      if (from.constant) WICK_TRY(fill(from, views[i]));
      known[i].dtype = from.dtype;
      known[i].shape = from.shape;
      if (from.constant && from.dtype == kI64) {
        known[i].elements = views[i].as<int64_t>();
        known[i].element_count = views[i].numel();
      }
    }
    RuleCtx<int64_t> rule{op, attrs, {known, inputs.size()}, {inferred, outputs}};
    const Status shapes = infer_shapes(rule);
    if (!shapes.ok() && may_not && !(strict && inputs[0].dtype == kF32)) return {};
    WICK_TRY(annotate(shapes, "self-test of %s: ", find_op(op)->name));
    for (size_t i = 0; i < outputs; ++i)
      made[i] = TensorView(nullptr, inferred[i].dtype, inferred[i].shape);
    return calls_.call({op, attrs, {views, inputs.size()}, {made, outputs}, 1, nullptr});
  }

  Status fill(const In& from, TensorView& v) {
    WICK_ASSIGN(v.data, arena_.allocate(v.nbytes() + 1, 64));
    const int64_t n = v.numel();
    memset(v.data, 0x35, v.nbytes() + 1);  // for packed small integers
    for (int64_t i = 0; i < n; ++i) {
      const int64_t spread = (i * 37 + 11) % 64 - 32;
      const float real = n == 1 ? from.scale : from.scale * static_cast<float>(spread) / 32;
      const auto integer = static_cast<int64_t>(n == 1 ? from.scale : static_cast<float>(spread));
      switch (v.dtype) {
        case kF32: v.as<float>()[i] = real == 0 ? from.scale : real; break;
        case kF16: v.as<uint16_t>()[i] = Half(real == 0 ? from.scale : real).bits; break;
        case kI64: v.as<int64_t>()[i] = from.numbers != nullptr ? from.numbers[i] : integer; break;
        case kI32: v.as<int32_t>()[i] = static_cast<int32_t>(integer); break;
        case kI8: v.as<int8_t>()[i] = static_cast<int8_t>(integer); break;
        case kU8:
          v.as<uint8_t>()[i] = static_cast<uint8_t>(n == 1 ? integer : integer + 100);
          break;
        default: break;
      }
    }
    return {};
  }

  SelfTestCalls& calls_;
  Arena arena_;
  Status status_;
};

// Every elementwise op, with its default attributes.
void elementwise(Cases& c) {
  for (const OpInfo& info : all_ops()) {
    if (info.role != OpRole::kInfer) continue;
    const bool one =
        info.kind == OpKind::kUnary || info.kind == OpKind::kTest || info.id == OpId::kIdentity;
    const bool two = info.kind == OpKind::kBinary || info.kind == OpKind::kCompare ||
                     info.kind == OpKind::kLogic;
    if (!one && !two) continue;
    AnyAttrs attrs;
    info.attrs->init(attrs.get());
    if (info.id == OpId::kClip) *static_cast<ClipAttrs*>(attrs.get()) = {-0.5, 0.75};
    if (info.id == OpId::kClip)
      c.add(info.id, ClipAttrs{}, {in(kF32, {3, 71}), in(kF32, {}), in(kF32, {})});
    for (DType t : kDTypes) {
      if (one) c.may(info.id, attrs, {in(t, {3, 71})});
      if (two) c.may(info.id, attrs, {in(t, {3, 71}), in(t, {3, 71})});
      const Shape x = info.id == OpId::kPRelu ? Shape{5, 3, 7} : Shape{5, 1, 7};
      if (two && (t == kF32 || t == kF16 || t == kI32))
        c.may(info.id, attrs, {in(t, x), in(t, {3, 1})});
    }
  }
  for (DType t : kDTypes) {
    c.may(OpId::kWhere, NoAttrs{}, {in(kBool, {4, 1}), in(t, {4, 35}), in(t, {35})});
    c.add(OpId::kCast, CastAttrs{static_cast<int64_t>(t)}, {in(kF32, {3, 71})});
    c.add(OpId::kCast, CastAttrs{static_cast<int64_t>(kF32)}, {in(t, {3, 71})});
    c.add(OpId::kCast, CastAttrs{static_cast<int64_t>(kI32)}, {in(t, {3, 71})});
  }
  c.add(OpId::kGelu, GeluAttrs{1}, {in(kF32, {3, 71})});
  constexpr int kConstant = kChainFirstConstant, kMade = kChainFirstStep;
  ChainAttrs chain;
  chain.steps = {chain_word(OpId::kMul, 0, 1), chain_word(OpId::kAdd, kMade, kConstant),
                 chain_word(OpId::kSigmoid, kMade + 1), chain_word(OpId::kMul, kMade + 2, 0)};
  chain.constants = {bits_of_real(0.25)};
  c.add(OpId::kFusedElementwise, chain, {in(kF32, {3, 5, 7}), in(kF32, {5, 1})});
  chain.steps = {chain_word(OpId::kMul, 0, 1),       chain_word(OpId::kAdd, kMade, kConstant),
                 chain_word(OpId::kTanh, kMade + 1), chain_word(OpId::kNeg, kMade + 2),
                 chain_word(OpId::kAbs, kMade + 3),  chain_word(OpId::kMul, kMade + 4, 0),
                 chain_word(OpId::kExp, kMade + 5),  chain_word(OpId::kSub, kMade + 6, 1),
                 chain_word(OpId::kRelu, kMade + 7), chain_word(OpId::kMax, kMade + 8, kMade + 2)};
  c.add(OpId::kFusedElementwise, chain, {in(kF32, {3, 5, 7}), in(kF32, {5, 1})});
  chain.row_dims = 1;
  chain.steps = {chain_word(OpId::kReduceMean, 0), chain_word(OpId::kSub, 0, kMade),
                 chain_word(OpId::kMul, kMade + 1, 1),
                 chain_word(OpId::kAdd, kMade + 2, kConstant)};
  c.add(OpId::kFusedElementwise, chain, {in(kF32, {5, 70}), in(kF32, {70})});
}

void products(Cases& c) {
  for (DType t : kFloats) {
    for (bool constant : {false, true}) {
      auto w = [&](const Shape& s) { return In{t, s, constant, 1, nullptr}; };
      c.may(OpId::kMatMul, NoAttrs{}, {in(t, {5, 33}), w({33, 70})});
      c.may(OpId::kMatMul, NoAttrs{}, {in(t, {130, 67}), w({67, 129})});
      c.may(OpId::kMatMul, NoAttrs{}, {in(t, {128, 64}), w({64, 128})});
      c.may(OpId::kMatMul, NoAttrs{}, {in(t, {1, 260}), w({260, 75})});
      c.may(OpId::kMatMul, NoAttrs{}, {in(t, {2, 3, 9, 8}), w({3, 8, 17})});
      // Hundreds of tiles: that makes the tiles large.
      c.may(OpId::kMatMul, NoAttrs{}, {in(t, {70, 9, 9}), w({70, 9, 17})});
      c.may(OpId::kMatMul, NoAttrs{}, {in(t, {200, 33, 9}), w({200, 9, 65})});
      c.may(OpId::kLinear, NoAttrs{}, {in(t, {3, 37}), w({70, 37}), w({70})});
      c.may(OpId::kLinear, NoAttrs{}, {in(t, {1, 256}), w({70, 256})});
      c.may(OpId::kLinear, NoAttrs{}, {in(t, {66, 40}), w({65, 40}), w({65})});
      c.may(OpId::kFusedLinear, EpilogueAttrs{1}, {in(t, {33, 37}), w({70, 37}), w({70})});
      c.may(OpId::kFusedMatMul, EpilogueAttrs{9}, {in(t, {7, 37}), w({37, 21}), w({21})});
    }
  }
  for (int64_t activation = 0; activation <= static_cast<int64_t>(Activation::kLast);
       ++activation) {
    c.add(OpId::kFusedLinear, EpilogueAttrs{activation, -0.5, 0.75},
          {in(kF32, {9, 20}), weight(kF32, {18, 20}), weight(kF32, {18}), weight(kF32, {18}),
           weight(kF32, {18}), in(kF32, {9, 18})});
  }
  FusedAttentionAttrs attention;
  c.add(OpId::kFusedAttention, attention,
        {in(kF32, {2, 3, 9, 8}), in(kF32, {2, 3, 11, 8}), in(kF32, {2, 3, 11, 5})});
  attention.q_perm = attention.k_perm = attention.v_perm = attention.out_perm = {0, 2, 1, 3};
  attention.steps = {static_cast<int64_t>(AttentionStep::kMulQuery),
                     static_cast<int64_t>(AttentionStep::kAdd)};
  c.add(OpId::kFusedAttention, attention,
        {in(kF32, {1, 9, 4, 16}), in(kF32, {1, 9, 2, 16}), in(kF32, {1, 9, 2, 16}),
         weight(kF32, {}, 0.25f), weight(kF32, {9, 9})});
}

void windows(Cases& c) {
  for (DType t : kFloats) {
    auto w = [&](const Shape& s) { return weight(t, s, 0.5f); };
    auto x = [&](const Shape& s) { return in(t, s); };
    ConvAttrs same, strided, depthwise, grouped;
    same.pads = {1, 1, 1, 1};
    strided.strides = {2, 2};
    strided.dilations = {1, 2};
    depthwise.group = 8;
    depthwise.pads = {1, 1, 1, 1};
    grouped.group = 2;
    c.may(OpId::kConv, same, {x({1, 3, 9, 9}), w({8, 3, 3, 3}), w({8})});
    c.may(OpId::kConv, same, {x({2, 16, 18, 17}), w({70, 16, 3, 3}), w({70})});
    c.may(OpId::kConv, ConvAttrs{}, {x({2, 16, 7, 7}), w({70, 16, 1, 1})});
    c.may(OpId::kConv, strided, {x({1, 5, 13, 15}), w({9, 5, 3, 3})});
    c.may(OpId::kConv, depthwise, {x({1, 8, 19, 17}), w({8, 1, 3, 3}), w({8})});
    depthwise.strides = {2, 2};
    c.may(OpId::kConv, depthwise, {x({2, 8, 12, 12}), w({8, 1, 5, 5})});
    c.may(OpId::kConv, grouped, {x({1, 8, 6, 6}), w({24, 4, 3, 3})});
    c.may(OpId::kConv, ConvAttrs{}, {x({1, 4, 50, 50}), w({40, 4, 3, 3})});
    c.may(OpId::kConv, ConvAttrs{}, {x({1, 4, 162, 159}), w({36, 4, 1, 1})});
    c.may(OpId::kConv, ConvAttrs{}, {x({1, 4, 20}), w({6, 4, 3})});
    c.may(OpId::kConv, ConvAttrs{}, {x({1, 2, 5, 5, 5}), w({9, 2, 3, 3, 3})});
    c.may(OpId::kFusedConv, FusedConvAttrs{same, {2, 0, 6}},
          {x({1, 8, 9, 9}), w({16, 8, 3, 3}), w({16}), w({16}), w({16}), x({1, 16, 9, 9})});
    ConvTransposeAttrs transposed;
    transposed.conv.strides = {2, 2};
    c.may(OpId::kConvTranspose, transposed, {x({1, 6, 7, 5}), w({6, 10, 3, 3}), w({10})});
    for (OpId op : {OpId::kMaxPool, OpId::kAveragePool}) {
      PoolAttrs pool;
      pool.kernel_shape = {2, 2};
      pool.strides = {2, 2};
      c.may(op, pool, {x({2, 3, 12, 14})});
      pool.kernel_shape = {3, 3};
      pool.pads = {1, 1, 1, 1};
      c.may(op, pool, {x({1, 5, 11, 13})});
      pool = PoolAttrs();
      pool.kernel_shape = {17, 17};
      c.may(op, pool, {x({1, 9, 17, 17})});
      pool.kernel_shape = {3};
      c.may(op, pool, {x({1, 4, 20})});
    }
    static constexpr int64_t kSizes[] = {1, 3, 13, 9};
    ResizeAttrs resize;
    for (int64_t mode : {0, 1, 2}) {
      resize.mode = mode;
      c.may(OpId::kResize, resize, {x({1, 3, 7, 5}), {}, {}, {kI64, {4}, true, 1, kSizes}});
    }
  }
}

// The other image ops: windows with indices, resampling, regions.
void images(Cases& c) {
  static constexpr int64_t kTo[] = {2, 1, 5, 6}, kImage[] = {5, 6}, kBlock[] = {2, 3};
  auto sizes = [](const int64_t* numbers, int64_t n) { return In{kI64, {n}, true, 1, numbers}; };
  for (DType t : kFloats) {
    auto x = [&](const Shape& s) { return in(t, s); };
    MaxPoolIndicesAttrs pool;
    pool.pool.kernel_shape = {3, 2};
    pool.pool.strides = {2, 2};
    c.may(OpId::kMaxPoolIndices, pool, {x({2, 3, 9, 8})}, 2);
    LpPoolAttrs lp;
    lp.pool.kernel_shape = {3, 3};
    c.may(OpId::kLpPool, lp, {x({1, 5, 9, 9})});
    for (int64_t mode : {0, 1, 2})
      c.may(OpId::kGridSample, GridSampleAttrs{mode}, {x({2, 3, 6, 7}), x({2, 4, 5, 2})});
    c.may(OpId::kAffineGrid, AffineGridAttrs{}, {x({2, 2, 3}), sizes(kTo, 4)});
    RoiAlignAttrs align;
    align.output_height = 3;
    align.output_width = 2;
    c.may(OpId::kRoiAlign, align, {x({2, 3, 9, 9}), x({5, 4}), in(kI64, {5})});
    MaxRoiPoolAttrs regions;
    regions.pooled_shape = {3, 2};
    c.may(OpId::kMaxRoiPool, regions, {x({2, 3, 9, 9}), x({5, 5})});
    c.may(OpId::kCol2Im, Col2ImAttrs{}, {x({2, 18, 16}), sizes(kImage, 2), sizes(kBlock, 2)});
    c.may(OpId::kDeformConv, DeformConvAttrs{},
          {x({1, 4, 7, 7}), x({6, 4, 3, 3}), x({1, 18, 5, 5}), x({6}), x({1, 9, 5, 5})});
  }
}

void rows(Cases& c) {
  for (DType t : kFloats) {
    for (OpId op : {OpId::kSoftmax, OpId::kLogSoftmax}) {
      c.may(op, AxisAttrs{-1}, {in(t, {19, 70})});
      c.may(op, AxisAttrs{1}, {in(t, {2, 5, 7})});
      c.may(op, AxisAttrs{-1}, {in(t, {3, 3000})});
    }
    c.may(OpId::kBatchNorm, BatchNormAttrs{},
          {in(t, {2, 5, 7, 3}), in(t, {5}), in(t, {5}), in(t, {5}), in(t, {5})});
  }
  for (DType t : {kF32, kF16, kI32}) {
    for (OpId op : {OpId::kReduceSum, OpId::kReduceMean, OpId::kReduceMax, OpId::kReduceMin,
                    OpId::kReduceProd}) {
      c.may(op, ReduceAttrs{{-1}}, {in(t, {9, 37})});
      c.may(op, ReduceAttrs{{0, 2}, 0}, {in(t, {3, 5, 4, 2})});
      if (op == OpId::kReduceProd) continue;  // with many elements it is 0
      c.may(op, ReduceAttrs{}, {in(t, {7, 411})});
    }
    for (OpId op : {OpId::kArgMax, OpId::kArgMin}) {
      c.may(op, ArgAttrs{1, 0}, {in(t, {9, 37})});
      c.may(op, ArgAttrs{0, 1}, {in(t, {5, 6, 7})});
    }
    for (OpId op : {OpId::kCumSum, OpId::kCumProd}) c.may(op, CumulateAttrs{1}, {in(t, {5, 9, 3})});
    c.may(OpId::kTopK, TopKAttrs{4}, {in(t, {5, 37})}, 2);
  }
  c.may(OpId::kReduceSum, ReduceAttrs{{-1}}, {in(kF32, {3, 0})});  // an empty sum
  c.may(OpId::kDFT, DftAttrs{1}, {in(kF32, {2, 12, 2})});
  c.may(OpId::kDFT, DftAttrs{1, 0, 0, 1}, {in(kF32, {2, 15, 1})});
  c.may(OpId::kDet, NoAttrs{}, {in(kF32, {3, 5, 5})});
  for (int64_t rule : {0, 3}) {
    LinearAttentionAttrs a;
    a.q_num_heads = 2;
    a.kv_num_heads = 1;
    a.update_rule = rule;
    const In q = in(kF32, {1, 6, 16}), k = in(kF32, {1, 6, 8}), gate = in(kF32, {1, 6, 1});
    if (rule == 0) c.may(OpId::kLinearAttention, a, {q, k, k, in(kF32, {1, 1, 8, 8})}, 2);
    if (rule == 3) c.may(OpId::kLinearAttention, a, {q, k, k, {}, gate, gate}, 2);
  }
}

void moves(Cases& c) {
  for (DType t : {kF32, kF16, kI32, kU8, kI64, kBool}) {
    auto x = [&](const Shape& s) { return in(t, s); };
    c.may(OpId::kTranspose, TransposeAttrs{{0, 2, 3, 1}}, {x({2, 3, 5, 7})});
    c.may(OpId::kTranspose, TransposeAttrs{}, {x({33, 70})});
    c.may(OpId::kExpand, ShapeAttrs{{4, 3, 5}}, {x({3, 1})});
    c.may(OpId::kConcat, AxisAttrs{1}, {x({2, 3, 5}), x({2, 1, 5}), x({2, 4, 5})});
    c.may(OpId::kSplit, SplitAttrs{1, {2, 5}}, {x({3, 7, 2})}, 2);
    c.may(OpId::kSlice, SliceAttrs{{6, 1}, {-8, 9}, {0, 1}, {-2, 3}}, {x({7, 11})});
    for (int64_t mode : {0, 1, 2, 3})
      c.may(OpId::kPad, PadAttrs{{1, 2, 2, 1}, mode, 1, {}}, {x({5, 6})});
    c.may(OpId::kPad, PadAttrs{{-1, 2, 2, -3}, 3, 1, {}}, {x({5, 6})});
    for (DType index : {kI64, kI32}) {
      c.may(OpId::kGather, AxisAttrs{1}, {x({3, 7, 5}), in(index, {2, 3})});
      c.may(OpId::kGatherElements, AxisAttrs{1}, {x({3, 7}), in(index, {3, 4})});
    }
    c.may(OpId::kGatherND, GatherNDAttrs{}, {x({3, 7, 5}), in(kI64, {4, 2})});
    for (int64_t reduction : {0, 1}) {
      c.may(OpId::kScatterElements, ScatterAttrs{1, reduction},
            {x({3, 7}), in(kI64, {3, 1}), x({3, 1})});
      c.may(OpId::kScatterND, ScatterNDAttrs{reduction},
            {x({3, 7, 5}), in(kI64, {1, 2}), x({1, 5})});
    }
    c.may(OpId::kTrilu, TriluAttrs{}, {x({2, 7, 9})});
  }
}

void integers(Cases& c) {
  auto s = [](float v) { return weight(kF32, {}, v); };
  for (DType t : {kU8, kI8}) {
    auto z = [&](float v) { return weight(t, {}, v); };
    auto zeros = [](const Shape& shape) { return In{kI8, shape, true, 0, nullptr}; };
    c.may(OpId::kQuantizeLinear, QuantizeAttrs{}, {in(kF32, {3, 71}), s(0.02f), z(3)});
    c.may(OpId::kDequantizeLinear, DequantizeAttrs{}, {in(t, {3, 71}), s(0.02f), z(3)});
    c.may(OpId::kMatMulInteger, NoAttrs{}, {in(t, {3, 5}), weight(kI8, {5, 7}), z(3)});
    c.may(OpId::kMatMulInteger, NoAttrs{}, {in(t, {33, 70}), weight(kI8, {70, 64}), z(3)});
    c.may(OpId::kConvInteger, ConvAttrs{}, {in(t, {1, 5, 9, 9}), weight(kI8, {12, 5, 3, 3}), z(3)});
    c.may(OpId::kQLinearConv, ConvAttrs{},
          {in(t, {1, 8, 9, 9}), s(0.02f), z(3), weight(kI8, {20, 8, 3, 3}), s(0.01f), zeros({}),
           s(0.05f), z(5)});
    ConvAttrs depthwise;
    depthwise.group = 8;
    c.may(OpId::kQLinearConv, depthwise,
          {in(t, {1, 8, 9, 9}), s(0.02f), z(3), weight(kI8, {8, 1, 3, 3}), s(0.01f), zeros({}),
           s(0.05f), z(5)});
    c.may(
        OpId::kQLinearMatMul, NoAttrs{},
        {in(t, {3, 5}), s(0.02f), z(3), weight(kI8, {5, 7}), s(0.01f), zeros({}), s(0.05f), z(5)});
    c.may(OpId::kQLinearMatMul, NoAttrs{},
          {in(t, {9, 37}), s(0.02f), z(3), weight(kI8, {37, 21}), s(0.01f), zeros({}), s(0.05f),
           z(5)});
    const In known_later = in(kF32, {});
    c.may(OpId::kQLinearMatMul, NoAttrs{},
          {in(t, {3, 5}), known_later, z(3), weight(kI8, {5, 7}), known_later, zeros({}),
           known_later, z(5)});
    c.may(OpId::kQGemm, NoAttrs{},
          {in(t, {9, 37}),
           s(0.02f),
           z(3),
           weight(kI8, {21, 37}),
           s(0.01f),
           zeros({}),
           {},
           s(0.05f),
           z(5)});
    for (const In& y : {In{}, s(0.05f)}) {
      c.may(OpId::kQGemm, NoAttrs{},
            {in(t, {9, 37}),
             known_later,
             in(t, {}),
             weight(kI8, {21, 37}),
             s(0.01f),
             zeros({}),
             {},
             y,
             y.dtype == DType::kNone ? In{} : z(5)});
    }
    for (OpId op : {OpId::kQLinearAdd, OpId::kQLinearMul}) {
      c.may(op, NoAttrs{},
            {in(t, {3, 71}), s(0.02f), z(3), in(t, {3, 71}), s(0.01f), z(1), s(0.03f), z(5)});
    }
    c.may(OpId::kQLinearPRelu, NoAttrs{},
          {in(t, {3, 71}), s(0.02f), z(3), in(kF32, {71}), s(0.03f), z(5)});
    PoolAttrs pool;
    pool.kernel_shape = {3, 3};
    c.may(OpId::kQLinearAveragePool, pool, {in(t, {1, 5, 9, 9}), s(0.02f), z(3), s(0.02f), z(5)});
    c.may(OpId::kQLinearGlobalAveragePool, NoAttrs{},
          {in(t, {1, 5, 9, 9}), s(0.02f), z(3), s(0.02f), z(5)});
    c.may(OpId::kByteTable, NoAttrs{}, {in(t, {3, 71}), weight(t, {256})});
    c.may(OpId::kQLinearSoftmax, NoAttrs{}, {in(t, {3, 71}), s(0.02f), z(3), s(0.004f), z(0)});
  }
  for (int64_t rows : {5, 40})
    c.may(OpId::kDynamicLinear, NoAttrs{},
          {in(kF32, {rows, 70}), weight(kI8, {21, 70}), in(kF32, {21})});
  c.may(OpId::kDynamicQuantizeLinear, NoAttrs{}, {in(kF32, {3, 71})}, 3);
  for (DType t : {DType::kI4, DType::kU4, kI8, kU8}) {
    c.may(OpId::kBlockLinear, BlockLinearAttrs{},
          {in(kF32, {3, 96}), weight(t, {21, 96}), weight(kF32, {21, 3}, 0.05f)});
  }
}

// float64, which few devices have; and ops with consecutive steps.
void doubles_and_cells(Cases& c) {
  const auto x = [](const Shape& shape) { return in(DType::kF64, shape); };
  for (OpId op : {OpId::kAdd, OpId::kMul, OpId::kDiv}) c.may(op, NoAttrs{}, {x({5, 7}), x({5, 7})});
  c.may(OpId::kExp, NoAttrs{}, {x({5, 7})});
  for (OpId op : {OpId::kReduceSum, OpId::kReduceMean, OpId::kReduceMax})
    c.may(op, ReduceAttrs{{-1}}, {x({9, 37})});
  const auto cell = [&](OpId op, int64_t gates, size_t outputs) {
    c.may(op, RnnAttrs{},
          {in(kF32, {5, 3, 4}), in(kF32, {1, gates * 7, 4}), in(kF32, {1, gates * 7, 7})}, outputs);
  };
  cell(OpId::kRNN, 1, 2);
  cell(OpId::kGRU, 3, 2);
  cell(OpId::kLSTM, 4, 3);
}

}  // namespace

Status self_test_cases(SelfTestCalls& calls, Allocator& allocator) {
  Cases c(calls, allocator);
  elementwise(c);
  c.strict = true;
  products(c);
  windows(c);
  images(c);
  rows(c);
  moves(c);
  integers(c);
  doubles_and_cells(c);
  return c.status();
}

}  // namespace wick::vulkan
