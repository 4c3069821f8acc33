#include <algorithm>
#include <cmath>

#include "graph/rewrite/substitution.h"
#include "quantize/passes/insert_qdq.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// Corrector runs all batches at once, node by node.
class Corrector {
 public:
  Corrector(Graph& g, const Calibration& c, const CalibrateOptions& o) : g_(g), c_(c) {
    run_.kernels = o.kernels;
    readers_.resize(g.value_count(), 0);
    for (const Node& n : g.nodes()) {
      for (ValueId v : n.inputs) {
        if (v != kNoValue) ++readers_[static_cast<size_t>(v)];
      }
    }
  }

  void add_batch(const std::vector<HostTensor>& inputs) {
    std::map<ValueId, HostTensor>& values = batches_.emplace_back();
    for (size_t i = 0; i < inputs.size(); ++i) values[g_.inputs()[i]] = inputs[i];
  }

  int run() {
    int corrected = 0;
    for (size_t i = 0; i < g_.node_count(); ++i) {
      const Node& n = g_.node(static_cast<NodeId>(i));
      if (n.removed()) continue;
      for (auto& values : batches_) run_node(static_cast<NodeId>(i), &values);
      const auto mean = c_.means.find(n.outputs[0]);
      if (mean != c_.means.end() && correct(n, mean->second)) ++corrected;
      for (ValueId v : n.inputs) {
        if (v == kNoValue || --readers_[static_cast<size_t>(v)] > 0) continue;
        for (auto& values : batches_) values.erase(v);
      }
    }
    return corrected;
  }

 private:
  void run_node(NodeId id, std::map<ValueId, HostTensor>* values) const {
    const Node& n = g_.node(id);
    std::vector<HostTensor> in;
    for (ValueId v : n.inputs) {
      if (v == kNoValue) {
        in.emplace_back();
      } else {
        in.push_back(g_.is_constant(v) ? g_.value(v).constant : values->at(v));
      }
    }
    std::vector<HostTensor> out;
    try {
      out = ir::run_any(g_, n, in, run_);
    } catch (const Error& e) {
      throw_error("bias_correction", e.what() + (" in " + ir::node_text(g_, id)));
    }
    for (size_t k = 0; k < out.size(); ++k) {
      if (readers_[static_cast<size_t>(n.outputs[k])] > 0 || k == 0)
        (*values)[n.outputs[k]] = std::move(out[k]);
    }
  }

  bool correct(const Node& layer, const std::vector<double>& want) {
    if (layer.inputs.size() < 3 || layer.inputs[2] == kNoValue) return false;
    const Node* bias = ir::producer_of(g_, layer.inputs[2]);
    if (bias == nullptr || bias->op != OpId::kDequantizeLinear ||
        !g_.is_constant(bias->inputs[0]) || g_.value(bias->inputs[0]).dtype != DType::kI32)
      return false;
    const ValueId y = layer.outputs[0];
    std::vector<double> sums;
    int64_t count = 0;
    for (auto& values : batches_) {
      const HostTensor& t = values.at(y);
      add_channel_sums(t, layer.op == OpId::kConv ? 1 : t.shape().rank() - 1, &sums, &count);
    }
    if (count == 0 || sums.size() != want.size()) return false;
    const HostTensor scale = g_.value(bias->inputs[1]).constant,
                     old = g_.value(bias->inputs[0]).constant;
    HostTensor moved(DType::kI32, old.shape(), old.data(), old.nbytes());
    std::vector<float> by(sums.size());
    for (size_t c = 0; c < sums.size(); ++c) {
      const float unit = scale.as<float>()[scale.numel() == 1 ? 0 : c];
      const double steps = std::nearbyint((want[c] - sums[c] / static_cast<double>(count)) / unit);
      const double from = old.as<int32_t>()[c];
      const double to = std::clamp(from + steps, -1073741824.0, 1073741824.0);
      moved.as<int32_t>()[c] = static_cast<int32_t>(to);
      by[c] = static_cast<float>((to - from) * unit);
    }
    g_.value(bias->inputs[0]).constant = moved;
    for (auto& values : batches_) add_to_channels(layer, by, &values.at(y));
    return true;
  }

  // Adds to the layer's output what its new bias would give, to the last bits.
  static void add_to_channels(const Node& layer, const std::vector<float>& by, HostTensor* t) {
    const Shape& s = t->shape();
    const int axis = layer.op == OpId::kConv ? 1 : s.rank() - 1;
    int64_t inner = 1;
    for (int d = axis + 1; d < s.rank(); ++d) inner *= s[d];
    for (int64_t i = 0; i < t->numel(); ++i)
      t->as<float>()[i] += by[static_cast<size_t>(i / inner % s[axis])];
  }

  Graph& g_;
  const Calibration& c_;
  ir::InterpreterOptions run_;
  std::vector<int> readers_;
  std::vector<std::map<ValueId, HostTensor>> batches_;
};

// Returns whether the graph has layers whose biases are corrected.
bool has_layers(const Graph& g) {
  return std::any_of(g.nodes().begin(), g.nodes().end(), [&](const Node& n) {
    return (n.op == OpId::kConv || n.op == OpId::kLinear) && !n.removed() &&
           g.value(n.outputs[0]).dtype == DType::kF32;
  });
}

}  // namespace

int correct_biases(Graph& graph, const Calibration& calibration, const Recipe& recipe,
                   const Batches& batches, const CalibrateOptions& options) {
  if (!batches) throw_error("bias_correction", "it needs the calibration's batches, and got none");
  if (calibration.means.empty()) {
    if (!has_layers(graph)) return 0;
    throw_error("bias_correction", "the calibration was made by a recipe without it");
  }
  Corrector corrector(graph, calibration, options);
  for (int64_t i = 0; i < std::min(recipe.correction_batches, calibration.batches); ++i) {
    const std::optional<Batch> batch = batches(i);
    if (!batch)
      throw_error("bias_correction", "batch " + std::to_string(i) + " of " +
                                         std::to_string(calibration.batches) + " is gone");
    corrector.add_batch(graph_inputs(graph, *batch, i));
  }
  return corrector.run();
}

}  // namespace wick::quantize
