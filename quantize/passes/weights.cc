// Quantizes weights alone: in blocks along a layer's inputs, or for layers that quantize their
// input as it comes.
#include <algorithm>
#include <functional>
#include <set>

#include "quantize/passes/block_weights.h"
#include "quantize/passes/half_weights.h"
#include "quantize/passes/insert_qdq.h"
#include "quantize/passes/op_parts.h"
#include "quantize/passes/quantize.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// Blocks is a matrix in blocks, as constants of the new graph.
struct Blocks {
  ValueId bytes = kNoValue, scale = kNoValue, zero = kNoValue;
  DType dtype = DType::kNone;
};

class WeightQuantizer {
 public:
  // `inputs`: for GPTQ; null: without.
  WeightQuantizer(const Graph& g, const Recipe& r, LayerInputs* inputs)
      : g_(g), r_(r), inputs_(inputs) {}

  QuantizeResult run() {
    const std::vector<std::string> excluded = excluded_nodes(g_, r_);
    find_tables(excluded);
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      const Node& n = g_.node(id);
      const IsConstant constant = [&](ValueId v) { return g_.is_constant(v); };
      if (!n.removed()) list_regions(id, display_name(g_, id), n, constant);
      if (n.removed() || !has_weight(g_, n, constant)) continue;
      const std::string reason = excluded[i].empty() ? refusal(n) : excluded[i];
      if (!reason.empty()) {
        result_.stayed.push_back({id, display_name(g_, id), op_info_name(n), reason});
      } else if (n.op == OpId::kLinear && r_.mode == Mode::kDynamic) {
        dynamic(id);
      } else if (n.op == OpId::kLinear) {
        linear(id);
      } else {
        gather(id);
      }
    }
    g_.sort_nodes();
    g_.compact();
    ir::verify(g_, std::string("after quantization, ") + mode_name(r_.mode));
    result_.graph = std::move(g_);
    return std::move(result_);
  }

 private:
  static const char* op_info_name(const Node& n) { return find_op(n.op)->name; }

  using IsConstant = std::function<bool(ValueId)>;

  // Lists the layers in the regions of a node, `of`, which stay float: integers are read by a
  // graph's own nodes. A weight is a constant of the region or of a graph around it.
  void list_regions(NodeId id, const std::string& of, const Node& node,
                    const IsConstant& constant) {
    const size_t own = ir::own_inputs(node), inside = ir::own_region_inputs(node);
    for (const Graph& region : node.regions) {
      const IsConstant within = [&](ValueId v) {
        if (region.is_constant(v)) return true;
        for (size_t k = inside; k < region.inputs().size(); ++k) {
          const size_t outer = own + k - inside;
          if (region.inputs()[k] == v && outer < node.inputs.size())
            return constant(node.inputs[outer]);
        }
        return false;
      };
      for (size_t i = 0; i < region.node_count(); ++i) {
        const auto at = static_cast<NodeId>(i);
        const Node& n = region.node(at);
        if (n.removed()) continue;
        if (has_weight(region, n, within))
          result_.stayed.push_back(
              {id, display_name(region, at), op_info_name(n), "it is in the body of " + of});
        list_regions(id, of, n, within);
      }
    }
  }

  // Returns whether a node has a constant of real numbers large enough to be a weight.
  static bool has_weight(const Graph& g, const Node& n, const IsConstant& constant) {
    const auto real = [&](size_t i) {
      return i < n.inputs.size() && n.inputs[i] != kNoValue && constant(n.inputs[i]) &&
             is_float(g.value(n.inputs[i]).dtype) && g.value(n.inputs[i]).ranked &&
             g.value(n.inputs[i]).shape.rank() > 1;
    };
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const bool table = i == 0 && (n.op == OpId::kGather || n.op == OpId::kMatMul);
      if ((table || input_role(n.op, i) == 'w') && real(i)) return true;
    }
    return false;
  }

  // Returns why a node's weight is not quantized; "" if it is.
  std::string refusal(const Node& n) const {
    const bool table = n.op == OpId::kGather;
    if (n.op != OpId::kLinear && !table) {
      return r_.mode == Mode::kDynamic ? "only Linear and Gather are quantized so"
                                       : "only Linear and Gather have weights in blocks";
    }
    if (table && !r_.embeddings) return "tables stay, as the recipe says";
    const HostTensor& w = g_.value(n.inputs[table ? 0 : 1]).constant;
    if (w.dtype() != DType::kF32)
      return std::string("its weight is ") + dtype_name(w.dtype()) + ", only float32 is quantized";
    if (w.shape().rank() != 2 || w.numel() == 0) return "its weight is no matrix";
    if (!is_finite(w)) return "its weight has NaN or infinite numbers";
    if (!table && r_.mode == Mode::kDynamic && !sums_fit(w)) return "32 bits may not hold its sums";
    if (table && n.attrs.as<AxisAttrs>().axis != 0 && n.attrs.as<AxisAttrs>().axis != -2)
      return "it does not gather rows";
    return "";
  }

  // Returns whether 32 bits hold the sums, whatever a row's zero point is.
  bool sums_fit(const HostTensor& w) const {
    if (w.shape()[1] <= ir::kMostSum / (255 * 127)) return true;
    const std::vector<int64_t> most = largest_sums(w, weight_params(w, r_), {0, 255});
    return std::all_of(most.begin(), most.end(), [](int64_t m) { return m <= ir::kMostSum; });
  }

  // A table that stays float leaves a layer that shares it alone.
  void find_tables(const std::vector<std::string>& excluded) {
    if (!r_.embeddings) return;
    for (size_t i = 0; i < excluded.size(); ++i) {
      const Node& n = g_.node(static_cast<NodeId>(i));
      if (!n.removed() && n.op == OpId::kGather && g_.is_constant(n.inputs[0]) &&
          excluded[i].empty() && refusal(n).empty())
        tables_.insert(n.inputs[0]);
    }
  }

  // Returns the moments of what the layers of a weight read; null: round to nearest.
  const Moments* moments(ValueId weight) const {
    return inputs_ == nullptr || tables_.count(weight) != 0 ? nullptr : inputs_->of(weight);
  }

  Blocks blocks_of(ValueId v, const std::string& node) {
    // Rows of 4 bits cannot be gathered. A table that is also a layer's weight is stored once, in 8
    // bits.
    const bool table = tables_.count(v) != 0;
    const DType dtype = table ? DType::kI8 : weight_dtype(r_, node);
    const auto [at, fresh] = made_.emplace(std::pair{v, dtype}, Blocks{});
    if (!fresh) return at->second;
    const bool symmetric = table || (r_.weight_symmetric && dtype != DType::kU4);
    const HostTensor w = g_.value(v).constant;
    const std::string name = g_.value(v).name;
    BlockedWeight b = in_blocks(w, dtype, symmetric, r_.block_size, moments(v));
    Blocks& made = at->second;
    made.dtype = dtype;
    made.bytes = g_.add_constant(std::move(b.bytes), name, true);
    made.scale = g_.add_constant(std::move(b.scale), name.empty() ? "" : name + ".scale");
    if (!symmetric)
      made.zero = g_.add_constant(std::move(b.zero), name.empty() ? "" : name + ".zero_point");
    return made;
  }

  ValueId dequantize(std::vector<ValueId> in, int64_t axis, const std::string& name) {
    if (in.back() == kNoValue) in.pop_back();
    const DequantizeAttrs a{axis, r_.block_size, static_cast<int64_t>(DType::kF32)};
    return g_.emit(OpId::kDequantizeLinear, a, std::move(in), name + ".dequantize");
  }

  void linear(NodeId id) {
    const ValueId weight = g_.node(id).inputs[1];
    const std::string name = display_name(g_, id);
    const Blocks b = blocks_of(weight, name);
    ValueId& made = dequantized_.emplace(b.bytes, kNoValue).first->second;
    if (made == kNoValue) made = dequantize({b.bytes, b.scale, b.zero}, 1, name);
    g_.node(id).inputs[1] = made;
  }

  // This is done in place: the output keeps its type.
  void dynamic(NodeId id) {
    const std::vector<ValueId> in = g_.node(id).inputs;
    auto& [bytes, scale] = per_channel_.emplace(in[1], std::pair{kNoValue, kNoValue}).first->second;
    if (bytes == kNoValue) {
      const HostTensor w = g_.value(in[1]).constant;
      const std::string name = g_.value(in[1]).name;
      QParams q = weight_params(w, r_);
      bytes = g_.add_constant(gptq_integers(w, q, moments(in[1])), name, true);
      scale = g_.add_constant(HostTensor::of(Shape{static_cast<int64_t>(q.scale.size())}, q.scale),
                              name.empty() ? "" : name + ".scale");
    }
    Node& n = g_.node(id);
    n.op = OpId::kDynamicLinear;
    n.inputs = {in[0], bytes, scale};
    if (in.size() > 2 && in[2] != kNoValue) n.inputs.push_back(in[2]);
    g_.infer(id);
  }

  void gather(NodeId id) {
    const std::string name = display_name(g_, id);
    const Node n = g_.node(id);
    const Blocks b = blocks_of(n.inputs[0], name);
    const auto rows = [&](ValueId from, const char* what) {
      if (from == kNoValue) return kNoValue;
      return g_.emit(OpId::kGather, AxisAttrs{0}, {from, n.inputs[1]}, name + what);
    };
    const ValueId bytes = rows(b.bytes, ".rows"), scale = rows(b.scale, ".scales"),
                  zero = rows(b.zero, ".zero_points");
    const ValueId reals = dequantize({bytes, scale, zero}, -1, name);
    // The new node takes over the old one's result: readers, names and outputs of the graph stay.
    const NodeId made = g_.value(reals).producer;
    std::swap(g_.node(made).outputs, g_.node(id).outputs);
    g_.value(g_.node(made).outputs[0]).producer = made;
    g_.value(g_.node(id).outputs[0]).producer = id;
    g_.remove_node(id);
  }

  Graph g_;
  const Recipe& r_;
  LayerInputs* inputs_;
  QuantizeResult result_;
  std::map<std::pair<ValueId, DType>, Blocks> made_;
  std::map<ValueId, ValueId> dequantized_;  // by the integers
  std::map<ValueId, std::pair<ValueId, ValueId>> per_channel_;
  std::set<ValueId> tables_;
};

QuantizeResult quantized(const Graph& graph, const Recipe& r, const Batches& batches,
                         const CalibrateOptions& options) {
  const Graph g = with_half_weights(graph, r);
  std::optional<LayerInputs> inputs;
  if (r.gptq) inputs.emplace(g, batches, options);
  QuantizeResult result = WeightQuantizer(g, r, inputs ? &*inputs : nullptr).run();
  if (inputs) result.notes = inputs->notes();
  return result;
}

}  // namespace

QuantizeResult quantize_dynamic(const Graph& graph, const Recipe& recipe, const Batches& batches,
                                const CalibrateOptions& options) {
  Recipe r = recipe;
  r.mode = Mode::kDynamic;
  check(r);
  if (r.weight != DType::kI8 || !r.weight_symmetric)
    throw_error("quantize_dynamic", std::string("weights are symmetric int8 here, not ") +
                                        (r.weight_symmetric ? "" : "asymmetric ") +
                                        dtype_name(r.weight));
  return quantized(graph, r, batches, options);
}

QuantizeResult quantize_weights(const Graph& graph, const Recipe& recipe, const Batches& batches,
                                const CalibrateOptions& options) {
  Recipe r = recipe;
  r.mode = Mode::kWeightOnly;
  check(r);
  return quantized(graph, r, batches, options);
}

}  // namespace wick::quantize
