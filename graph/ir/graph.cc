#include "graph/ir/graph.h"

#include <algorithm>

#include "graph/ir/infer.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

constexpr int64_t kMaxElements = 64;  // of a tensor whose values shapes may depend on

}  // namespace

SymDim Graph::symbol(const std::string& name, int64_t min, int64_t max) {
  if (min < 0 || max < min) throw Error("dimension " + name + " has empty bounds");
  const auto [at, fresh] = symbol_at_.emplace(name, symbols_.size());
  if (fresh) symbols_.push_back({name, min, max});
  const SymbolInfo& s = symbols_[at->second];
  if (s.min != min || s.max != max) throw Error("dimension " + name + " has two different bounds");
  return SymDim::symbol(name, min, max);
}

bool Graph::has_symbol(const std::string& symbol_name) const {
  return symbol_at_.count(symbol_name) != 0;
}

SymDim Graph::fresh_symbol(int64_t min) {
  while (true) {
    // what a region makes has another name than anything outside it
    std::string fresh =
        depth_ == 0 ? std::string(1, 'd') : std::string(static_cast<size_t>(depth_), 'r');
    fresh += std::to_string(fresh_++);
    if (!has_symbol(fresh)) return symbol(fresh, min, INT32_MAX);
  }
}

ValueId Graph::add_input(const std::string& input_name, DType dtype, const SymShape& shape) {
  Value v;
  v.origin = ValueOrigin::kInput;
  v.dtype = dtype;
  v.ranked = true;
  v.shape = shape;
  v.name = input_name;
  values_.push_back(std::move(v));
  inputs_.push_back(static_cast<ValueId>(values_.size()) - 1);
  return inputs_.back();
}

ValueId Graph::add_input(const std::string& input_name, const Value& type) {
  ValueId id = add_input(input_name, type.dtype, type.shape);
  value(id).ranked = type.ranked;
  value(id).element = type.element;
  value(id).no_elements = type.no_elements;
  return id;
}

ValueId Graph::add_constant(HostTensor tensor, const std::string& constant_name, bool parameter) {
  Value v;
  v.origin = ValueOrigin::kConstant;
  v.dtype = tensor.dtype();
  v.ranked = true;
  v.shape = to_symbolic(tensor.shape());
  v.name = constant_name;
  v.parameter = parameter;
  bool ints = tensor.dtype() == DType::kI64 || tensor.dtype() == DType::kI32;
  if (ints && tensor.shape().rank() <= 1 && tensor.numel() <= kMaxElements) {
    v.has_elements = true;
    for (int64_t i : int_values(tensor)) v.elements.emplace_back(i);
  }
  v.constant = std::move(tensor);
  values_.push_back(std::move(v));
  return static_cast<ValueId>(values_.size()) - 1;
}

NodeId Graph::add_node(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs, int outputs,
                       const std::string& node_name) {
  const OpInfo* info = op_info(op);
  if (info == nullptr) throw Error("unknown op id " + std::to_string(static_cast<int>(op)));
  int count = info->outputs == 255 ? outputs : info->outputs;
  return add_typed(op, attrs, std::move(inputs), {}, std::vector<Value>(static_cast<size_t>(count)),
                   node_name);
}

NodeId Graph::add_control(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs,
                          std::vector<Graph> regions, const std::string& node_name) {
  size_t count = regions.empty() ? 0 : regions[0].outputs().size();
  if (op == OpId::kLoop && count > 0) --count;
  return add_typed(op, attrs, std::move(inputs), std::move(regions), std::vector<Value>(count),
                   node_name);
}

NodeId Graph::add_typed(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs,
                        std::vector<Graph> regions, std::vector<Value> outputs,
                        const std::string& node_name) {
  const OpInfo* info = op_info(op);
  if (info == nullptr) throw Error("unknown op id " + std::to_string(static_cast<int>(op)));
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  Node n;
  n.op = op;
  n.attrs = attrs;
  n.inputs = std::move(inputs);
  n.name = node_name;
  n.regions = std::move(regions);
  for (ValueId v : n.inputs) {
    if (v != kNoValue && (v < 0 || static_cast<size_t>(v) >= values_.size())) {
      throw Error("[" + std::string(info->name) + "] reads value " + std::to_string(v) +
                  ", which does not exist");
    }
  }
  auto id = static_cast<NodeId>(nodes_.size());
  size_t first = values_.size();
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value& v = outputs[i];
    v.origin = ValueOrigin::kNode;
    v.producer = id;
    v.output = static_cast<int>(i);
    n.outputs.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back(std::move(v));
  }
  nodes_.push_back(std::move(n));
  try {
    infer(id);
  } catch (...) {
    nodes_.pop_back();
    values_.resize(first);
    throw;
  }
  return id;
}

Graph Graph::region(const std::string& region_name) const {
  Graph g;
  g.name = region_name;
  g.symbols_ = symbols_;
  g.symbol_at_ = symbol_at_;
  g.depth_ = depth_ + 1;
  return g;
}

void Graph::add_output(const std::string& output_name, ValueId id) {
  outputs_.push_back({output_name, id});
}

namespace {

// Sizes that only values decide take symbols of the graph; those an earlier inference gave stay.
void close_shape(Graph& g, Value& v, SymShape shape) {
  bool keep = v.ranked && v.shape.rank() == shape.rank();
  for (int d = 0; d < shape.rank(); ++d) {
    if (is_open(shape[d])) shape[d] = keep ? v.shape[d] : g.fresh_symbol(0);
  }
  v.ranked = true;
  v.shape = shape;
}

// Symbols in place of integers that nobody knows yet: a rule then tells at least the rank.
bool stand_in(Span<ValueInfo<SymDim>> in, std::vector<std::vector<SymDim>>* elements) {
  bool any = false;
  elements->assign(in.size(), {});
  int next = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    ValueInfo<SymDim>& v = in[i];
    if (v.elements != nullptr || (v.dtype != DType::kI64 && v.dtype != DType::kI32)) continue;
    if (v.rank() > 1 || !is_static(v.shape) || numel(to_static(v.shape)) > kMaxElements) continue;
    for (int64_t k = 0, count = numel(to_static(v.shape)); k < count; ++k) {
      std::string name(1, '?');
      name += std::to_string(next++);
      (*elements)[i].push_back(SymDim::symbol(name, INT32_MIN, INT32_MAX));
    }
    if ((*elements)[i].empty()) continue;
    v.elements = (*elements)[i].data();
    v.element_count = static_cast<int64_t>((*elements)[i].size());
    any = true;
  }
  return any;
}

// Integers too long to write down are not known ahead of running.
bool written_elements(const Graph& g, const Node& n, std::vector<SymDim>* elements) {
  try {
    return compute_elements(g, n, elements);
  } catch (const Error& e) {
    if (e.code() != Code::kBudgetExceeded) throw;
    return false;
  }
}

// Sizes of more than `most` terms as what no expression says. `each`: another one for each, since
// rules subtract sizes.
void open_sizes(Span<ValueInfo<SymDim>> in, size_t most, bool each) {
  auto too_long = [&](const SymDim& d) { return d.terms().size() > most; };
  int next = 0;
  for (ValueInfo<SymDim>& v : in) {
    for (int d = 0; d < v.shape.rank(); ++d) {
      if (!too_long(v.shape[d])) continue;
      v.shape[d] = each ? SymDim::symbol("?long" + std::to_string(next++), 0, INT32_MAX)
                        : dim_open(v.shape[d]);
    }
    if (v.elements == nullptr) continue;
    if (std::any_of(v.elements, v.elements + v.element_count, too_long)) {
      v.elements = nullptr;
      v.element_count = 0;
    }
  }
}

// The rule of a node. A size that grows beyond what can be written down is no error: it is open,
// because first the long sizes among the inputs are, then all that are no numbers; at last, where
// a rule does nothing but add them, all are one.
bool run_rule(const Node& n, Span<ValueInfo<SymDim>> in, std::vector<ValueInfo<SymDim>>& out,
              bool* opened) {
  const std::vector<ValueInfo<SymDim>> given(in.begin(), in.end());
  const int attempts = n.op == OpId::kConcat ? 4 : 3;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt > 0) {
      std::copy(given.begin(), given.end(), in.begin());
      open_sizes(in, attempt == 1 ? 1 : 0, attempt < 3);
      out.assign(out.size(), {});
      *opened = true;
    }
    try {
      return infer_symbolic(n.op, n.attrs.get(), in, out);
    } catch (const Error& e) {
      if (e.code() != Code::kBudgetExceeded || attempt + 1 == attempts) throw;
    }
  }
  return false;
}

}  // namespace

void Graph::infer(NodeId id) {
  const Node& n = node(id);
  const OpInfo* info = op_info(n.op);
  auto where = [&](const Error& e) {
    return Error("[" + std::string(info->name) + "] " + e.what() +
                 (n.name.empty() ? "" : " in " + n.name) +
                 (n.source.file.empty() ? "" : " (" + n.source.text() + ")"));
  };
  if (info->role == OpRole::kControl) {
    try {
      infer_control(*this, id);
    } catch (const Error& e) {
      throw where(e);
    }
    return;
  }
  if (has_container(*this, n)) {
    try {
      infer_container(*this, id);
    } catch (const Error& e) {
      throw where(e);
    }
    return;
  }
  std::vector<ValueInfo<SymDim>> in(n.inputs.size()), out(n.outputs.size());
  std::vector<DType> dtypes(n.inputs.size(), DType::kNone);
  std::vector<SymDim> reals;  // of the one input that an op reads so
  bool ranked = true;
  for (size_t i = 0; i < in.size(); ++i) {
    if (n.inputs[i] == kNoValue) continue;
    const Value& v = value(n.inputs[i]);
    ranked = ranked && v.ranked;
    dtypes[i] = in[i].dtype = v.dtype;
    in[i].shape = v.shape;
    if (v.has_elements) {
      // A rank-1 tensor of no elements still needs an address.
      static const SymDim kNothing;
      in[i].elements = v.elements.empty() ? &kNothing : v.elements.data();
      in[i].element_count = static_cast<int64_t>(v.elements.size());
    } else if (v.origin == ValueOrigin::kConstant &&
               holds_reals(n.op, i, v.dtype, v.shape.rank()) &&
               v.constant.numel() <= kMaxElements) {
      for (int64_t k = 0; k < v.constant.numel(); ++k)
        reals.emplace_back(real_bits_at(v.dtype, v.constant.data(), k));
      reals.reserve(1);
      in[i].elements = reals.data();
      in[i].element_count = v.constant.numel();
    }
  }
  bool known = false, guessed = false;
  try {
    known = ranked && run_rule(n, in, out, &guessed);
    std::vector<std::vector<SymDim>> elements;
    if (ranked && !known && stand_in(in, &elements)) {
      known = guessed = infer_symbolic(n.op, n.attrs.get(), in, out);
    }
  } catch (const Error& e) {
    throw where(e);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    Value& v = value(n.outputs[i]);
    v.dtype = known ? out[i].dtype : dtype_without_shape(n.op, n.attrs.get(), dtypes, i);
    if (!known && !v.declared) v.ranked = false;
    if (known && !v.declared) {
      SymShape shape = out[i].shape;
      int open = data_dependent_axis(n.op, n.attrs.get(), i, shape.rank());
      if (open >= 0) shape[open] = dim_open(shape[open]);
      close_shape(*this, v, shape);
    }
    if (!v.ranked) v.shape = SymShape();
    v.has_elements = false;
    v.elements.clear();
  }
  if (n.outputs.size() == 1 && !guessed) {
    std::vector<SymDim> elements;
    if (known && out[0].elements != nullptr && out[0].element_count <= kMaxElements &&
        (out[0].dtype == DType::kI64 || out[0].dtype == DType::kI32)) {
      elements.assign(out[0].elements, out[0].elements + out[0].element_count);
      value(n.outputs[0]).has_elements = true;
      value(n.outputs[0]).elements = std::move(elements);
    } else if (known && written_elements(*this, n, &elements)) {
      value(n.outputs[0]).has_elements = true;
      value(n.outputs[0]).elements = std::move(elements);
    }
  }
}

std::vector<std::vector<NodeId>> Graph::users() const {
  std::vector<std::vector<NodeId>> result(values_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].removed()) continue;
    for (ValueId v : nodes_[i].inputs) {
      if (v != kNoValue) result[static_cast<size_t>(v)].push_back(static_cast<NodeId>(i));
    }
  }
  return result;
}

bool Graph::is_output(ValueId id) const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [&](const GraphOutput& o) { return o.value == id; });
}

void Graph::replace_all(ValueId from, ValueId to) {
  for (Node& n : nodes_) std::replace(n.inputs.begin(), n.inputs.end(), from, to);
  for (GraphOutput& o : outputs_) {
    if (o.value == from) o.value = to;
  }
}

void Graph::remove_node(NodeId id) {
  Node& n = node(id);
  n.op = OpId::kNone;
  n.inputs.clear();
  n.regions.clear();
}

void Graph::sort_nodes() {
  bool in_order = true;
  for (size_t i = 0; in_order && i < nodes_.size(); ++i) {
    in_order = !nodes_[i].removed();
    for (ValueId v : nodes_[i].inputs) {
      if (v == kNoValue || value(v).origin != ValueOrigin::kNode) continue;
      in_order = in_order && value(v).producer < static_cast<NodeId>(i);
    }
  }
  if (in_order) return;
  std::vector<int> state(nodes_.size(), 0);  // 0 new, 1 open, 2 done
  std::vector<NodeId> order, stack;
  for (size_t root = 0; root < nodes_.size(); ++root) {
    if (nodes_[root].removed()) continue;
    stack.push_back(static_cast<NodeId>(root));
    while (!stack.empty()) {
      NodeId id = stack.back();
      auto at = static_cast<size_t>(id);
      if (state[at] == 2) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      for (ValueId v : nodes_[at].inputs) {
        if (v == kNoValue || value(v).origin != ValueOrigin::kNode) continue;
        NodeId p = value(v).producer;
        if (state[static_cast<size_t>(p)] == 2) continue;
        if (state[static_cast<size_t>(p)] == 1)
          throw Error("the graph has a cycle through " + node_text(*this, p));
        ready = false;
        stack.push_back(p);
      }
      if (ready) {
        state[at] = 2;
        order.push_back(id);
        stack.pop_back();
      } else {
        state[at] = 1;
      }
    }
  }
  std::vector<Node> sorted;
  for (NodeId id : order) {
    for (ValueId v : node(id).outputs) value(v).producer = static_cast<NodeId>(sorted.size());
    sorted.push_back(std::move(node(id)));
  }
  nodes_ = std::move(sorted);
}

void Graph::compact() {
  sort_nodes();
  for (Node& n : nodes_) {
    for (Graph& region : n.regions) region.compact();
  }
  std::vector<bool> used(values_.size(), false);
  for (ValueId v : inputs_) used[static_cast<size_t>(v)] = true;
  for (const GraphOutput& o : outputs_) used[static_cast<size_t>(o.value)] = true;
  for (const Node& n : nodes_) {
    for (ValueId v : n.inputs) {
      if (v != kNoValue) used[static_cast<size_t>(v)] = true;
    }
    for (ValueId v : n.outputs) used[static_cast<size_t>(v)] = true;
  }
  std::vector<ValueId> order;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (used[i]) order.push_back(static_cast<ValueId>(i));
  }
  keep_values(order);
}

void Graph::sort_constants() {
  std::vector<ValueId> order;
  std::vector<bool> placed(values_.size(), false);
  auto place = [&](ValueId v) {
    if (v == kNoValue || placed[static_cast<size_t>(v)]) return;
    placed[static_cast<size_t>(v)] = true;
    order.push_back(v);
  };
  for (Node& n : nodes_) {
    for (Graph& region : n.regions) region.sort_constants();
    for (ValueId v : n.inputs) {
      if (is_constant(v)) place(v);
    }
  }
  for (const GraphOutput& o : outputs_) {
    if (is_constant(o.value)) place(o.value);
  }
  for (size_t i = 0; i < values_.size(); ++i) place(static_cast<ValueId>(i));
  keep_values(order);
}

void Graph::keep_values(const std::vector<ValueId>& order) {
  std::vector<ValueId> to(values_.size(), kNoValue);
  std::vector<Value> kept;
  kept.reserve(order.size());
  for (ValueId from : order) {
    to[static_cast<size_t>(from)] = static_cast<ValueId>(kept.size());
    kept.push_back(std::move(values_[static_cast<size_t>(from)]));
  }
  values_ = std::move(kept);
  auto renumber = [&](ValueId& v) {
    if (v != kNoValue) v = to[static_cast<size_t>(v)];
  };
  std::for_each(inputs_.begin(), inputs_.end(), renumber);
  for (GraphOutput& o : outputs_) renumber(o.value);
  for (Node& n : nodes_) {
    std::for_each(n.inputs.begin(), n.inputs.end(), renumber);
    std::for_each(n.outputs.begin(), n.outputs.end(), renumber);
  }
}

std::string node_text(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  const OpInfo* info = op_info(n.op);
  std::string s = info == nullptr ? "removed node" : info->name;
  s += n.name.empty() ? " #" + std::to_string(id) : " " + n.name;
  if (!n.source.file.empty()) s += " (" + n.source.text() + ")";
  return s;
}

}  // namespace wick::ir
