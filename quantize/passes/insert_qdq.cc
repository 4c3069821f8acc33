#include "quantize/passes/insert_qdq.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "quantize/observe/observer.h"
#include "quantize/passes/op_parts.h"
#include "runtime/core/narrow.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::NodeId;
using ir::ValueId;

// The most of int32 that a bias may use: sums of products are added to it.
constexpr double kMaxBias = 1 << 30;
// If a bias is all that a channel has, this is its integer: enough digits for float32's own.
constexpr double kLoneBias = 1 << 20;
// What is left of 32 bits for sums beside the bias.
constexpr int64_t kFree = ir::kMostSum - static_cast<int64_t>(kMaxBias);

// Returns how many products of a byte of `input` and an 8-bit weight always fit.
int64_t free_terms(const QParams& input) {
  return kFree / (255 * ir::reach_of(input.dtype, input.zero_point[0]).most());
}

class Inserter {
 public:
  Inserter(const Graph& g, const Plan& plan, const Calibration& c, const Recipe& r, bool give_bias,
           LayerInputs* inputs, std::vector<std::string>* notes)
      : g_(g), plan_(plan), c_(c), r_(r), give_bias_(give_bias), inputs_(inputs), notes_(notes) {}

  Graph run() {
    reals_.resize(g_.value_count(), kNoValue);
    const size_t count = g_.node_count();
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i);
      if (!g_.node(id).removed()) rewire(id);
    }
    for (ir::GraphOutput& o : g_.outputs()) o.value = reader_of_float(o.value);
    g_.sort_nodes();
    return std::move(g_);
  }

 private:
  void rewire(NodeId id) {
    const Part part = plan_.nodes[static_cast<size_t>(id)].part;
    std::vector<ValueId> in = g_.node(id).inputs;
    if (part == Part::kFloat) {
      for (ValueId& v : in) v = reader_of_float(v);
    } else if (part != Part::kAbsorbed) {
      const OpPart p = op_part(g_, g_.node(id));
      const std::string name = display_name(g_, id);
      const bool weighted = p.part == Part::kLayer && g_.node(id).op != OpId::kMatMul;
      const bool linear = g_.node(id).op == OpId::kLinear;
      if (weighted) quantize_weights(name, linear, &in);
      for (size_t i : p.data) in[i] = g_.is_constant(in[i]) ? number(in[i], part) : reals(in[i]);
    }
    g_.node(id).inputs = std::move(in);
  }

  ValueId reader_of_float(ValueId v) {
    if (v == kNoValue || static_cast<size_t>(v) >= plan_.integers_only.size()) return v;
    return plan_.integers_only[static_cast<size_t>(v)] ? reals(v) : v;
  }

  const QParams& params_of_value(ValueId v) const {
    const ValueId name = plan_.scale_of[static_cast<size_t>(v)];
    const auto found = c_.params.find(name);
    if (name == kNoValue || found == c_.params.end()) {
      throw_error("quantize_static", "the calibration has no scale for value " + std::to_string(v) +
                                         " \"" + g_.value(v).name +
                                         "\": it is of another graph or recipe");
    }
    check(found->second, name_of(v));
    if (!found->second.per_tensor() || found->second.dtype != r_.activation)
      throw_error("quantize_static",
                  name_of(v) + ": activations have one scale, of " + dtype_name(r_.activation));
    return found->second;
  }

  std::string name_of(ValueId v) const {
    const ir::Value& value = g_.value(v);
    if (!value.name.empty()) return value.name;
    return value.origin == ir::ValueOrigin::kNode ? display_name(g_, value.producer)
                                                  : "value" + std::to_string(v);
  }

  ValueId dequantize(ValueId bytes, ValueId scale, ValueId zero, int64_t axis,
                     const std::string& name) {
    DequantizeAttrs a;
    if (axis >= 0) a.axis = axis;
    std::vector<ValueId> in = {bytes, scale};
    if (zero != kNoValue) in.push_back(zero);
    return g_.emit(OpId::kDequantizeLinear, a, std::move(in), name + ".dequantize");
  }

  // Returns the dequantized value of v.
  ValueId reals(ValueId v) {
    ValueId& made = reals_[static_cast<size_t>(v)];
    if (made != kNoValue) return made;
    const QParams& q = params_of_value(v);
    const std::string name = name_of(v);
    const ValueId scale = g_.add_constant(scale_tensor(q), name + ".scale"),
                  zero = g_.add_constant(zero_point_tensor(q), name + ".zero_point");
    const ValueId bytes =
        g_.emit(OpId::kQuantizeLinear, QuantizeAttrs{}, {v, scale, zero}, name + ".quantize");
    return made = dequantize(bytes, scale, zero, -1, name);
  }

  ValueId constant(const HostTensor& t, const QParams& q, const std::string& name, bool zero) {
    return constant_of(to_integers(t, q), q, name, zero);
  }
  ValueId constant_of(HostTensor integers, const QParams& q, const std::string& name, bool zero) {
    const ValueId bytes = g_.add_constant(std::move(integers), name, true),
                  scale = g_.add_constant(scale_tensor(q), name + ".scale"),
                  at =
                      zero ? g_.add_constant(zero_point_tensor(q), name + ".zero_point") : kNoValue;
    return dequantize(bytes, scale, at, q.axis, name);
  }

  // Quantizes a constant among the data with one scale: a matrix like a weight, else like an
  // activation.
  ValueId number(ValueId v, Part part) {
    const auto [at, fresh] = numbers_.emplace(v, kNoValue);
    if (!fresh) return at->second;
    Observer seen{ObserverSpec{}};
    seen.observe(g_.value(v).constant);
    const bool weight = part == Part::kLayer;
    const QParams q =
        seen.params(weight ? DType::kI8 : r_.activation, weight ? true : r_.activation_symmetric);
    return at->second = constant(g_.value(v).constant, q, name_of(v), true);
  }

  void quantize_weights(const std::string& name, bool linear, std::vector<ValueId>* in) {
    const QParams& input = params_of_value((*in)[0]);
    const float input_scale = input.scale[0];
    const HostTensor weight = g_.value((*in)[1]).constant;
    const auto known = c_.weights.find((*in)[1]);
    QParams q = known != c_.weights.end() ? known->second : weight_params(weight, r_, name);
    in->resize(3, kNoValue);
    HostTensor bias;
    if ((*in)[2] != kNoValue) {
      bias = g_.value((*in)[2]).constant;
    } else if (give_bias_) {
      bias = HostTensor(DType::kF32, Shape{weight.shape()[0]});
    }
    if (bias.present())
      note(name, fit_bias(bias, weight, input_scale, &q), weight.shape()[0], q, "the bias");
    note(name, fit_sums(bias, weight, input, give_bias_, &q), weight.shape()[0], q, "its sums");
    if (bias.present()) {
      const QParams units = bias_params(input_scale, q);
      const std::string bias_name = (*in)[2] != kNoValue ? name_of((*in)[2]) : name + ".bias";
      (*in)[2] = constant(bias, units, bias_name, false);
    } else {
      in->pop_back();
    }
    // Sums that may only just fit were checked with the nearest integers.
    const bool near = weight.numel() / weight.shape()[0] > free_terms(input);
    (*in)[1] = shared_weight((*in)[1], weight, q, linear && !near);
  }

  void note(const std::string& name, int widened, int64_t channels, const QParams& q,
            const char* what) {
    if (widened == 0) return;
    const std::string who = q.per_tensor()
                                ? std::string("the weights are coarser")
                                : std::to_string(widened) + " of " + std::to_string(channels) +
                                      " channels have coarser weights";
    notes_->push_back(name + ": " + who + ", so that 32 bits hold " + what);
  }

  // Returns one copy for all layers that share a weight, as long as they need the same scales.
  ValueId shared_weight(ValueId v, const HostTensor& weight, const QParams& q, bool by_gptq) {
    for (const auto& [scales, made] : weights_[v]) {
      if (scales == q.scale) return made;
    }
    const Moments* moments = inputs_ != nullptr && by_gptq ? inputs_->of(v) : nullptr;
    const ValueId made = constant_of(gptq_integers(weight, q, moments), q, name_of(v), true);
    weights_[v].emplace_back(q.scale, made);
    return made;
  }

  Graph g_;
  const Plan& plan_;
  const Calibration& c_;
  const Recipe& r_;
  const bool give_bias_;
  LayerInputs* const inputs_;
  std::vector<std::string>* notes_;
  std::vector<ValueId> reals_;
  std::map<ValueId, ValueId> numbers_;
  std::map<ValueId, std::vector<std::pair<std::vector<float>, ValueId>>> weights_;
};

}  // namespace

QParams weight_params(const HostTensor& weight, const Recipe& recipe, const std::string& node) {
  Observer seen(recipe.weight_observer, recipe.per_channel ? 0 : -1);
  seen.observe(weight);
  return seen.params(weight_dtype(recipe, node), recipe.weight_symmetric);
}

int fit_bias(const HostTensor& bias, const HostTensor& weight, float input_scale, QParams* q) {
  int widened = 0;
  const int64_t each = weight.numel() / weight.shape()[0];
  for (int64_t c = 0; c < bias.numel(); ++c) {
    const double b = std::fabs(bias.as<float>()[c]);
    float& scale = q->scale[q->per_tensor() ? 0 : static_cast<size_t>(c)];
    const float* w = weight.as<float>() + c * each;
    // Pretrained nets have channels of 1e-37: the product, which is the bias's unit, must stay a
    // normal number.
    const double least = 1.0001 * std::numeric_limits<float>::min() / input_scale;
    if (scale < least) scale = static_cast<float>(least);
    const bool nothing =
        !q->per_tensor() && std::all_of(w, w + each, [](float v) { return v == 0; });
    if (nothing && b > 0) {
      scale = std::max(static_cast<float>(b / kLoneBias / input_scale),
                       std::numeric_limits<float>::min());
    }
    if (b <= kMaxBias * input_scale * scale) continue;
    scale = static_cast<float>(b / kMaxBias / input_scale);
    ++widened;
  }
  return widened;
}

std::vector<int64_t> largest_sums(const HostTensor& weight, const QParams& q,
                                  const ir::ByteReach& x) {
  const int64_t channels = weight.shape()[0],
                each = weight.numel() / std::max<int64_t>(1, channels);
  const HostTensor integers = to_integers(weight, q);
  const bool packed = dtype_bits(q.dtype) < 8;
  std::vector<int64_t> largest;
  for (int64_t c = 0; c < channels; ++c) {
    const int32_t zero = q.zero_point[q.per_tensor() ? 0 : static_cast<size_t>(c)];
    ir::WeightSums sums;
    for (int64_t i = c * each; i < (c + 1) * each; ++i) {
      const double w = packed ? static_cast<double>(narrow_at(q.dtype, integers.data(), i))
                              : element_as_double(integers, i);
      sums.add(static_cast<int32_t>(w) - zero);
    }
    largest.push_back(ir::largest_sum(sums, x));
  }
  return largest;
}

int fit_sums(const HostTensor& bias, const HostTensor& weight, const QParams& input,
             bool bias_moves, QParams* q) {
  const ir::ByteReach x = ir::reach_of(input.dtype, input.zero_point[0]);
  const int64_t channels = weight.shape()[0],
                each = weight.numel() / std::max<int64_t>(1, channels);
  if (each <= free_terms(input)) return 0;  // true for nearly all layers
  std::set<int64_t> changed;
  for (bool again = true; again;) {
    again = false;
    const std::vector<int64_t> largest = largest_sums(weight, *q, x);
    for (int64_t c = 0; c < channels; ++c) {
      float& scale = q->scale[q->per_tensor() ? 0 : static_cast<size_t>(c)];
      double room = static_cast<double>(kFree);
      if (!bias_moves) {
        const double b = bias.present() ? std::fabs(bias.as<float>()[c]) : 0;
        // These are the bias's steps, which are counted in float32.
        room = static_cast<double>(ir::kMostSum) - std::ceil(1.000001 * b / input.scale[0] / scale);
      }
      const auto most = static_cast<double>(largest[static_cast<size_t>(c)]);
      if (most <= room) continue;
      scale *= static_cast<float>(std::max(most / room, 1.001));
      changed.insert(c);
      again = true;
      if (q->per_tensor()) break;  // the others are checked with the new scale
    }
  }
  return static_cast<int>(changed.size());
}

QParams bias_params(float input_scale, const QParams& weight_scale) {
  QParams q;
  q.dtype = DType::kI32;
  q.axis = weight_scale.per_tensor() ? -1 : 0;
  for (float s : weight_scale.scale)
    q.scale.push_back(std::max(input_scale * s, std::numeric_limits<float>::min()));
  q.zero_point.resize(q.scale.size(), 0);
  return q;
}

Graph insert_qdq(const Graph& graph, const Plan& plan, const Calibration& calibration,
                 const Recipe& recipe, bool give_bias, LayerInputs* inputs,
                 std::vector<std::string>* notes) {
  return Inserter(graph, plan, calibration, recipe, give_bias, inputs, notes).run();
}

}  // namespace wick::quantize
