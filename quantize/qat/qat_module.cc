#include "quantize/qat/qat_module.h"

#include <algorithm>
#include <cmath>

#include "quantize/passes/plan.h"
#include "quantize/qparams.h"
#include "trainer/tensor/ops.h"

namespace wick::quantize {
namespace {

using ir::kNoValue;
using ir::Node;

// PyTorch's learnable fake quantization keeps a scale above this.
constexpr float kLeastLearned = 1.1920929e-7F;

bool is_prepared(const ir::Graph& g) {
  return std::any_of(g.nodes().begin(), g.nodes().end(),
                     [](const Node& n) { return n.op == OpId::kFakeQuantize; });
}

std::vector<float> floats(const Tensor& t) { return t.to(DType::kF32).to_vector<float>(); }

void write(const Tensor& t, const std::vector<float>& v) {
  t.copy_(from_blob(v.data(), t.raw_shape(), DType::kF32));
}

// Says what a FakeQuantize rounds: "image (image_fake_quantize)".
std::string value_text(const ir::Graph& g, const Node& n) {
  const std::string& name = g.value(n.inputs[0]).name;
  return name.empty() ? n.name : name + " (" + n.name + ")";
}

// Infinities, as of a mask, are no fault where what reads them stays float.
std::string what_to_skip(const ir::Graph& g, const Node& n) {
  std::string names;
  const std::vector<std::vector<ir::NodeId>> users = g.users();
  for (ir::NodeId reader : users[static_cast<size_t>(n.outputs[0])])
    names += (names.empty() ? "" : ", ") + display_name(g, reader);
  return " (if infinities are meant, as in a mask, keep what reads them float: Recipe::skip " +
         names + ")";
}

// Returns all dims but the scales' axis; an empty list means all of them.
Dims reduced(const Tensor& x, const FakeQuantizeAttrs& a, size_t scales) {
  DimList dims;
  for (int d = 0; scales > 1 && d < x.rank(); ++d) {
    if (d != a.axis) dims.values[dims.count++] = d;
  }
  return dims;
}
// Returns whether each index of a vector has its own scale, so that there is nothing to reduce.
bool each_alone(const Tensor& x, size_t scales) { return scales > 1 && x.rank() == 1; }

}  // namespace

QatModule::QatModule(const ir::Graph& graph, const QatOptions& options)
    : GraphModule(is_prepared(graph) ? graph
                                     : prepare_qat(graph, options.recipe, options.learn_scales)),
      options_(options) {
  check(options.recipe);
  std::map<std::string, Tensor> by_name;
  for (const auto& [path, t] : named_buffers()) by_name[t.name()] = t;
  for (const auto& [path, t] : named_parameters()) by_name[t.name()] = t;
  const ir::Graph& g = this->graph();
  const std::vector<bool> constant = constant_values(g);
  const auto users = g.users();
  for (const Node& n : g.nodes()) {
    if (n.op != OpId::kFakeQuantize || n.inputs.size() < 4) continue;
    Group& group = groups_[n.inputs[1]];
    group.range = by_name.at(g.value(n.inputs[3]).name);
    if (n.attrs.as<FakeQuantizeAttrs>().learned != 0)
      learned_.emplace_back(by_name.at(g.value(n.inputs[1]).name), &group);
    if (!constant[static_cast<size_t>(n.inputs[0])]) continue;
    for (ir::NodeId id : users[static_cast<size_t>(n.outputs[0])]) {
      const Node& user = g.node(id);
      const bool layer =
          user.op == OpId::kConv || user.op == OpId::kLinear || user.op == OpId::kMatMul;
      if (!layer || user.inputs[1] != n.outputs[0]) continue;
      group.weight = true;
      find_bias(user, by_name, &group);
    }
  }
  observing_ = register_buffer("observing", full({}, 1, DType::kU8));
  frozen_norm_ = register_buffer("batch_norm_frozen", full({}, 0, DType::kU8));
}

// If two weights' groups share a layer, the last bias found is kept: it only bounds a scale.
void QatModule::find_bias(const Node& layer, const std::map<std::string, Tensor>& by_name,
                          Group* group) {
  const ir::Graph& g = graph();
  const auto known = [&](ir::ValueId v) {
    const auto at = v == kNoValue ? by_name.end() : by_name.find(g.value(v).name);
    return at == by_name.end() ? Tensor() : at->second;
  };
  const ir::NodeId before = g.value(layer.inputs[0]).producer;
  if (before < 0 || g.node(before).op != OpId::kFakeQuantize) return;
  group->input_scale = known(g.node(before).inputs[1]);
  for (const Node& n : g.nodes()) {
    if (n.op == OpId::kFoldedBatchNorm && n.inputs[0] == layer.outputs[0]) {
      group->norm.clear();
      for (size_t i = 2; i < n.inputs.size(); ++i) group->norm.push_back(known(n.inputs[i]));
      group->eps = n.attrs.as<BatchNormAttrs>().epsilon;
    }
  }
  if (layer.inputs.size() < 3) return;
  const ir::NodeId rounds = g.value(layer.inputs[2]).producer;
  if (rounds >= 0 && g.node(rounds).op == OpId::kFakeQuantize)
    group->bias = known(g.node(rounds).inputs[0]);
}

// Weights may be so small that their bias does not fit int32 in steps of s_x s_w: returns scales
// that keep it below 2^29, which leaves it room to move.
std::vector<float> QatModule::least_scales(const Group& group, size_t count) const {
  std::vector<float> least(count, 0);
  Tensor bias = group.bias;
  const auto defined = [](const Tensor& t) { return t.defined(); };
  if (group.norm.size() >= 4 && std::all_of(group.norm.begin(), group.norm.begin() + 4, defined)) {
    const std::vector<Tensor>& s = group.norm;
    const Tensor mean = s.size() > 4 && s[4].defined() ? s[2] - s[4] : s[2];
    bias = s[1] - mean * s[0] / sqrt(s[3] + group.eps);
  }
  if (!bias.defined() || !group.input_scale.defined()) return least;
  const std::vector<float> b = floats(bias.detach());
  const float unit = floats(group.input_scale)[0] * static_cast<float>(1 << 29);
  for (size_t i = 0; i < b.size(); ++i) {
    float& at = least[count == 1 ? 0 : i];
    at = std::max(at, std::fabs(b[i]) / unit);
  }
  return least;
}

void QatModule::freeze_observers(bool frozen) { observing_.fill_(frozen ? 0 : 1); }
bool QatModule::observers_frozen() const { return observing_.item_int() == 0; }
void QatModule::freeze_batch_norm(bool frozen) { frozen_norm_.fill_(frozen ? 1 : 0); }
bool QatModule::batch_norm_frozen() const { return frozen_norm_.item_int() != 0; }

void QatModule::train_epoch(int epoch) {
  train();
  freeze_observers(options_.observer_epochs >= 0 && epoch >= options_.observer_epochs);
  freeze_batch_norm(options_.batch_norm_epochs >= 0 && epoch >= options_.batch_norm_epochs);
}

// An optimizer may move scales below their bound; biases read a scale before its own node does.
void QatModule::lift_scales() const {
  const NoGrad guard;
  for (const auto& [t, group] : learned_) {
    std::vector<float> scale = floats(t);
    const std::vector<float> least =
        group->weight ? least_scales(*group, scale.size()) : std::vector<float>(scale.size(), 0);
    bool low = false;
    for (size_t i = 0; i < scale.size(); ++i) {
      const float bound = std::max(kLeastLearned, least[i]);
      if (!(scale[i] < bound)) continue;  // the kernel reports NaN
      low = true;
      scale[i] = bound;
    }
    if (low) write(t, scale);
  }
}

std::vector<Tensor> QatModule::run_all(const std::vector<Tensor>& inputs, const Where& where) {
  if (training()) integer_.reset();
  if (integer_) return integer_->run(inputs, where);
  lift_scales();
  return GraphModule::run_all(inputs, where);
}

ir::Graph QatModule::convert() const {
  lift_scales();
  return convert_qat(to_graph());
}

ir::Graph QatModule::unrounded() const {
  lift_scales();
  return without_rounding(to_graph());
}

void QatModule::freeze(ir::LowerReport* report) {
  freeze_observers(), freeze_batch_norm();
  eval();
  integer_ = std::make_shared<nn::GraphModule>(ir::lowered(convert(), report));
  integer_->eval();
}

bool QatModule::observe(const Node& node, std::vector<Tensor>* in, const Where& where) const {
  const auto at = groups_.find(node.inputs[1]);
  if (at == groups_.end()) return true;  // a bias: its steps come from others' scales
  const NoGrad guard;
  const bool watches = in->size() > 3 && (*in)[3].defined();
  const bool learned = node.attrs.as<FakeQuantizeAttrs>().learned != 0;
  const std::vector<float> range = floats(at->second.range);
  const bool seen = range[0] <= range[range.size() / 2];
  const bool open = training() && (learned ? !seen : !observers_frozen());
  // A value that shares its scale with an observed one (a part of a Concat) is rounded there, to
  // the same bits. If it were rounded here too, values beyond the current range would never be
  // seen.
  if (open && !watches) return false;
  if (open) {
    learned ? first_scale(node, at->second, *in, where) : move_range(node, at->second, *in, where);
  } else if (!seen) {
    throw_error("QatModule",
                "nothing was observed yet for " + value_text(graph(), node) +
                    ": train() with observers that move sees a batch first",
                where);
  }
  if (!training()) return true;
  if (!learned) {
    // backward() reads the scale of this forward, whatever comes after it.
    (*in)[1] = (*in)[1].clone(where);
    (*in)[2] = (*in)[2].clone(where);
  }
  return true;
}

// Computes the ranges of the current x and updates the state with them.
void QatModule::move_range(const Node& node, const Group& group, const std::vector<Tensor>& in,
                           const Where& where) const {
  const auto& a = node.attrs.as<FakeQuantizeAttrs>();
  const Tensor x = in[0].detach();
  std::vector<float> state = floats(in[3]);
  const size_t count = state.size() / 2;
  const Dims dims = reduced(x, a, count);
  const bool alone = each_alone(x, count);
  const std::vector<float> lo = floats(alone ? x : amin({x, where}, dims));
  const std::vector<float> hi = floats(alone ? x : amax({x, where}, dims));
  const ObserverSpec& spec = options_.recipe.activation_observer;
  const auto share = static_cast<float>(spec.averaging);
  std::vector<Range> ranges;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(lo[i]) || !std::isfinite(hi[i])) {
      const bool nan = std::isnan(lo[i]);
      throw_error("QatModule",
                  std::string(nan ? "NaN" : "infinity") + " in " + value_text(graph(), node) +
                      " of " + to_text(x.raw_shape()).text +
                      (nan ? "" : what_to_skip(graph(), node)),
                  where);
    }
    float &low = state[i], &high = state[count + i];
    if (group.weight || low > high) {
      low = lo[i], high = hi[i];
    } else if (spec.kind == ObserverKind::kMovingAverage) {
      low = low + share * (lo[i] - low);
      high = high + share * (hi[i] - high);
    } else {
      low = std::min(low, lo[i]), high = std::max(high, hi[i]);
    }
    ranges.push_back({low, high});
  }
  QParams q =
      params_of(ranges, integers_of(a, node.name),
                group.weight || options_.recipe.activation_symmetric, count > 1 ? a.axis : -1);
  if (group.weight) {
    const std::vector<float> least = least_scales(group, count);
    for (size_t i = 0; i < count; ++i) {
      const bool nothing = ranges[i].lo == 0 && ranges[i].hi == 0;
      // A channel without weights has only its bias, which gets 20 bits.
      if (nothing && least[i] > 0) q.scale[i] = 512 * least[i];
      q.scale[i] = std::max(q.scale[i], least[i]);
    }
  }
  write(in[1], q.scale);
  write(in[2], {q.zero_point.begin(), q.zero_point.end()});
  write(in[3], state);
}

// Sets the first scale: for a weight 2 mean |w| / sqrt(qmax) (Esser et al. 2020, section 2.1); for
// an activation that of its first range.
void QatModule::first_scale(const Node& node, const Group& group, const std::vector<Tensor>& in,
                            const Where& where) const {
  move_range(node, group, in, where);
  if (!group.weight) return;
  const auto& a = node.attrs.as<FakeQuantizeAttrs>();
  const auto count = static_cast<size_t>(in[1].numel());
  const Tensor size = abs({in[0].detach(), where});
  std::vector<float> scale =
      floats(each_alone(size, count) ? size : size.mean(reduced(size, a, count)));
  const std::vector<float> by_range = floats(in[1]);
  for (size_t i = 0; i < count; ++i) {
    const float s = 2 * scale[i] / std::sqrt(static_cast<float>(a.qmax));
    scale[i] = s > 0 ? s : by_range[i];
  }
  write(in[1], scale);
}

}  // namespace wick::quantize
