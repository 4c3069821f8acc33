#include <algorithm>
#include <cmath>
#include <map>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "quantize/qat/prepare.h"
#include "quantize/qparams.h"
#include "runtime/ops/attrs.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Converter {
 public:
  // round: puts integers where FakeQuantize was; otherwise its unrounded input.
  Converter(const Graph& graph, bool round) : g_(graph), round_(round) {}

  Graph run() {
    check_observed();
    const size_t nodes = g_.node_count();
    known_ = constant_values(g_);
    for (size_t k = 0; k < nodes; ++k) {
      const auto id = static_cast<NodeId>(k);
      if (g_.node(id).op != OpId::kFakeQuantize) continue;
      round_ ? convert(id) : pass(id);
    }
    for (size_t k = 0; k < nodes; ++k) {
      const auto id = static_cast<NodeId>(k);
      if (g_.node(id).op == OpId::kFoldedBatchNorm) add_bias(id);
    }
    g_.sort_nodes();
    ir::remove_dead(g_);
    g_.compact();
    g_.sort_constants();
    g_.metadata.erase("quantization");
    ir::verify(g_, "after convert_qat");
    return std::move(g_);
  }

 private:
  std::string text(NodeId id) const {
    const std::string& name = g_.value(g_.node(id).inputs[0]).name;
    return name.empty() ? g_.node(id).name : name;
  }

  void check_observed() const {
    size_t found = 0;
    std::string unseen;
    for (size_t k = 0; k < g_.node_count(); ++k) {
      const Node& n = g_.node(static_cast<NodeId>(k));
      if (n.op != OpId::kFakeQuantize) continue;
      ++found;
      if (n.inputs.size() < 4 || n.inputs[3] == kNoValue) continue;
      const HostTensor& range = g_.value(n.inputs[3]).constant;
      const int64_t count = range.numel() / 2;
      for (int64_t i = 0; i < count; ++i) {
        if (range.as<float>()[i] <= range.as<float>()[count + i]) continue;
        unseen += "\n  " + g_.value(n.inputs[3]).name;
        break;
      }
    }
    if (found == 0)
      throw_error("convert_qat", "the graph has no FakeQuantize: prepare_qat() puts them in");
    if (!unseen.empty()) {
      throw_error(
          "convert_qat",
          "nothing was observed yet, train on a batch first; without a range are:" + unseen);
    }
  }

  // Returns a value that is computed from constants, by the reference kernels.
  const HostTensor& constant(ValueId v) {
    const ir::Value& value = g_.value(v);
    if (value.origin == ir::ValueOrigin::kConstant) return value.constant;
    auto at = computed_.find(v);
    if (at != computed_.end()) return at->second;
    std::vector<HostTensor> in;
    for (ValueId i : g_.node(value.producer).inputs)
      in.push_back(i == kNoValue ? HostTensor() : constant(i));
    const Node& n = g_.node(value.producer);
    std::vector<HostTensor> out = ir::run_any(g_, n, in);
    return computed_[v] = std::move(out[static_cast<size_t>(g_.value(v).output)]);
  }

  QParams params(NodeId id) {
    const std::vector<ValueId> in = g_.node(id).inputs;
    const FakeQuantizeAttrs a = g_.node(id).attrs.as<FakeQuantizeAttrs>();
    const HostTensor scale = constant(in[1]), zero = constant(in[2]);
    QParams q;
    q.dtype = integers_of(a, text(id));
    q.axis = scale.shape().rank() == 0 ? -1 : a.axis;
    for (int64_t i = 0; i < scale.numel(); ++i) {
      q.scale.push_back(scale.as<float>()[i]);
      const double z = std::nearbyint(zero.as<float>()[i]);
      q.zero_point.push_back(static_cast<int32_t>(z > static_cast<double>(a.qmin)
                                                      ? std::min(z, static_cast<double>(a.qmax))
                                                      : static_cast<double>(a.qmin)));
    }
    check(q, text(id));
    return q;
  }

  void convert(NodeId id) {
    const QParams q = params(id);
    const ValueId x = g_.node(id).inputs[0], y = g_.node(id).outputs[0];
    const std::string name = g_.value(x).name;
    const ValueId scale = constant_of(scale_tensor(q)), zero = constant_of(zero_point_tensor(q));
    const int64_t axis = q.axis < 0 ? 1 : q.axis;
    ValueId integers;
    if (known_[static_cast<size_t>(x)]) {
      const bool parameter = g_.value(x).parameter;
      integers = g_.add_constant(to_integers(constant(x), q),
                                 name.empty() ? "" : name + "_quantized", parameter);
    } else {
      QuantizeAttrs a;
      a.axis = axis;
      integers = g_.emit(OpId::kQuantizeLinear, a, {x, scale, zero});
      if (!name.empty()) g_.value(integers).name = name + "_quantized";
    }
    DequantizeAttrs a;
    a.axis = axis;
    const ValueId reals = g_.emit(OpId::kDequantizeLinear, a, {integers, scale, zero});
    g_.replace_all(y, reals);
    g_.remove_node(id);
  }

  void pass(NodeId id) {
    const ValueId x = g_.node(id).inputs[0], y = g_.node(id).outputs[0];
    const ValueId reals =
        known_[static_cast<size_t>(x)] && !g_.is_constant(x)
            ? g_.add_constant(constant(x), g_.value(x).name, g_.value(x).parameter)
            : x;
    g_.replace_all(y, reals);
    g_.remove_node(id);
  }

  // Returns equal tensors as one constant, so that scales can be compared by id.
  ValueId constant_of(const HostTensor& t) {
    for (const auto& [tensor, id] : shared_) {
      if (same_bits(tensor, t)) return id;
    }
    shared_.emplace_back(t, g_.add_constant(t));
    return shared_.back().second;
  }

  // The statistics are fixed: this is y + bias, which the layer itself adds after its last product.
  void add_bias(NodeId id) {
    const ValueId y = g_.node(id).inputs[0], out = g_.node(id).outputs[0];
    ValueId bias = g_.node(id).inputs[1];
    if (known_value(bias)) bias = g_.add_constant(constant(bias), g_.value(bias).name, true);
    const NodeId layer = g_.value(y).producer;
    const auto users = g_.users()[static_cast<size_t>(y)];
    const bool own = layer >= 0 && users.size() == 1 && !g_.is_output(y) &&
                     (g_.node(layer).op == OpId::kConv || g_.node(layer).op == OpId::kLinear) &&
                     g_.node(layer).inputs.size() == 2;
    if (own) {
      g_.node(layer).inputs.push_back(bias);
      const std::string name = g_.value(out).name;
      g_.replace_all(out, y);
      if (g_.value(y).name.empty()) g_.value(y).name = name;
    } else {
      ReshapeAttrs channels;
      channels.shape = {1, -1};
      for (int d = 2; d < g_.value(y).shape.rank(); ++d)
        channels.shape.values[channels.shape.count++] = 1;
      const ValueId line = g_.emit(OpId::kReshape, channels, {bias});
      g_.replace_all(out, g_.emit(OpId::kAdd, {y, line}));
    }
    g_.remove_node(id);
  }
  // Returns whether v is computed from floats that were constants before; a FakeQuantize's result
  // is a DequantizeLinear's now.
  bool known_value(ValueId v) const {
    return static_cast<size_t>(v) < known_.size() && known_[static_cast<size_t>(v)] &&
           g_.value(v).origin == ir::ValueOrigin::kNode;
  }

  Graph g_;
  bool round_;
  std::vector<bool> known_;
  std::map<ValueId, HostTensor> computed_;
  std::vector<std::pair<HostTensor, ValueId>> shared_;
};

}  // namespace

DType integers_of(const FakeQuantizeAttrs& a, const std::string& what) {
  for (DType t : {DType::kU8, DType::kI8, DType::kU4, DType::kI4, DType::kI32}) {
    const IntegerRange r = integer_range(t);
    if (r.lo == a.qmin && r.hi == a.qmax) return t;
  }
  throw_error("convert_qat", what + ": no dtype has the integers from " + std::to_string(a.qmin) +
                                 " to " + std::to_string(a.qmax));
}

std::vector<bool> constant_values(const Graph& g) {
  std::vector<bool> known(g.value_count(), false);
  for (size_t v = 0; v < g.value_count(); ++v) known[v] = g.is_constant(static_cast<ValueId>(v));
  for (size_t k = 0; k < g.node_count(); ++k) {
    const Node& n = g.node(static_cast<NodeId>(k));
    if (n.removed() || !n.regions.empty() || n.inputs.empty()) continue;
    const bool all = std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
      return v == kNoValue || known[static_cast<size_t>(v)];
    });
    for (ValueId v : n.outputs) known[static_cast<size_t>(v)] = all;
  }
  return known;
}

Graph convert_qat(const Graph& prepared) { return Converter(prepared, true).run(); }
Graph without_rounding(const Graph& prepared) { return Converter(prepared, false).run(); }

}  // namespace wick::quantize
