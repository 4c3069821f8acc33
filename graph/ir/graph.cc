#include "graph/ir/graph.h"

#include <algorithm>

#include "graph/ir/infer.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

// Makes room for one more by a quarter: twice a large graph would not fit where the graph does.
template <class T>
void grow(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(list.size() + list.size() / 4 + 8);
}

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

const SymbolInfo* Graph::find_symbol(const std::string& symbol_name) const {
  const auto at = symbol_at_.find(symbol_name);
  return at == symbol_at_.end() ? nullptr : &symbols_[at->second];
}

SymDim Graph::fresh_symbol(int64_t min) {
  while (true) {
    // Symbols made in a region have other names than any outside it.
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
  grow(values_);
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
  grow(values_);
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
  n.attrs = NodeAttrs(attrs, info->attrs->size);
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
    grow(values_);
    values_.push_back(std::move(v));
  }
  grow(nodes_);
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

void Graph::reserve(size_t nodes, size_t values) {
  nodes_.reserve(nodes);
  values_.reserve(values);
}

Graph Graph::region(const std::string& region_name) const {
  Graph g;
  g.name = region_name;
  g.edition_ = edition_;
  g.symbols_ = symbols_;
  g.symbol_at_ = symbol_at_;
  g.depth_ = depth_ + 1;
  return g;
}

void Graph::set_edition(Edition edition) {
  edition_ = edition;
  for (Node& node : nodes_) {
    for (Graph& region : node.regions) region.set_edition(edition);
  }
}

void Graph::add_output(const std::string& output_name, ValueId id) {
  outputs_.push_back({output_name, id});
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
  sorted.reserve(order.size());
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
  for (size_t i = 0; i < order.size(); ++i) to[at(order[i])] = static_cast<ValueId>(i);
  if (std::is_sorted(order.begin(), order.end())) {  // in place: a large graph does not fit twice
    for (size_t i = 0; i < order.size(); ++i) {
      if (at(order[i]) != i) values_[i] = std::move(values_[at(order[i])]);
    }
    values_.resize(order.size());
    if (values_.size() < values_.capacity() / 2) values_.shrink_to_fit();
  } else {
    std::vector<Value> kept;
    kept.reserve(order.size());
    for (ValueId from : order) kept.push_back(std::move(values_[at(from)]));
    values_ = std::move(kept);
  }
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
