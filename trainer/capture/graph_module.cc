#include "trainer/capture/graph_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/ir/infer.h"
#include "graph/rewrite/pass.h"
#include "trainer/autograd/grad_table.h"
#include "trainer/capture/graph_run.h"
#include "trainer/capture/graph_tracer.h"

namespace wick::nn {
namespace {

using ir::kNoValue;
using ir::Node;
using ir::ValueId;

enum class Use { kSetting, kWeight, kLayerWeight, kStatistic };  // a later one takes precedence

// Returns how a node uses input i.
Use use_of(OpId op, size_t i) {
  const OpKind kind = kind_of(op);
  if (kind == OpKind::kConv || kind == OpKind::kProduct || kind == OpKind::kRecurrent)
    return Use::kLayerWeight;
  const bool learned_scale = kind == OpKind::kFakeQuantize;
  switch (input_role(op, i)) {
    case 'm': return Use::kStatistic;
    case 'w':
    case 'b': return Use::kLayerWeight;
    case 's': return learned_scale ? Use::kLayerWeight : Use::kWeight;
    case 'z': return learned_scale ? Use::kSetting : Use::kWeight;
    case 'x':
    case 'i': return Use::kWeight;
    default: return Use::kSetting;
  }
}

bool all_finite(const HostTensor& t) {
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (!std::isfinite(element_as_double(t, i))) return false;
  }
  return true;
}

// Returns whether input i can have a gradient, or could if a formula had been written.
bool learns(const Node& n, size_t i) {
  const GradRow& plain = grad_row(n.op);
  const GradRow& row = plain.of_attrs != nullptr ? *plain.of_attrs(n.attrs.get()) : plain;
  if (row.formula != nullptr) return i >= 32 || (row.nondiff_in >> i & 1U) == 0;
  return row.why == NonDiff::kInferenceOnly || row.why == NonDiff::kRandom ||
         row.why == NonDiff::kControlFlow;
}

// Returns how each value is used on the way to an output. A scale that the graph computes from two
// numbers is a setting, like one given directly. Statistics take precedence because they are
// written to.
std::vector<Use> uses_of(const ir::Graph& g) {
  std::vector<Use> uses(g.value_count(), Use::kSetting);
  auto use = [&](ValueId v) -> Use& { return uses[static_cast<size_t>(v)]; };
  for (const ir::GraphOutput& o : g.outputs()) use(o.value) = Use::kWeight;
  for (size_t k = g.node_count(); k-- > 0;) {
    const Node& n = g.node(static_cast<ir::NodeId>(k));
    const bool carries = std::any_of(n.outputs.begin(), n.outputs.end(),
                                     [&](ValueId v) { return use(v) != Use::kSetting; });
    for (size_t i = 0; carries && i < n.inputs.size(); ++i) {
      if (n.inputs[i] == kNoValue) continue;
      const Use here = use_of(n.op, i);
      if (here == Use::kSetting || (here != Use::kStatistic && !learns(n, i))) continue;
      use(n.inputs[i]) = std::max(use(n.inputs[i]), here);
    }
  }
  return uses;
}

bool is_weight(const ir::Value& v, Use use) {
  if (!is_float(v.dtype) || use == Use::kSetting || use == Use::kStatistic) return false;
  const bool number = v.constant.numel() <= 1 && (!v.parameter || v.constant.shape().rank() == 0);
  return (!number || use == Use::kLayerWeight) && v.constant.numel() > 0 && all_finite(v.constant);
}

void list_refused(const ir::Graph& g, std::string* list) {
  for (size_t i = 0; i < g.node_count(); ++i) {
    const Node& n = g.node(static_cast<ir::NodeId>(i));
    for (ValueId v : n.outputs) {
      const DType t = g.value(v).dtype;
      if (!is_container(t) && t != DType::kString) continue;
      *list += "\n  " + node_text(g, static_cast<ir::NodeId>(i)) + " makes " + dtype_name(t);
      break;
    }
    for (const ir::Graph& region : n.regions) list_refused(region, list);
  }
}

size_t count(const ir::Graph& g, OpId op) {
  size_t n = 0;
  for (const Node& node : g.nodes()) {
    if (node.op == op) ++n;
    for (const ir::Graph& region : node.regions) n += count(region, op);
  }
  return n;
}

// PyTorch's exporter writes equal weights (those of untrained layers: all ones) once, with an
// Identity for each of the others, although they are tied only by their present values. Each gets
// its own constant back, named after that Identity's output.
void untie(ir::Graph* g) {
  for (size_t i = 0; i < g->node_count(); ++i) {
    const auto id = static_cast<ir::NodeId>(i);
    const Node& n = g->node(id);
    if (n.op != OpId::kIdentity || !g->is_constant(n.inputs[0])) continue;
    const ir::Value value = g->value(n.inputs[0]);
    const ValueId out = n.outputs[0];
    if (!value.parameter || !is_float(value.dtype) || g->is_output(out)) continue;
    std::string name = g->value(out).name;
    g->value(out).name.clear();
    g->replace_all(out, g->add_constant(value.constant, name, !name.empty()));
    g->remove_node(id);
  }
  g->compact();
}

// Tensors go by their names. Constants of one name that hold other numbers get names of their own:
// a layer that is called twice has, as integers, a bias for each of its inputs' scales.
void name_apart(ir::Graph* g, std::map<std::string, const HostTensor*>* seen) {
  for (size_t v = 0; v < g->value_count(); ++v) {
    ir::Value& value = g->value(static_cast<ValueId>(v));
    if (!g->is_constant(static_cast<ValueId>(v)) || value.name.empty()) continue;
    const HostTensor *own = &value.constant, *known = nullptr;
    while (known = seen->emplace(value.name, own).first->second,
           known != own && !same_bits(*known, *own))
      value.name += "_";
  }
  for (size_t i = 0; i < g->node_count(); ++i) {
    for (ir::Graph& region : g->node(static_cast<ir::NodeId>(i)).regions) name_apart(&region, seen);
  }
}

// Returns some names that the user may have meant.
std::string names_like(const ir::Graph& g, const std::string& name) {
  std::vector<std::string> found;
  const size_t slash = name.find_last_of("/.");
  const std::string end = slash == std::string::npos ? name : name.substr(slash + 1);
  auto look = [&](auto fits) {
    for (const Node& n : g.nodes()) {
      for (ValueId v : n.outputs) {
        const std::string& own = g.value(v).name;
        if (!own.empty() && found.size() < 5 && fits(own, n) &&
            std::find(found.begin(), found.end(), own) == found.end())
          found.push_back(own);
      }
    }
  };
  look([&](const std::string&, const Node& n) { return n.name == name; });
  look([&](const std::string& own, const Node&) { return own.find(end) != std::string::npos; });
  look([&](const std::string&, const Node& n) {
    return &n >= &g.nodes().back() - std::min<long>(4, static_cast<long>(g.node_count()) - 1);
  });
  return fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace

GraphModule::GraphModule(ir::Graph graph) : graph_(std::move(graph)) {
  std::string refused;
  list_refused(graph_, &refused);
  if (!refused.empty())
    throw Error("[GraphModule] the trainer has no tensors of these types:" + refused,
                Code::kUnsupported);
  graph_.set_edition(kNewestEdition);  // the trainer's calls have no other
  untie(&graph_);
  std::map<std::string, const HostTensor*> seen;
  name_apart(&graph_, &seen);
  rebuild();
}

// Registers the tensors that the graph reads. Tensors that existed before are kept.
void GraphModule::rebuild() {
  forget_registered();
  paths_.clear();
  typed_ = Tensor();
  bound_.clear();
  std::map<std::string, bool> learned;
  for (const auto& [name, t] : by_name_) learned[name] = t.requires_grad();
  top_ = bind(graph_);
  for (const auto& [name, on] : learned) by_name_[name].requires_grad_(on);
  for (const auto& [name, on] : learned) {
    if (bound_.count(name) == 0) by_name_.erase(name);  // no longer used
  }
  train(training());
}

GraphModule::Level GraphModule::bind(const ir::Graph& g) {
  Level level;
  const std::vector<Use> uses = uses_of(g);
  level.constants.resize(g.value_count());
  for (size_t v = 0; v < g.value_count(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (g.is_constant(id)) {
      const bool weight = is_weight(g.value(id), uses[v]);
      level.constants[v] = bind_constant(g.value(id), weight, uses[v] == Use::kStatistic);
    }
  }
  level.regions.resize(g.node_count());
  for (size_t i = 0; i < g.node_count(); ++i) {
    for (const ir::Graph& region : g.node(static_cast<ir::NodeId>(i)).regions)
      level.regions[i].push_back(bind(region));
  }
  return level;
}

Tensor GraphModule::bind_constant(const ir::Value& v, bool weight, bool statistic) {
  const bool own = !v.name.empty() && (weight || statistic || v.parameter);
  auto known = own ? by_name_.find(v.name) : by_name_.end();
  Tensor t = known != by_name_.end()
                 ? known->second
                 : from_blob(v.constant.data(), v.constant.shape(), v.constant.dtype());
  if (!own) return t;
  by_name_[v.name] = t;
  if (!bound_.insert(v.name).second) return t;  // a region reads it too
  register_tensor(v.name, t, weight);
  if (weight && !typed_.defined()) {
    typed_ = t;
    given_ = v.dtype;
  }
  return t;
}

// Registers a tensor under its name, split at the dots into children; if that is impossible, under
// one name without dots.
void GraphModule::register_tensor(const std::string& name, const Tensor& value, bool parameter) {
  std::vector<std::string> parts;
  for (size_t from = 0; from <= name.size();) {
    const size_t to = std::min(name.find('.', from), name.size());
    parts.push_back(name.substr(from, to - from));
    from = to + 1;
  }
  std::string path;
  bool fits = paths_.count(name) == 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    fits = fits && !parts[i].empty();
    path += (i == 0 ? "" : ".") + parts[i];
    auto at = paths_.find(path);
    fits = fits && (i + 1 == parts.size() || at == paths_.end() || !at->second);
  }
  if (!fits) {
    std::string flat = name;
    std::replace(flat.begin(), flat.end(), '.', '_');
    while (paths_.count(flat) != 0 || flat.empty()) flat += "_";
    parts = {flat};
  }
  struct Folder : Module {
    using Module::register_buffer, Module::register_parameter;
  };
  Module* at = this;
  path.clear();
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    path += (i == 0 ? "" : ".") + parts[i];
    std::shared_ptr<Module> child;
    for (const auto& [n, c] : at->children()) {
      if (n == parts[i]) child = c;
    }
    if (!child) {
      child = std::make_shared<Folder>();
      at->register_module(parts[i], child);
      paths_[path] = false;
    }
    at = child.get();
  }
  if (parts.size() == 1) {
    parameter ? register_parameter(parts[0], value) : register_buffer(parts[0], value);
  } else {
    auto* folder = static_cast<Folder*>(at);
    parameter ? folder->register_parameter(parts.back(), value)
              : folder->register_buffer(parts.back(), value);
  }
  paths_[(path.empty() ? "" : path + ".") + parts.back()] = true;
  value.named(name);
}

Tensor GraphModule::forward(const Arg& x) {
  if (graph_.inputs().size() != 1) {
    throw_error("GraphModule",
                fmt::format("forward(x) is for one input; this graph takes {}: call run({{{}}})",
                            graph_.inputs().size(), fmt::join(input_names(), ", ")),
                x.where);
  }
  return run_all({x.tensor}, x.where)[0];
}

std::vector<Tensor> GraphModule::run_all(const std::vector<Tensor>& inputs, const Where& where) {
  return GraphRun(*this, where).run_top(inputs);
}

std::vector<Tensor> GraphModule::run(const std::vector<Tensor>& inputs, Where where) {
  return hooked(
      [this](const std::vector<Tensor>& in, const Where& line) { return run_all(in, line); },
      inputs, where);
}

std::map<std::string, Tensor> GraphModule::run(const std::map<std::string, Tensor>& inputs,
                                               Where where) {
  std::vector<Tensor> in;
  for (const std::string& name : input_names()) {
    auto at = inputs.find(name);
    if (at != inputs.end()) in.push_back(at->second);
  }
  if (in.size() != inputs.size() || in.size() != graph_.inputs().size()) {
    throw_error("GraphModule",
                fmt::format("the graph takes these inputs: {}; got {} of other names or too few",
                            fmt::join(input_names(), ", "), inputs.size()),
                where);
  }
  std::vector<Tensor> out = run(in, where);
  std::map<std::string, Tensor> results;
  for (size_t i = 0; i < out.size(); ++i) results[graph_.outputs()[i].name] = out[i];
  return results;
}

void GraphModule::set_output(const std::string& value, Where where) { set_outputs({value}, where); }

void GraphModule::set_outputs(const std::vector<std::string>& values, Where where) {
  ir::Graph g = to_graph();
  std::vector<ir::GraphOutput> outputs;
  for (const std::string& name : values) {
    ValueId found = kNoValue;
    for (const Node& n : g.nodes()) {
      for (ValueId v : n.outputs) {
        if (g.value(v).name == name) found = v;
      }
    }
    for (const ir::GraphOutput& o : g.outputs()) {
      if (found == kNoValue && o.name == name) found = o.value;
    }
    if (found == kNoValue) {
      throw_error("GraphModule",
                  fmt::format("no node makes a value \"{}\"; there are {} ...: `wick inspect "
                              "--values` lists them",
                              name, names_like(g, name)),
                  where);
    }
    for (const ir::GraphOutput& o : outputs) {
      if (o.name == name) throw_error("GraphModule", "\"" + name + "\" is given twice", where);
    }
    outputs.push_back({name, found});
  }
  if (outputs.empty()) throw_error("GraphModule", "a graph has an output at least", where);
  g.outputs() = outputs;
  g.labels.clear();
  ir::remove_dead(g);
  const auto users = g.users();
  std::vector<ValueId>& inputs = g.inputs();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                              [&](ValueId v) {
                                return users[static_cast<size_t>(v)].empty() && !g.is_output(v);
                              }),
               inputs.end());
  g.compact();
  ir::verify(g, "after set_outputs");
  graph_ = std::move(g);
  rebuild();
}

std::vector<std::string> GraphModule::input_names() const {
  std::vector<std::string> names;
  for (ValueId v : graph_.inputs()) names.push_back(graph_.value(v).name);
  return names;
}
std::vector<std::string> GraphModule::output_names() const {
  std::vector<std::string> names;
  for (const ir::GraphOutput& o : graph_.outputs()) names.push_back(o.name);
  return names;
}
size_t GraphModule::batch_norms() const { return count(graph_, OpId::kBatchNorm); }
size_t GraphModule::dropouts() const { return count(graph_, OpId::kDropout); }

// A module for quantization-aware training has observers; this one uses the scales as they are.
bool GraphModule::observe(const Node&, std::vector<Tensor>*, const Where&) const { return true; }

void GraphModule::write_back(const Level& level, ir::Graph* g) {
  for (size_t v = 0; v < level.constants.size(); ++v) {
    ir::Value& value = g->value(static_cast<ValueId>(v));
    if (level.constants[v].defined() && is_float(value.dtype))
      value.constant = host_copy(level.constants[v].detach().to(value.dtype));
  }
  for (size_t i = 0; i < level.regions.size(); ++i) {
    for (size_t k = 0; k < level.regions[i].size(); ++k)
      write_back(level.regions[i][k], &g->node(static_cast<ir::NodeId>(i)).regions[k]);
  }
}

ir::Graph GraphModule::to_graph() const {
  ir::Graph g = graph_;
  const NoGrad guard;
  const TracerScope untraced(nullptr);
  write_back(top_, &g);
  return g;
}

}  // namespace wick::nn
