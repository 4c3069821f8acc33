// The patterns: a byte op for each float op between DequantizeLinear and QuantizeLinear.
#include <algorithm>
#include <cmath>

#include "graph/interpreter/interpreter.h"
#include "graph/passes/qdq.h"
#include "runtime/kernels/bytes/requantize.h"

namespace wick::ir {
namespace {

bool dim_is(const SymDim& d, int64_t n) { return d.known() && d.constant() == n; }

std::vector<ValueId> trimmed(std::vector<ValueId> in) {
  while (!in.empty() && in.back() == kNoValue) in.pop_back();
  return in;
}

}  // namespace

bool Lowering::ratios_are_finite(float x, ValueId w_scale, float y) {
  const HostTensor& w = g_.value(w_scale).constant;
  for (int64_t i = 0; i < w.numel(); ++i) {
    if (std::isfinite(scale_ratio(x, w.as<float>()[i], y))) continue;
    why_ = "the quotient of its scales is not finite";
    return false;
  }
  return true;
}

ValueId Lowering::conv(const Node& n, NodeId id, const ByteType& to) {
  const auto x = bytes_of(n.inputs[0], &why_);
  if (!x) return kNoValue;
  const auto w = weight_of(n.inputs[1], 0, false, &why_);
  if (!w) return kNoValue;
  const int64_t channels = g_.value(w->q).constant.shape()[0];
  const auto bias = bias_of(input_or_none(n, 2), channels, x->type.s, w->scale, &why_);
  if (!bias || !ratios_are_finite(x->type.s, w->scale, to.s) || !sums_fit(x->type, *w, *bias))
    return kNoValue;
  return emit_any(OpId::kQLinearConv, n.attrs,
                  trimmed({x->q, x->type.scale, x->type.zero, w->q, w->scale, w->zero, to.scale,
                           to.zero, *bias}),
                  id);
}

ValueId Lowering::linear(NodeId id, ValueId xv, ValueId wv, bool transpose, ValueId bias,
                         const ByteType* to) {
  const auto x = bytes_of(xv, &why_);
  if (!x) return kNoValue;
  const auto w = weight_of(wv, transpose ? 1 : 0, transpose, &why_);
  if (!w || !ratios_are_finite(x->type.s, w->scale, to == nullptr ? 1 : to->s)) return kNoValue;
  const int64_t outputs = g_.value(w->q).constant.shape()[0];
  const auto c = bias_of(bias, outputs, x->type.s, w->scale, &why_);
  if (!sums_fit(x->type, *w, c.value_or(kNoValue))) return kNoValue;
  std::vector<ValueId> in = {x->q, x->type.scale, x->type.zero, w->q, w->scale, w->zero};
  if (to != nullptr) {
    if (!c) return kNoValue;
    in.insert(in.end(), {*c, to->scale, to->zero});
    return emit(OpId::kQGemm, NoAttrs{}, std::move(in), id);
  }
  in.push_back(c.value_or(kNoValue));
  const ValueId y = emit(OpId::kQGemm, NoAttrs{}, trimmed(std::move(in)), id);
  return c || y == kNoValue ? y : emit(OpId::kAdd, NoAttrs{}, {y, bias}, id);
}

// Returns whether the node is a product by one matrix of constants, which is a linear layer.
bool Lowering::by_matrix(const Node& n) const {
  const Value& w = g_.value(n.inputs[1]);
  if (!w.ranked || w.shape.rank() != 2) return false;
  const Node* from = producer_of(g_, n.inputs[1]);
  while (from != nullptr && from->op == OpId::kTranspose) from = producer_of(g_, from->inputs[0]);
  return from != nullptr && from->op == OpId::kDequantizeLinear && g_.is_constant(from->inputs[0]);
}

ValueId Lowering::matmul(const Node& n, NodeId id, ValueId bias, const ByteType* to) {
  if (by_matrix(n)) return linear(id, n.inputs[0], n.inputs[1], true, bias, to);
  if (to == nullptr || bias != kNoValue) return refuse("its result is not quantized");
  const auto a = bytes_of(n.inputs[0], &why_);
  if (!a) return kNoValue;
  ByteWeight b{};
  std::string why;
  const auto other = bytes_of(n.inputs[1], &why_);
  if (other) {
    b = {other->q, other->type.scale, other->type.zero};
  } else if (const auto w = weight_of(n.inputs[1], -1, false, &why)) {
    b = *w;
  } else {
    return kNoValue;
  }
  if (!ratios_are_finite(a->type.s, b.scale, to->s) ||
      !product_fits(*a, b, other ? &other->type : nullptr))
    return kNoValue;
  return emit(OpId::kQLinearMatMul, NoAttrs{},
              {a->q, a->type.scale, a->type.zero, b.q, b.scale, b.zero, to->scale, to->zero}, id);
}

ValueId Lowering::binary(const Node& n, NodeId id, const ByteType& to) {
  const auto a = bytes_of(n.inputs[0], &why_);
  if (!a) return kNoValue;
  const auto b = bytes_of(n.inputs[1], &why_);
  if (!b) return kNoValue;
  const OpId op = n.op == OpId::kAdd ? OpId::kQLinearAdd : OpId::kQLinearMul;
  const bool finite = op == OpId::kQLinearAdd
                          ? is_sum_ratio(a->type.s / to.s) && is_sum_ratio(b->type.s / to.s)
                          : std::isfinite(scale_ratio(a->type.s, b->type.s, to.s));
  if (!finite) return refuse("the quotient of its scales is not finite");
  return emit(
      op, NoAttrs{},
      {a->q, a->type.scale, a->type.zero, b->q, b->type.scale, b->type.zero, to.scale, to.zero},
      id);
}

// The slope stays float32. A constant that some files quantize becomes the numbers that it stands
// for.
ValueId Lowering::prelu(const Node& n, NodeId id, const ByteType& to) {
  const auto x = bytes_of(n.inputs[0], &why_);
  if (!x) return kNoValue;
  ValueId slope = n.inputs[1];
  const Node* from = producer_of(g_, slope);
  if (from != nullptr && from->op == OpId::kDequantizeLinear &&
      std::all_of(from->inputs.begin(), from->inputs.end(),
                  [&](ValueId v) { return v == kNoValue || g_.is_constant(v); })) {
    std::vector<HostTensor> in;
    for (ValueId v : from->inputs)
      in.push_back(v == kNoValue ? HostTensor() : g_.value(v).constant);
    slope = g_.add_constant(run_node(from->op, from->attrs.get(), in, 1)[0]);
  }
  return emit(OpId::kQLinearPRelu, NoAttrs{},
              {x->q, x->type.scale, x->type.zero, slope, to.scale, to.zero}, id);
}

// Returns whether the sum is a linear layer: a matrix product that only this sum reads, plus a
// constant vector or number.
bool Lowering::is_layer(const Node& n, NodeId* at, ValueId* with) const {
  for (size_t i : {size_t{0}, size_t{1}}) {
    const ValueId product = n.inputs[i], bias = n.inputs[1 - i];
    const Node* m = producer_of(g_, product);
    if (m == nullptr || m->op != OpId::kMatMul || product == bias || !by_matrix(*m)) continue;
    const auto v = static_cast<size_t>(product);
    const bool alone = v < users_.size() && readers_of(product).size() == 1 && !output_[v];
    const Value& b = g_.value(bias);
    const Node* from = producer_of(g_, bias);
    const bool constant =
        g_.is_constant(bias) ||
        (from != nullptr && from->op == OpId::kDequantizeLinear && g_.is_constant(from->inputs[0]));
    const SymShape& w = g_.value(m->inputs[1]).shape;
    const int rank = b.shape.rank();
    const bool row = rank == 1 || (rank == 2 && dim_is(b.shape[0], 1) && g_.value(product).ranked &&
                                   g_.value(product).shape.rank() > 1);
    const bool vector =
        rank == 0 ||
        (row && (dim_is(b.shape[rank - 1], 1) || dim_equal(b.shape[rank - 1], w[1]) == Tri::kYes));
    if (!alone || !constant || !b.ranked || !vector) continue;
    *at = g_.value(product).producer, *with = bias;
    return true;
  }
  return false;
}

ValueId Lowering::pool(const Node& n, NodeId id, const ByteType& to) {
  const auto x = bytes_of(n.inputs[0], &why_);
  if (!x) return kNoValue;
  if (!std::isfinite(x->type.s / to.s)) return refuse("the quotient of its scales is not finite");
  int64_t window = 1;
  for (int64_t k : n.attrs.as<PoolAttrs>().kernel_shape.span()) window *= k;
  if (!mean_fits(x->type, window)) return kNoValue;
  return emit_any(OpId::kQLinearAveragePool, n.attrs,
                  {x->q, x->type.scale, x->type.zero, to.scale, to.zero}, id);
}

// Lowers a mean over the last axes of [a, b, ...]; other axes are moved there if at most two are
// left.
ValueId Lowering::mean(const Node& n, NodeId id, const ByteType& to) {
  const auto x = bytes_of(n.inputs[0], &why_);
  if (!x) return kNoValue;
  if (!std::isfinite(x->type.s / to.s)) return refuse("the quotient of its scales is not finite");
  const auto& a = n.attrs.as<ReduceAttrs>();
  std::vector<int64_t> axes(a.axes.span().begin(), a.axes.span().end());
  if (input_or_none(n, 1) != kNoValue) {
    if (!g_.is_constant(n.inputs[1])) return refuse("its axes are computed");
    axes = int_values(g_.value(n.inputs[1]).constant);
  }
  const Value& value = g_.value(x->q);
  if (!value.ranked) return refuse("the rank of its input is not known");
  const int rank = value.shape.rank();
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty());
  for (int64_t axis : axes) reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  DimList kept, gone, perm;
  for (int d = 0; d < rank; ++d) {
    DimList& list = reduced[static_cast<size_t>(d)] ? gone : kept;
    list.values[list.count++] = d;
  }
  if (gone.empty() || kept.count > 2 || kept.empty() || rank >= kMaxRank)
    return refuse("the mean is over axes that leave " + std::to_string(kept.count) + " of them");
  int64_t count = 1;  // an unknown size is checked when the model runs
  for (int64_t d : gone.span()) {
    const SymDim& size = value.shape[static_cast<int>(d)];
    if (size.known() && __builtin_mul_overflow(count, size.constant(), &count)) count = INT64_MAX;
  }
  if (!mean_fits(x->type, count)) return kNoValue;
  for (int64_t d : kept.span()) perm.values[perm.count++] = d;
  for (int64_t d : gone.span()) perm.values[perm.count++] = d;
  bool moved = false;
  for (int64_t d = 0; d < rank; ++d) moved = moved || perm[d] != d;
  ValueId q = x->q;
  if (moved) q = emit(OpId::kTranspose, TransposeAttrs{perm}, {q}, id);
  if (kept.count == 1) q = emit(OpId::kUnsqueeze, AxesAttrs{{0}}, {q}, id);
  ValueId y = emit(OpId::kQLinearGlobalAveragePool, NoAttrs{},
                   {q, x->type.scale, x->type.zero, to.scale, to.zero}, id);
  if (y == kNoValue || (a.keepdims != 0 && !moved && kept.count == 2)) return y;
  DimList ones;
  if (kept.count == 1) ones.values[ones.count++] = 0;
  for (int64_t d = 0; d < gone.count; ++d) ones.values[ones.count++] = 2 + d;
  y = emit(OpId::kSqueeze, AxesAttrs{ones}, {y}, id);
  return a.keepdims != 0 ? emit(OpId::kUnsqueeze, AxesAttrs{gone}, {y}, id) : y;
}

ValueId Lowering::softmax(const Node& n, NodeId id, const ByteType& to) {
  const auto x = bytes_of(n.inputs[0], &why_);
  if (!x) return kNoValue;
  const Value& value = g_.value(x->q);
  const int64_t axis = n.attrs.as<AxisAttrs>().axis;
  if (axis != -1 && (!value.ranked || axis != value.shape.rank() - 1))
    return refuse("it is not over the last axis");
  if (!std::isfinite(x->type.s / to.s)) return refuse("the quotient of its scales is not finite");
  return emit(OpId::kQLinearSoftmax, NoAttrs{},
              {x->q, x->type.scale, x->type.zero, to.scale, to.zero}, id);
}

ValueId Lowering::concat(const Node& n, NodeId id, const ByteType& to) {
  std::vector<Bytes> parts;
  for (ValueId v : n.inputs) {
    const auto b = bytes_of(v, &why_);
    if (!b) return kNoValue;
    parts.push_back(*b);
  }
  std::vector<ValueId> in;
  for (const Bytes& b : parts) in.push_back(requantized(b, to, id));
  return emit_any(OpId::kConcat, n.attrs, std::move(in), id);
}

ValueId Lowering::lower_core(NodeId id, const ByteType& to) {
  const Node n = g_.node(id);
  why_.clear();
  switch (n.op) {
    case OpId::kConv: return conv(n, id, to);
    case OpId::kLinear:
      return linear(id, n.inputs[0], n.inputs[1], false, input_or_none(n, 2), &to);
    case OpId::kMatMul: return matmul(n, id, kNoValue, &to);
    case OpId::kAdd: {
      NodeId product = 0;
      ValueId bias = kNoValue;
      if (!is_layer(n, &product, &bias)) return binary(n, id, to);
      return matmul(Node(g_.node(product)), product, bias, &to);
    }
    case OpId::kMul: return binary(n, id, to);
    case OpId::kPRelu: return prelu(n, id, to);
    case OpId::kAveragePool: return pool(n, id, to);
    case OpId::kReduceMean: return mean(n, id, to);
    case OpId::kSoftmax: return softmax(n, id, to);
    case OpId::kConcat: return concat(n, id, to);
    default: return refuse(kNoForm);
  }
}

}  // namespace wick::ir
