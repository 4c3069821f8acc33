#include "trainer/capture/graph_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ir/infer.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/control_call.h"
#include "trainer/tensor/control_flow.h"
#include "trainer/tensor/ops.h"

namespace wick::nn {
namespace {

using ir::kNoValue;
using ir::Node;
using ir::ValueId;

// Returns the name that a node has in module paths.
const std::string& label(const ir::Graph& g, const Node& n) {
  return n.name.empty() && !n.outputs.empty() ? g.value(n.outputs[0]).name : n.name;
}

bool is_read(const ir::Graph& g, ValueId v) {
  for (const Node& n : g.nodes()) {
    if (std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end()) return true;
  }
  return g.is_output(v);
}

std::string text(const Tensor& t) {
  return dtype_name(t.dtype()) + std::string(to_text(t.raw_shape()).text);
}

std::vector<Tensor> through_the_door(OpId op, const void* attrs, const std::vector<Tensor>& in,
                                     size_t outputs, const Where& where) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : in) pointers.push_back(&t);
  std::vector<Tensor> out(outputs);
  call(op, attrs, pointers, out, where);
  return out;
}

}  // namespace

GraphRun::GraphRun(const GraphModule& module, const Where& where)
    : module_(module),
      where_(where),
      given_(module.given_),
      now_(module.typed_.defined() ? module.typed_.dtype() : module.given_) {}

std::vector<Tensor> GraphRun::run_top(const std::vector<Tensor>& inputs) const {
  const ir::Graph& g = module_.graph_;
  if (inputs.size() != g.inputs().size()) {
    throw_error("GraphModule",
                fmt::format("the graph takes {} inputs ({}), got {}", g.inputs().size(),
                            fmt::join(module_.input_names(), ", "), inputs.size()),
                where_);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value& v = g.value(g.inputs()[i]);
    const Tensor& t = inputs[i];
    const bool fits =
        t.defined() && t.dtype() == today(v.dtype) && (!v.ranked || v.shape.rank() == t.rank());
    if (fits) continue;
    throw_error("GraphModule",
                fmt::format("input \"{}\" takes {}{}, got {}", v.name, dtype_name(today(v.dtype)),
                            v.ranked ? shape_text(v.shape) : "",
                            t.defined() ? text(t) : "an undefined tensor"),
                where_, Code::kShapeMismatch);
  }
  return run(g, module_.top_, inputs);
}

std::vector<Tensor> GraphRun::run(const ir::Graph& g, const Level& level,
                                  const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> values(g.value_count());
  std::vector<int> readers(g.value_count(), 0);
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.inputs) {
      if (v != kNoValue) ++readers[static_cast<size_t>(v)];
    }
  }
  for (const ir::GraphOutput& o : g.outputs()) ++readers[static_cast<size_t>(o.value)];
  for (size_t i = 0; i < inputs.size(); ++i) values[static_cast<size_t>(g.inputs()[i])] = inputs[i];
  auto value = [&](ValueId v) {
    if (v == kNoValue) return Tensor();
    const Tensor& constant = level.constants[static_cast<size_t>(v)];
    if (!constant.defined()) return values[static_cast<size_t>(v)];
    // a constant that the module does not own keeps the file's dtype
    const DType now = today(g.value(v).dtype);
    return constant.dtype() == now ? constant : constant.to(now, where_);
  };
  for (size_t i = 0; i < g.node_count(); ++i) {
    const Node& n = g.node(static_cast<ir::NodeId>(i));
    if (n.removed()) continue;
    std::vector<Tensor> in, out;
    for (ValueId v : n.inputs) in.push_back(value(v));
    {
      const ModuleScope scope(label(g, n));
      out = run_node(g, n, level, level.regions[i], in);
    }
    for (size_t k = 0; k < out.size(); ++k) {
      const auto at = static_cast<size_t>(n.outputs[k]);
      if (readers[at] > 0) values[at] = std::move(out[k]);
    }
    for (ValueId v : n.inputs) {
      if (v != kNoValue && --readers[static_cast<size_t>(v)] == 0)
        values[static_cast<size_t>(v)] = Tensor();
    }
  }
  std::vector<Tensor> results;
  for (const ir::GraphOutput& o : g.outputs()) results.push_back(value(o.value));
  return results;
}

std::vector<Tensor> GraphRun::run_node(const ir::Graph& g, const Node& n, const Level& level,
                                       const std::vector<Level>& regions,
                                       const std::vector<Tensor>& in) const {
  auto constant = [&](size_t i) {
    return i < n.inputs.size() && n.inputs[i] != kNoValue &&
           level.constants[static_cast<size_t>(n.inputs[i])].defined();
  };
  switch (n.op) {
    case OpId::kIf: {
      if (active_tracer() != nullptr) {
        auto branch = [&](size_t k) {
          return [&, k](const std::vector<Tensor>&) {
            return run(n.regions[k], regions[k], {in.begin() + 1, in.end()});
          };
        };
        return detail::run_cond({in[0], where_}, branch(0), branch(1), {});
      }
      const size_t k = condition(in[0], "the condition") ? 0 : 1;
      return run(n.regions[k], regions[k], {in.begin() + 1, in.end()});
    }
    case OpId::kLoop: {
      std::vector<Tensor> out;
      Tracer* tracer = active_tracer();
      if (tracer != nullptr && trace_loop(n, regions[0], in, tracer, &out)) return out;
      return run_loop(n, regions[0], in);
    }
    case OpId::kBatchNorm:
      if (!module_.training() || module_.batch_norm_frozen() || !constant(3) || !constant(4)) break;
      return {batch_norm({in[0], where_}, in[3], in[4], in[1], in[2], true, module_.momentum_,
                         n.attrs.as<BatchNormAttrs>().epsilon)};
    case OpId::kFoldedBatchNorm: return {folded_batch_norm(n, in)};
    case OpId::kFakeQuantize: {
      std::vector<Tensor> now = in;
      if (!module_.observe(n, &now, where_)) return {in[0]};
      now.resize(3);
      return through_the_door(n.op, n.attrs.get(), now, 1, where_);
    }
    case OpId::kDropout: {
      if (in.size() > 2 && in[2].defined() && !constant(2)) break;  // the graph decides, not we
      if (n.outputs.size() > 1 && is_read(g, n.outputs[1])) break;
      const double ratio =
          in.size() > 1 && in[1].defined() ? in[1].to(DType::kF64, where_).item(where_) : 0.5;
      return {dropout({in[0], where_}, ratio, module_.training())};
    }
    case OpId::kCast: {
      CastAttrs a = n.attrs.as<CastAttrs>();
      a.to = static_cast<int64_t>(today(static_cast<DType>(a.to)));
      return through_the_door(n.op, &a, in, 1, where_);
    }
    default: break;
  }
  return through_the_door(n.op, n.attrs.get(), in, n.outputs.size(), where_);
}

// y = conv(x, rounded(w * factor)) with factor = gamma / sqrt(running var + eps). With fixed
// statistics the result is y + bias. With the statistics of the batch, y / factor is about conv(x,
// w), and the batch norm is applied to it as in the float model (Jacob et al. 2018, section 3.2,
// with the correction of Krishnamoorthi 2018, section 3.2.2).
Tensor GraphRun::folded_batch_norm(const Node& n, const std::vector<Tensor>& in) const {
  const Tensor &y = in[0], &gamma = in[2], &var = in[5];
  Shape channels;
  for (int d = 0; d < y.rank(); ++d) channels.push_back(d == 1 ? y.size(1) : 1);
  if (!module_.training() || module_.batch_norm_frozen())
    return call(OpId::kAdd, NoAttrs{}, {{y, where_}, {in[1].reshape(channels, where_), where_}});
  const double eps = n.attrs.as<BatchNormAttrs>().epsilon;
  const Tensor factor = gamma / sqrt(var + eps);
  Tensor z = y / factor.reshape(channels, where_);
  if (in.size() > 6 && in[6].defined()) z = z + in[6].reshape(channels, where_);
  return batch_norm({z, where_}, in[4], var, gamma, in[3], true, module_.momentum_, eps);
}

bool GraphRun::condition(const Tensor& t, const char* what) const {
  if (t.dtype() != DType::kBool || t.raw().numel() != 1)
    throw_error("GraphModule",
                fmt::format("{} in {} must be one bool, got {}", what, module_path(), text(t)),
                where_, Code::kShapeMismatch);
  return t.item_int(where_) != 0;
}

// Traces the loop as a Loop of the captured graph.
bool GraphRun::trace_loop(const Node& n, const Level& body_level, const std::vector<Tensor>& in,
                          Tracer* tracer, std::vector<Tensor>* out) const {
  const auto carried = static_cast<size_t>(n.attrs.as<LoopAttrs>().carried);
  ControlCall call{OpId::kLoop, n.attrs.get(), "Loop", {}, {}, {}, where_};
  call.in.assign(in.begin(), in.begin() + 2 + static_cast<long>(carried));
  ControlRegion body;
  {
    const TracerScope untraced(nullptr);
    body.own = {full({}, 0, DType::kI64, where_), full({}, true, DType::kBool, where_)};
    for (size_t k = 0; k < carried; ++k) body.own.push_back(in[2 + k].clone(where_));
  }
  std::vector<Tensor> given = body.own;
  given.insert(given.end(), in.begin() + 2 + static_cast<long>(carried), in.end());
  body.run = [&] {
    std::vector<Tensor> made = run(n.regions[0], body_level, given);
    for (size_t k = 0; k < carried; ++k) {
      if (made[1 + k].raw_shape() == in[2 + k].raw_shape()) continue;
      throw_error("GraphModule",
                  fmt::format("a trip of {} makes {} of {}: such a loop is not captured again",
                              module_path(), text(made[1 + k]), text(in[2 + k])),
                  where_, Code::kUnsupported);
    }
    return made;
  };
  call.regions.push_back(std::move(body));
  call.results = [&] {
    std::vector<Tensor> made = run_loop(n, body_level, in);
    for (Tensor& t : made) t = t.clone(where_);
    return made;
  };
  return tracer->on_control(call, out);
}

std::vector<Tensor> GraphRun::run_loop(const Node& n, const Level& body_level,
                                       const std::vector<Tensor>& in) const {
  const ir::Graph& body = n.regions[0];
  const auto carried = static_cast<size_t>(n.attrs.as<LoopAttrs>().carried);
  std::vector<Tensor> state = in;
  std::vector<std::vector<Tensor>> stacks(body.outputs().size() - 1 - carried);
  const int64_t trips = in[0].item_int(where_);
  bool go_on = condition(in[1], "the condition");
  state[1] = in[1].reshape({}, where_);
  for (int64_t trip = 0; go_on && trip < trips; ++trip) {
    state[0] = full({}, trip, DType::kI64, where_);
    const std::vector<Tensor> out = run(body, body_level, state);
    go_on = condition(out[0], "the condition of a trip");
    state[1] = out[0].reshape({}, where_);
    for (size_t k = 0; k < carried; ++k) state[2 + k] = out[1 + k];
    for (size_t k = 0; k < stacks.size(); ++k) stacks[k].push_back(out[1 + carried + k]);
  }
  std::vector<Tensor> results(state.begin() + 2, state.begin() + 2 + static_cast<long>(carried));
  std::vector<Shape> shapes;  // used if the loop made no trip
  for (size_t k = 0; k < stacks.size(); ++k) {
    if (!stacks[k].empty()) {
      results.push_back(stack(stacks[k], 0, where_));
      continue;
    }
    if (shapes.empty()) {
      for (const Tensor& t : state) shapes.push_back(t.raw_shape());
      shapes = ir::output_shapes(body, shapes);
    }
    Shape none{0};
    for (int64_t d : shapes[1 + carried + k]) none.push_back(d);
    const ir::Value& v = body.value(body.outputs()[1 + carried + k].value);
    results.push_back(zeros(none, today(v.dtype), where_));
  }
  return results;
}

}  // namespace wick::nn
