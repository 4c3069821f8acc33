#include "quantize/report/local_run.h"

#include <algorithm>

namespace wick::quantize {

using ir::at;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

LocalRun::LocalRun(const ir::Graph& quantized, const Pairs& pairs,
                   const ir::InterpreterOptions& options)
    : q_(quantized),
      pairs_(pairs),
      options_(options),
      float_of_(quantized.value_count(), kNoValue),
      fixed_(quantized.value_count(), 0) {
  for (size_t v = 0; v < pairs.value.size(); ++v) {
    if (pairs.value[v] != kNoValue) float_of_[at(pairs.value[v])] = static_cast<ValueId>(v);
  }
}

void LocalRun::begin_batch(const std::vector<HostTensor>* floats) {
  floats_ = floats;
  batch_.clear();
}

bool LocalRun::fixed(ValueId v) {
  if (v == kNoValue) return true;
  int& known = fixed_[at(v)];
  if (known == 0) {
    const ir::Value& value = q_.value(v);
    bool is = value.origin == ir::ValueOrigin::kConstant;
    if (value.origin == ir::ValueOrigin::kNode) {
      const Node& n = q_.node(value.producer);
      is = std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId in) { return fixed(in); });
    }
    known = is ? 1 : 2;
  }
  return known == 1;
}

HostTensor LocalRun::value(ValueId v) {
  if (v == kNoValue) return {};
  if (q_.is_constant(v)) return q_.value(v).constant;
  if (float_of_[at(v)] != kNoValue) return (*floats_)[at(float_of_[at(v)])];
  std::map<ValueId, HostTensor>& known = fixed(v) ? always_ : batch_;
  const auto found = known.find(v);
  if (found != known.end()) return found->second;
  const Node& n = q_.node(q_.value(v).producer);
  std::vector<HostTensor> in;
  for (ValueId i : n.inputs) in.push_back(value(i));
  const std::vector<HostTensor> out = ir::run_any(q_, n, in, options_);
  for (size_t k = 0; k < out.size(); ++k) known[n.outputs[k]] = out[k];
  return known[v];
}

HostTensor LocalRun::unrounded(ValueId v) {
  const auto made_by = [&](ValueId of, OpId op) {
    return of != kNoValue && q_.value(of).origin == ir::ValueOrigin::kNode &&
           q_.node(q_.value(of).producer).op == op;
  };
  while (v != kNoValue && float_of_[at(v)] == kNoValue && made_by(v, OpId::kDequantizeLinear)) {
    const ValueId bytes = q_.node(q_.value(v).producer).inputs[0];
    if (!made_by(bytes, OpId::kQuantizeLinear)) break;  // these integers were never reals
    v = q_.node(q_.value(bytes).producer).inputs[0];
  }
  return value(v);
}

std::vector<HostTensor> LocalRun::run(const std::vector<NodeId>& nodes) {
  std::vector<HostTensor> made;
  ValueId before = kNoValue;
  for (NodeId id : nodes) {
    const Node& n = q_.node(pairs_.node[at(id)]);
    std::vector<HostTensor> in;
    for (ValueId v : n.inputs)
      in.push_back(v != kNoValue && v == before ? made[0] : fixed(v) ? value(v) : unrounded(v));
    made = ir::run_any(q_, n, in, options_);
    before = n.outputs[0];
  }
  return made;
}

HostTensor LocalRun::round(const Rounding& r, const HostTensor& x) const {
  HostTensor now = x;
  for (NodeId id : {r.quantize, r.dequantize}) {
    const Node& n = q_.node(id);
    std::vector<HostTensor> in = {now};
    for (size_t i = 1; i < n.inputs.size(); ++i)
      in.push_back(n.inputs[i] == kNoValue ? HostTensor() : q_.value(n.inputs[i]).constant);
    now = ir::run_any(q_, n, in, options_)[0];
  }
  return now;
}

}  // namespace wick::quantize
