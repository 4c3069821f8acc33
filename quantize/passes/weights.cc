// Weight-only: integers in blocks along a layer's inputs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "quantize/passes/op_parts.h"
#include "quantize/passes/quantize.h"
#include "runtime/core/half.h"
#include "runtime/core/narrow.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr float kMostHalf = 60000, kLeastHalf = 1.0F / (1 << 24);

// A matrix in blocks: constants of the new graph.
struct Blocks {
  ValueId bytes = kNoValue, scale = kNoValue, zero = kNoValue;
  DType dtype = DType::kNone;
};

class BlockWriter {
 public:
  BlockWriter(const HostTensor& w, DType dtype, bool symmetric, int64_t block)
      : w_(w.as<float>()),
        rows_(w.shape()[0]),
        columns_(w.shape()[1]),
        block_(block),
        per_row_((columns_ + block - 1) / block),
        range_(integer_range(dtype)),
        symmetric_(symmetric),
        bytes(dtype, w.shape()),
        zero(dtype, Shape{rows_, per_row_}) {
    float most = 0;
    for (int64_t i = 0; i < w.numel(); ++i) most = std::max(most, std::fabs(w_[i]));
    half_ = most / static_cast<float>(range_.hi) < kMostHalf;
    scale = HostTensor(half_ ? DType::kF16 : DType::kF32, Shape{rows_, per_row_});
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t b = 0; b < per_row_; ++b) write(r, b);
    }
  }

 private:
  struct Choice {
    float scale = 1;
    int32_t zero = 0;
  };

  float as_stored(float s) const {
    if (!half_) return s;
    return std::max(static_cast<float>(Half(s)), kLeastHalf);
  }

  int32_t integer(float w, Choice c) const {
    const float q = std::nearbyint(w / c.scale) + static_cast<float>(c.zero);
    return static_cast<int32_t>(
        std::clamp(q, static_cast<float>(range_.lo), static_cast<float>(range_.hi)));
  }

  double error(const float* w, int64_t n, Choice c) const {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double e = static_cast<double>(integer(w[i], c) - c.zero) * c.scale - w[i];
      sum += e * e;
    }
    return sum;
  }

  void write(int64_t row, int64_t block) {
    const int64_t from = block * block_, n = std::min(block_, columns_ - from);
    const float* w = w_ + row * columns_ + from;
    const auto [lo, hi] = std::minmax_element(w, w + n);
    Choice best;
    if (*lo != 0 || *hi != 0) {
      double least = std::numeric_limits<double>::infinity();
      // Of 4 bits a range somewhat smaller or larger is often nearer; of 8 it is not worth a look.
      const bool few = range_.hi - range_.lo < 255;
      for (int step = few ? -3 : 0; step <= (few ? 11 : 0); ++step) {
        const float f = 1 - 0.02F * static_cast<float>(step);
        const QParams q = params_of(Range{*lo * f, *hi * f}, dtype(), symmetric_);
        const Choice c{as_stored(q.scale[0]), q.zero_point[0]};
        const double e = error(w, n, c);
        if (e < least) least = e, best = c;
      }
    }
    for (int64_t i = 0; i < n; ++i) put(bytes, row * columns_ + from + i, integer(w[i], best));
    const int64_t at = row * per_row_ + block;
    put(zero, at, best.zero);
    if (half_) {
      scale.as<Half>()[at] = Half(best.scale);
    } else {
      scale.as<float>()[at] = best.scale;
    }
  }

  DType dtype() const { return bytes.dtype(); }
  static void put(HostTensor& t, int64_t i, int32_t v) {
    if (dtype_bits(t.dtype()) == 8) {
      t.as<uint8_t>()[i] = static_cast<uint8_t>(v);
    } else {
      set_packed(t.data(), 4, i, static_cast<uint8_t>(v & 15));
    }
  }

  const float* w_;
  int64_t rows_, columns_, block_, per_row_;
  IntegerRange range_;
  bool symmetric_, half_ = true;

 public:
  HostTensor bytes, scale, zero;
};

class WeightQuantizer {
 public:
  WeightQuantizer(const Graph& g, const Recipe& r) : g_(g), r_(r) {}

  QuantizeResult run() {
    const std::vector<std::string> excluded = excluded_nodes(g_, r_);
    find_tables();
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      const Node& n = g_.node(id);
      if (n.removed() || !has_weight(n)) continue;
      const std::string reason = excluded[i].empty() ? refusal(n) : excluded[i];
      if (!reason.empty()) {
        result_.stayed.push_back({id, display_name(g_, id), op_info_name(n), reason});
      } else if (n.op == OpId::kLinear) {
        linear(id);
      } else {
        gather(id);
      }
    }
    g_.sort_nodes();
    g_.compact();
    ir::verify(g_, "after quantize_weights");
    result_.graph = std::move(g_);
    return std::move(result_);
  }

 private:
  static const char* op_info_name(const Node& n) { return find_op(n.op)->name; }

  // Nodes that have a constant of real numbers large enough to be a weight.
  bool has_weight(const Node& n) const {
    const auto real = [&](size_t i) {
      return i < n.inputs.size() && g_.is_constant(n.inputs[i]) &&
             is_float(g_.value(n.inputs[i]).dtype) && g_.value(n.inputs[i]).shape.rank() > 1;
    };
    switch (n.op) {
      case OpId::kConv:
      case OpId::kConvTranspose:
      case OpId::kLinear: return real(1);
      case OpId::kMatMul: return real(0) || real(1);
      case OpId::kGather: return real(0);
      case OpId::kLSTM:
      case OpId::kGRU:
      case OpId::kRNN: return real(1) || real(2);
      default: return false;
    }
  }

  // Why a node with a weight keeps it; "" when it does not.
  std::string refusal(const Node& n) const {
    const bool table = n.op == OpId::kGather;
    if (n.op != OpId::kLinear && !table) return "only Linear and Gather have weights in blocks";
    if (table && !r_.embeddings) return "tables stay, as the recipe says";
    const HostTensor& w = g_.value(n.inputs[table ? 0 : 1]).constant;
    if (w.dtype() != DType::kF32)
      return std::string("its weight is ") + dtype_name(w.dtype()) + ", only float32 is quantized";
    if (w.shape().rank() != 2 || w.numel() == 0) return "its weight is no matrix";
    if (!is_finite(w)) return "its weight has NaN or infinite numbers";
    if (table && n.attrs.as<AxisAttrs>().axis != 0 && n.attrs.as<AxisAttrs>().axis != -2)
      return "it does not gather rows";
    return "";
  }

  void find_tables() {
    for (const Node& n : g_.nodes()) {
      if (!n.removed() && n.op == OpId::kLinear && g_.is_constant(n.inputs[1]))
        layer_weights_.insert(n.inputs[1]);
    }
  }

  Blocks blocks_of(ValueId v) {
    const auto [at, fresh] = made_.emplace(v, Blocks{});
    if (!fresh) return at->second;
    // A table that is a layer's weight too is held once.
    const bool layer = layer_weights_.count(v) != 0;
    const DType dtype = layer ? r_.weight : DType::kI8;
    const bool symmetric = layer ? r_.weight_symmetric : true;
    const HostTensor w = g_.value(v).constant;
    const std::string name = g_.value(v).name;
    BlockWriter b(w, dtype, symmetric, r_.block_size);
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
    const Blocks b = blocks_of(weight);
    ValueId& made = dequantized_.emplace(weight, kNoValue).first->second;
    if (made == kNoValue) made = dequantize({b.bytes, b.scale, b.zero}, 1, display_name(g_, id));
    g_.node(id).inputs[1] = made;
  }

  void gather(NodeId id) {
    const std::string name = display_name(g_, id);
    const Node n = g_.node(id);
    const Blocks b = blocks_of(n.inputs[0]);
    const auto rows = [&](ValueId from, const char* what) {
      if (from == kNoValue) return kNoValue;
      return g_.emit(OpId::kGather, AxisAttrs{0}, {from, n.inputs[1]}, name + what);
    };
    const ValueId bytes = rows(b.bytes, ".rows"), scale = rows(b.scale, ".scales"),
                  zero = rows(b.zero, ".zero_points");
    const ValueId reals = dequantize({bytes, scale, zero}, -1, name);
    // The old node's result, by the new one: readers, names and outputs of the graph stay.
    const NodeId made = g_.value(reals).producer;
    std::swap(g_.node(made).outputs, g_.node(id).outputs);
    g_.value(g_.node(made).outputs[0]).producer = made;
    g_.value(g_.node(id).outputs[0]).producer = id;
    g_.remove_node(id);
  }

  Graph g_;
  const Recipe& r_;
  QuantizeResult result_;
  std::map<ValueId, Blocks> made_;
  std::map<ValueId, ValueId> dequantized_;
  std::set<ValueId> layer_weights_;
};

}  // namespace

QuantizeResult quantize_weights(const Graph& graph, const Recipe& recipe) {
  Recipe r = recipe;
  r.mode = Mode::kWeightOnly;
  check(r);
  return WeightQuantizer(graph, r).run();
}

}  // namespace wick::quantize
