// Writes fused ops as the nodes that they stand for, for formats that have none. This is exact: the
// same arithmetic in the same order.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "graph/passes/attention.h"
#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"
#include "runtime/core/half.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/chain.h"
#include "runtime/ops/products.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

HostTensor number_of(DType dtype, double v) {
  const HostTensor wide = HostTensor::of<double>({}, {v});
  if (dtype == DType::kF64) return wide;
  HostTensor t(dtype, Shape{});
  switch (dtype) {
    case DType::kF32: t.as<float>()[0] = static_cast<float>(v); break;
    case DType::kF16: t.as<Half>()[0] = Half(static_cast<float>(v)); break;
    default: t.as<BFloat16>()[0] = BFloat16(static_cast<float>(v)); break;
  }
  return t;
}

// Returns a tensor of 4- or 8-bit integers that are all the same.
HostTensor filled(DType dtype, const Shape& shape, int64_t value) {
  HostTensor t(dtype, shape);
  const bool half = dtype_bits(dtype) == 4;
  const auto byte = static_cast<uint8_t>(half ? (value & 15) * 17 : value);
  auto* bytes = static_cast<uint8_t*>(t.data());
  std::fill(bytes, bytes + t.nbytes(), byte);
  if (half && t.numel() % 2 != 0) bytes[t.nbytes() - 1] = byte & 15;
  return t;
}

class Unfuser {
 public:
  explicit Unfuser(Graph& g) : g_(g) {}

  bool run() {
    Substitution sub(g_);
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      sub.apply(g_.node(id));
      fused_ = g_.node(id);
      const ValueId y = unfused();
      if (y == kNoValue) continue;
      g_.value(y).name = g_.value(fused_.outputs[0]).name;
      sub.drop(id, y);
    }
    if (!sub.finish()) return false;
    g_.compact();
    return true;
  }

 private:
  // Returns the value that takes the place of the node's result; kNoValue: the op is not fused.
  ValueId unfused() {
    struct Form {
      OpId op;
      ValueId (Unfuser::*write)();
    };
    static constexpr Form kForms[] = {
        {OpId::kFusedConv, &Unfuser::conv},           {OpId::kFusedLinear, &Unfuser::linear},
        {OpId::kFusedMatMul, &Unfuser::matmul},       {OpId::kFusedElementwise, &Unfuser::chain},
        {OpId::kFusedAttention, &Unfuser::attention}, {OpId::kBlockLinear, &Unfuser::blocks}};
    for (const Form& form : kForms) {
      if (form.op != fused_.op) continue;
      if (products_of(fused_.op, fused_.attrs.get()) != Products::kExact)
        fail("its products have an order that the model chose (--numerics)");
      return (this->*form.write)();
    }
    return kNoValue;
  }

  ValueId conv() {
    const auto& a = fused_.attrs.as<FusedConvAttrs>();
    return epilogue(add(OpId::kConv, AnyAttrs::of(a.conv), {in(0), in(1), in(2)}), a.epilogue);
  }
  ValueId linear() {
    return epilogue(plain(OpId::kLinear, {in(0), in(1), in(2)}), fused_.attrs.as<EpilogueAttrs>());
  }
  ValueId matmul() {
    const ValueId y = plain(OpId::kMatMul, {in(0), in(1)});
    return epilogue(has(2) ? plain(OpId::kAdd, {y, in(2)}) : y, fused_.attrs.as<EpilogueAttrs>());
  }

  ValueId in(size_t i) const { return input_or_none(fused_, i); }
  bool has(size_t i) const { return in(i) != kNoValue; }
  const SymShape& shape(ValueId v) const { return g_.value(v).shape; }
  [[noreturn]] void fail(const char* why) const {
    throw Error(std::string("[unfuse] ") + find_op(fused_.op)->name + " '" + fused_.name +
                    "' has no form in plain ops: " + why,
                Code::kUnsupported);
  }

  // The first node has the fused one's name, those behind it their op's as well.
  ValueId add(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs) {
    std::string name = fused_.name;
    if (made_for_ == fused_.outputs[0] && !name.empty())
      name += std::string("/") + find_op(op)->name;
    made_for_ = fused_.outputs[0];
    const NodeId id = g_.add_node(op, attrs, std::move(inputs), 1, name);
    g_.node(id).module = fused_.module;
    g_.node(id).source = fused_.source;
    return g_.node(id).outputs[0];
  }
  ValueId plain(OpId op, std::vector<ValueId> inputs) {
    return add(op, AnyAttrs::of(NoAttrs{}), std::move(inputs));
  }

  // Inputs 3 to 5 are the scale and the shift of a batch norm, and what is added to its result.
  ValueId epilogue(ValueId y, const EpilogueAttrs& e) {
    if (has(3)) y = batch_norm(y);
    if (has(5)) y = plain(OpId::kAdd, {y, in(5)});
    for (const ActivationRow& row : kActivations) {
      if (row.activation != static_cast<Activation>(e.activation)) continue;
      AnyAttrs all;
      const AttrType& type = *find_op(row.op)->attrs;
      type.init(all.get());
      double next = e.alpha;
      for (const AttrField& f : type.fields) {
        if (f.kind == AttrKind::kInt) attr_int(f, all.get()) = row.flag;
        if (f.kind != AttrKind::kFloat) continue;
        attr_float(f, all.get()) = next;
        next = e.beta;
      }
      const ValueId z = add(row.op, all, {y});
      return row.times ? plain(OpId::kMul, {y, z}) : z;
    }
    return y;
  }

  // BatchNorm computes x * scale + shift in one rounding, as the epilogue does: gamma and beta are
  // both, the variance is 1. A mean of 0 whose sign is the scale's keeps a shift of -0.
  ValueId batch_norm(ValueId y) {
    if (!g_.is_constant(in(3)) || g_.value(in(3)).dtype != DType::kF32)
      fail("its scale is no constant of float32");
    if (fused_.op != OpId::kFusedConv && (!g_.value(y).ranked || shape(y).rank() != 2))
      fail("its scale goes along an axis that is not the second");
    const HostTensor scale = g_.value(in(3)).constant;
    HostTensor mean(DType::kF32, scale.shape()), variance(DType::kF32, scale.shape());
    for (int64_t i = 0; i < scale.numel(); ++i) {
      mean.as<float>()[i] = std::copysign(0.0f, scale.as<float>()[i]);
      variance.as<float>()[i] = 1;
    }
    const ValueId m = g_.add_constant(std::move(mean)), v = g_.add_constant(std::move(variance));
    return add(OpId::kBatchNorm, AnyAttrs::of(BatchNormAttrs{0}), {y, in(3), in(4), m, v});
  }

  ValueId chain() {
    const auto& a = fused_.attrs.as<ChainAttrs>();
    const DType real = g_.value(fused_.outputs[0]).dtype;
    std::vector<ValueId> made, constants(static_cast<size_t>(a.constants.count), kNoValue);
    const auto operand = [&](int o) {
      if (o >= kChainFirstStep) return made[static_cast<size_t>(o - kChainFirstStep)];
      if (o < kChainFirstConstant) return in(static_cast<size_t>(o));
      ValueId& known = constants[static_cast<size_t>(o - kChainFirstConstant)];
      if (known == kNoValue) known = g_.add_constant(number_of(real, chain_constant(a, o)));
      return known;
    };
    for (int64_t i = 0; i < a.steps.count; ++i) {
      const ChainStep s = chain_step(a.steps[i]);
      std::vector<ValueId> inputs;
      for (int k = 0; k < s.what.operands - s.what.parameters; ++k)
        inputs.push_back(operand(s.operand[k]));
      const Value& first = g_.value(inputs[0]);
      if (s.what.kind == ChainKind::kReduce && !first.ranked)
        fail("it reduces a value whose rank only running tells");
      const int rank = first.ranked ? first.shape.rank() : 0;
      made.push_back(add(s.op, chain_step_attrs(a, s, rank, real), std::move(inputs)));
    }
    return made.back();
  }

  ValueId turned(ValueId v, const DimList& perm) {
    if (perm.empty() || is_identity(perm)) return v;
    return add(OpId::kTranspose, AnyAttrs::of(TransposeAttrs{perm}), {v});
  }
  // Gives each query head its own head of keys or values: consecutive ones share one.
  ValueId one_a_head(ValueId x, ValueId q) {
    const int axis = shape(q).rank() - 3;
    if (axis < 0 || !divides(shape(x)[axis], shape(q)[axis])) return x;
    const int64_t own = shape(x)[axis].constant(), all = shape(q)[axis].constant();
    if (own == 1 || own == all) return x;  // MatMul broadcasts one
    std::vector<int64_t> of(static_cast<size_t>(all));
    for (int64_t h = 0; h < all; ++h) of[static_cast<size_t>(h)] = h / (all / own);
    return add(OpId::kGather, AnyAttrs::of(AxisAttrs{axis}),
               {x, g_.add_constant(HostTensor::ints(of))});
  }
  // Applies the steps of a phase, whose operands are inputs from `*next` on.
  ValueId steps(const FusedAttentionAttrs& a, int phase, ValueId v, size_t* next) {
    for (int64_t step : a.steps.span()) {
      if (attention_phase(step) != phase) continue;
      const ValueId x = in(*next), y = in(*next + 1);
      *next += static_cast<size_t>(attention_operands(step));
      switch (static_cast<AttentionStep>(step)) {
        case AttentionStep::kMulQuery:
        case AttentionStep::kMulKey:
        case AttentionStep::kMul: v = plain(OpId::kMul, {v, x}); break;
        case AttentionStep::kDivQuery:
        case AttentionStep::kDivKey:
        case AttentionStep::kDiv: v = plain(OpId::kDiv, {v, x}); break;
        case AttentionStep::kAdd: v = plain(OpId::kAdd, {v, x}); break;
        case AttentionStep::kSub: v = plain(OpId::kSub, {v, x}); break;
        case AttentionStep::kTanh: v = plain(OpId::kTanh, {v}); break;
        case AttentionStep::kKeep:
        case AttentionStep::kKeepWeight: v = plain(OpId::kWhere, {x, v, y}); break;
        case AttentionStep::kReplace:
        case AttentionStep::kReplaceWeight: v = plain(OpId::kWhere, {x, y, v}); break;
      }
    }
    return v;
  }
  ValueId attention() {
    const auto& a = fused_.attrs.as<FusedAttentionAttrs>();
    for (size_t i = 0; i < 3; ++i) {
      if (!g_.value(in(i)).ranked) fail("only running tells the rank of its inputs");
    }
    size_t next = 3;
    const ValueId q = steps(a, 0, turned(in(0), a.q_perm), &next);
    ValueId k = steps(a, 1, turned(in(1), a.k_perm), &next);
    k = one_a_head(k, q);
    DimList swap = no_perm(shape(k).rank());
    std::swap(swap.values[swap.count - 1], swap.values[swap.count - 2]);
    ValueId weights = steps(a, 2, plain(OpId::kMatMul, {q, turned(k, swap)}), &next);
    weights = add(OpId::kSoftmax, AnyAttrs::of(AxisAttrs{-1}), {weights});
    weights = steps(a, 3, weights, &next);
    const ValueId v = one_a_head(turned(in(2), a.v_perm), q);
    return turned(plain(OpId::kMatMul, {weights, v}), a.out_perm);
  }

  ValueId blocks() {
    const auto& a = fused_.attrs.as<BlockLinearAttrs>();
    ValueId zero = in(3);
    if (zero == kNoValue && a.zero_point != 0) {
      const HostTensor& scale = g_.value(in(2)).constant;
      zero = g_.add_constant(filled(g_.value(in(1)).dtype, scale.shape(), a.zero_point));
    }
    DequantizeAttrs d;
    d.block_size = a.block_size;
    if (g_.value(in(2)).dtype != DType::kF32) d.output_dtype = static_cast<int64_t>(DType::kF32);
    const ValueId w = add(OpId::kDequantizeLinear, AnyAttrs::of(d), {in(1), in(2), zero});
    return plain(OpId::kLinear, {in(0), w, in(4)});
  }

  Graph& g_;
  Node fused_;                   // a copy: nodes are added
  ValueId made_for_ = kNoValue;  // the result of the fused node that add() was last called for
};

}  // namespace

bool unfuse(Graph& g) { return Unfuser(g).run(); }

}  // namespace wick::ir
