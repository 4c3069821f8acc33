#include <algorithm>
#include <cmath>
#include <set>

#include "graph/rewrite/substitution.h"
#include "quantize/passes/op_parts.h"
#include "quantize/passes/passes.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr int kMaxRounds = 20;
// A channel is scaled by no more than 2^16: far from where float32 has no more digits.
constexpr int kMaxExponent = 16;

// Returns whether x times 2^exponent is a number that has all of x's digits.
bool keeps_bits(float x, int exponent) {
  const float moved = std::ldexp(x, exponent);
  return std::isfinite(moved) && std::ldexp(moved, -exponent) == x;
}

// Pair is two layers and the channels between them.
struct Pair {
  ValueId first_weight, first_bias;  // bias: kNoValue if there is none
  ValueId second_weight;
  int64_t channels = 0;
  int64_t group = 1;    // of the second layer, if it is a Conv
  int64_t columns = 1;  // of the second layer, if a Linear: how many in a row are of one channel
  bool second_conv = false;
};

class Equalizer {
 public:
  explicit Equalizer(Graph& g) : g_(g), users_(g.users()) {}

  bool run() {
    for (size_t i = 0; i < g_.node_count(); ++i) {
      Pair p;
      if (find(static_cast<NodeId>(i), &p)) pairs_.push_back(p);
    }
    bool changed = false;
    for (int round = 0; round < kMaxRounds; ++round) {
      bool moved = false;
      for (const Pair& p : pairs_) moved = balance(p) || moved;
      if (!moved) break;
      changed = true;
    }
    return changed;
  }

 private:
  NodeId only_user(ValueId v) const {
    const std::vector<NodeId>& users = users_[static_cast<size_t>(v)];
    return g_.is_output(v) || users.size() != 1 ? -1 : users[0];
  }

  // Returns whether only this node reads the weight, so that changing it affects nothing else.
  bool own_weights(const Node& n) const {
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      const ValueId v = n.inputs[i];
      if (v == kNoValue) continue;
      if (!g_.is_constant(v) || !is_finite(g_.value(v).constant) || g_.is_output(v) ||
          users_[static_cast<size_t>(v)].size() != 1)
        return false;
    }
    return true;
  }

  // Returns whether f(s x) = s f(x) for s > 0, channel by channel.
  static bool is_homogeneous(const Graph& g, const Node& n) {
    if (n.op == OpId::kReduceMean) return op_part(g, n).part == Part::kPool;
    return n.op == OpId::kRelu || n.op == OpId::kLeakyRelu || n.op == OpId::kPRelu ||
           n.op == OpId::kIdentity || n.op == OpId::kMaxPool || n.op == OpId::kAveragePool;
  }

  // Returns the size of one row after the batch: channels, each `columns` in a row. 0: unknown.
  int64_t row_of(ValueId v) const {
    const ir::Value& x = g_.value(v);
    if (!x.ranked || x.shape.rank() < 2) return 0;
    int64_t n = 1;
    for (int d = 1; d < x.shape.rank(); ++d) {
      if (!x.shape[d].known()) return 0;
      n *= x.shape[d].constant();
    }
    return n;
  }

  bool find(NodeId id, Pair* p) const {
    const Node& a = g_.node(id);
    if (a.op != OpId::kConv && a.op != OpId::kLinear) return false;
    if (!own_weights(a) || !g_.value(a.outputs[0]).ranked) return false;
    const bool conv = a.op == OpId::kConv;
    p->first_weight = a.inputs[1];
    p->first_bias = a.inputs.size() > 2 ? a.inputs[2] : kNoValue;
    p->channels = g_.value(a.inputs[1]).constant.shape()[0];
    bool flat = !conv;  // the channels are the last axis
    if (flat && g_.value(a.outputs[0]).shape.rank() != 2) return false;
    for (ValueId v = a.outputs[0];;) {
      const NodeId next = only_user(v);
      if (next < 0) return false;
      const Node& n = g_.node(next);
      if (n.inputs[0] != v) return false;
      const ValueId y = n.outputs[0];
      const bool is_layer = n.op == OpId::kConv || n.op == OpId::kLinear;
      if (is_layer) return own_weights(n) && ends(n, flat, row_of(v), p);
      const bool reshapes = n.op == OpId::kFlatten || n.op == OpId::kReshape;
      if (reshapes) {
        if (flat || row_of(v) == 0 || row_of(v) != row_of(y) || g_.value(y).shape.rank() != 2)
          return false;
        flat = true;
      } else if (!is_homogeneous(g_, n)) {
        return false;
      } else if (g_.value(y).ranked && g_.value(y).shape.rank() == 2) {
        flat = true;  // a mean that drops its axes
      }
      v = y;
    }
  }

  bool ends(const Node& b, bool flat, int64_t row, Pair* p) const {
    p->second_weight = b.inputs[1];
    const Shape& w = g_.value(b.inputs[1]).constant.shape();
    p->second_conv = b.op == OpId::kConv;
    if (p->second_conv) {
      p->group = b.attrs.as<ConvAttrs>().group;
      return !flat && w[1] * p->group == p->channels;
    }
    if (!flat || row != w[1] || row % p->channels != 0) return false;
    p->columns = row / p->channels;
    return true;
  }

  // Visits the second layer's weights for an input channel.
  template <class F>
  void each_of_second(const Pair& p, int64_t channel, F f) {
    HostTensor& t = g_.value(p.second_weight).constant;
    const Shape& s = t.shape();
    auto* w = t.as<float>();
    if (!p.second_conv) {
      for (int64_t m = 0; m < s[0]; ++m) {
        for (int64_t k = 0; k < p.columns; ++k) f(w[m * s[1] + channel * p.columns + k]);
      }
      return;
    }
    const int64_t rows = s[0] / p.group, within = s[1], kernel = t.numel() / (s[0] * within);
    const int64_t first = channel / within * rows, in = channel % within;
    for (int64_t m = first; m < first + rows; ++m) {
      for (int64_t k = 0; k < kernel; ++k) f(w[(m * within + in) * kernel + k]);
    }
  }

  template <class F>
  void each_of_first(const Pair& p, int64_t channel, F f) {
    HostTensor& t = g_.value(p.first_weight).constant;
    const int64_t each = t.numel() / p.channels;
    for (int64_t i = channel * each; i < (channel + 1) * each; ++i) f(t.as<float>()[i]);
  }

  // Copies a constant before it is changed, so that whoever shares its bytes keeps them.
  void own_bytes(ValueId v) {
    if (v == kNoValue || !owned_.insert(v).second) return;
    HostTensor& t = g_.value(v).constant;
    t = HostTensor(t.dtype(), t.shape(), t.data(), t.nbytes());
  }

  bool balance(const Pair& p) {
    bool moved = false;
    own_bytes(p.first_weight), own_bytes(p.first_bias), own_bytes(p.second_weight);
    for (int64_t c = 0; c < p.channels; ++c) {
      float r1 = 0, r2 = 0;
      each_of_first(p, c, [&](float& w) { r1 = std::max(r1, std::fabs(w)); });
      each_of_second(p, c, [&](float& w) { r2 = std::max(r2, std::fabs(w)); });
      if (!std::isnormal(r1) || !std::isnormal(r2)) continue;  // the channel does nothing
      const double half = (std::log2(r1) - std::log2(r2)) / 2;
      const auto exponent =
          std::clamp(static_cast<int>(std::nearbyint(half)), -kMaxExponent, kMaxExponent);
      if (exponent == 0) continue;
      float* bias =
          p.first_bias == kNoValue ? nullptr : g_.value(p.first_bias).constant.as<float>() + c;
      // Next to nothing a number would lose digits, and near float32's end become infinite.
      bool exact = bias == nullptr || keeps_bits(*bias, -exponent);
      each_of_first(p, c, [&](float& w) { exact = exact && keeps_bits(w, -exponent); });
      each_of_second(p, c, [&](float& w) { exact = exact && keeps_bits(w, exponent); });
      if (!exact) continue;
      each_of_first(p, c, [&](float& w) { w = std::ldexp(w, -exponent); });
      if (bias != nullptr) *bias = std::ldexp(*bias, -exponent);
      each_of_second(p, c, [&](float& w) { w = std::ldexp(w, exponent); });
      moved = true;
    }
    return moved;
  }

  Graph& g_;
  const std::vector<std::vector<NodeId>> users_;
  std::vector<Pair> pairs_;
  std::set<ValueId> owned_;
};

}  // namespace

bool equalize(Graph& g) { return Equalizer(g).run(); }

}  // namespace wick::quantize
