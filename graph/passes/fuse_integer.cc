// Fuses a MatMulInteger by a matrix of constants, a Cast and a Mul by the product of two scales, as
// dynamic quantization writes them, into one QGemm that returns reals. This is exact: the same
// integers, the same product of the scales, the same rounding.
#include <algorithm>
#include <cmath>
#include <map>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"
#include "runtime/kernels/bytes/requantize.h"

namespace wick::ir {
namespace {

class IntegerFuser {
 public:
  explicit IntegerFuser(Graph& g) : g_(g), users_(g.users()) {}

  bool run() {
    Substitution sub(g_);
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      sub.apply(g_.node(id));
      const Node n = g_.node(id);
      if (n.removed() || n.op != OpId::kMul) continue;
      const ValueId y = fused(n);
      if (y == kNoValue) continue;
      g_.value(y).name = g_.value(n.outputs[0]).name;
      sub.drop(id, y);
    }
    if (!sub.finish()) return false;
    g_.compact();
    return true;
  }

 private:
  struct Scales {
    ValueId x, w;
  };

  bool alone(ValueId v) const {
    return !g_.is_output(v) && users_[static_cast<size_t>(v)].size() == 1;
  }
  // Returns whether v is one number, as far as shapes tell.
  bool is_one(ValueId v) const {
    const Value& value = g_.value(v);
    if (!value.ranked || value.declared) return false;
    for (int d = 0; d < value.shape.rank(); ++d) {
      if (dim_equal(value.shape[d], SymDim(1)) != Tri::kYes) return false;
    }
    return true;
  }
  // Returns whether v is a scale that DynamicQuantizeLinear computes: above 0, as QGemm requires
  // it, if perhaps infinite. A scale from elsewhere might be anything.
  bool is_range(ValueId v) const {
    const Node* n = producer_of(g_, v);
    return n != nullptr && n->op == OpId::kDynamicQuantizeLinear && n->outputs[1] == v;
  }
  // Returns whether v is a constant that QGemm takes as scales: one, or one for each of n columns.
  bool weight_scale(ValueId v, int64_t n) const {
    if (!g_.is_constant(v) || g_.value(v).dtype != DType::kF32) return false;
    const HostTensor& t = g_.value(v).constant;
    if (t.numel() != 1 && !(t.shape().rank() == 1 && t.numel() == n)) return false;
    for (int64_t i = 0; i < t.numel(); ++i) {
      if (!is_scale(t.as<float>()[i])) return false;
    }
    return true;
  }
  // Finds the scales whose product v is.
  bool scales_of(ValueId v, int64_t n, Scales* s) {
    if (weight_scale(v, n)) {
      HostTensor one(DType::kF32, Shape{});
      one.as<float>()[0] = 1;
      *s = {g_.add_constant(std::move(one)), v};
      return true;
    }
    const Node* product = producer_of(g_, v);
    if (product == nullptr || product->op != OpId::kMul) return false;
    for (size_t i : {size_t{0}, size_t{1}}) {
      const ValueId x = product->inputs[i], w = product->inputs[1 - i];
      if (!weight_scale(w, n) || !is_range(x)) continue;
      *s = {x, w};
      return true;
    }
    return false;
  }
  // Returns the zero point, 0 if there is none.
  ValueId zero_of(ValueId v, DType t) {
    if (v != kNoValue) return v;
    const auto [at, fresh] = zeros_.emplace(t, kNoValue);
    if (fresh) at->second = g_.add_constant(HostTensor(t, Shape{}));
    return at->second;
  }
  ValueId transposed(ValueId w) {
    const auto [at, fresh] = transposed_.emplace(w, kNoValue);
    if (fresh) {
      const std::string name = g_.value(w).name;
      const bool parameter = g_.value(w).parameter && !name.empty();
      const HostTensor t = g_.value(w).constant;
      TransposeAttrs swap;
      swap.perm.values[0] = 1, swap.perm.values[1] = 0, swap.perm.count = 2;
      HostTensor turned = run_node(OpId::kTranspose, &swap, {&t, 1}, 1)[0];
      at->second =
          g_.add_constant(std::move(turned), name.empty() ? "" : name + ".transposed", parameter);
    }
    return at->second;
  }

  ValueId fused(const Node& mul) {
    for (size_t i : {size_t{0}, size_t{1}}) {
      const Node* cast = producer_of(g_, mul.inputs[i]);
      if (cast == nullptr || cast->op != OpId::kCast || !alone(mul.inputs[i])) continue;
      const Node* sum = producer_of(g_, cast->inputs[0]);
      if (sum == nullptr || sum->op != OpId::kMatMulInteger || !alone(cast->inputs[0])) continue;
      if (g_.value(mul.outputs[0]).dtype != DType::kF32 ||
          !same_shape(g_, mul.outputs[0], sum->outputs[0]))
        continue;
      return gemm(Node(*sum), mul.inputs[1 - i]);
    }
    return kNoValue;
  }
  ValueId gemm(const Node& sum, ValueId product) {
    const ValueId w = sum.inputs[1], x_zero = input_or_none(sum, 2), w_zero = input_or_none(sum, 3);
    if (!g_.is_constant(w) || g_.value(w).constant.shape().rank() != 2) return kNoValue;
    const int64_t n = g_.value(w).constant.shape()[1];
    if (x_zero != kNoValue && !is_one(x_zero)) return kNoValue;
    if (w_zero != kNoValue) {
      if (!g_.is_constant(w_zero)) return kNoValue;
      const HostTensor& z = g_.value(w_zero).constant;
      if (z.numel() != 1 && !(z.shape().rank() == 1 && z.numel() == n)) return kNoValue;
    }
    Scales s;
    if (!scales_of(product, n, &s)) return kNoValue;
    const NodeId id =
        g_.add_node(OpId::kQGemm, AnyAttrs::of(NoAttrs{}),
                    {sum.inputs[0], s.x, zero_of(x_zero, g_.value(sum.inputs[0]).dtype),
                     transposed(w), s.w, zero_of(w_zero, g_.value(w).dtype)},
                    1, sum.name);
    g_.node(id).module = sum.module;
    g_.node(id).source = sum.source;
    return g_.node(id).outputs[0];
  }

  Graph& g_;
  std::vector<std::vector<NodeId>> users_;
  std::map<DType, ValueId> zeros_;
  std::map<ValueId, ValueId> transposed_;
};

}  // namespace

bool fuse_integer(Graph& g) {
  const bool any = std::any_of(g.nodes().begin(), g.nodes().end(),
                               [](const Node& n) { return n.op == OpId::kMatMulInteger; });
  return any && IntegerFuser(g).run();
}

}  // namespace wick::ir
