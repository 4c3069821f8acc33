#include "exporter/onnx/read/subgraph.h"

#include <fmt/core.h>

#include "exporter/onnx/file/about.h"
#include "exporter/onnx/file/names.h"
#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/microsoft/microsoft.h"
#include "exporter/onnx/operators.h"
#include "exporter/onnx/read/limits.h"
#include "exporter/onnx/read/order.h"
#include "exporter/onnx/read/signature.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

constexpr int kMaxAttempts = 6;  // to find the types of a loop's body

// Deeper raises the nesting depth while it lives.
class Deeper {
 public:
  explicit Deeper(ModelCtx& model) : model_(model) {
    if (++model_.depth <= kMaxDepth) return;
    --model_.depth;
    throw Error(fmt::format("ONNX model: subgraphs and functions nest deeper than {}", kMaxDepth),
                Code::kInvalidProgram);
  }
  ~Deeper() { --model_.depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  ModelCtx& model_;
};

void bind_attributes(NodeProto& node, const NodeProto& call, const FunctionProto& f);

void bind_attributes(GraphProto& graph, const NodeProto& call, const FunctionProto& f) {
  for (NodeProto& node : *graph.mutable_node()) bind_attributes(node, call, f);
}

// Binds the attributes of a function's node that refer to the call's attributes by name; if the
// call has none, to the function's default, or drops them.
void bind_attributes(NodeProto& node, const NodeProto& call, const FunctionProto& f) {
  auto find = [](const auto& attributes, const std::string& name) -> const AttributeProto* {
    for (const AttributeProto& a : attributes) {
      if (a.name() == name) return &a;
    }
    return nullptr;
  };
  google::protobuf::RepeatedPtrField<AttributeProto> bound;
  for (AttributeProto& a : *node.mutable_attribute()) {
    if (a.has_g()) bind_attributes(*a.mutable_g(), call, f);
    for (GraphProto& g : *a.mutable_graphs()) bind_attributes(g, call, f);
    if (a.ref_attr_name().empty()) {
      *bound.Add() = a;
      continue;
    }
    const AttributeProto* given = find(call.attribute(), a.ref_attr_name());
    if (given == nullptr) given = find(f.attribute_proto(), a.ref_attr_name());
    if (given == nullptr) continue;
    AttributeProto& to = *bound.Add();
    to = *given;
    to.set_name(a.name());
  }
  node.mutable_attribute()->Swap(&bound);
}

// An input that the call leaves out is absent wherever the function reads it, in subgraphs too; a
// subgraph that defines the name means its own.
void leave_out(NodeProto& node, const std::set<std::string>& absent);

void leave_out(GraphProto& graph, std::set<std::string> absent) {
  for (const auto& info : graph.input()) absent.erase(info.name());
  for (const auto& t : graph.initializer()) absent.erase(t.name());
  for (const auto& t : graph.sparse_initializer()) absent.erase(t.values().name());
  for (NodeProto& node : *graph.mutable_node()) {
    leave_out(node, absent);
    for (const std::string& name : node.output()) absent.erase(name);
  }
}

void leave_out(NodeProto& node, const std::set<std::string>& absent) {
  if (absent.empty()) return;
  for (std::string& name : *node.mutable_input()) {
    if (absent.count(name) != 0) name.clear();
  }
  for (AttributeProto& a : *node.mutable_attribute()) {
    if (a.has_g()) leave_out(*a.mutable_g(), absent);
    for (GraphProto& g : *a.mutable_graphs()) leave_out(g, absent);
  }
}

// Call keeps a function on the list of those being read while it lives.
class Call {
 public:
  Call(const ReadCtx& c, const FunctionProto& f) : calls_(c.scope.model.calls) {
    const auto again = std::find(calls_.begin(), calls_.end(), &f);
    if (again != calls_.end()) {
      std::string way;
      for (auto at = again; at != calls_.end(); ++at) way += (*at)->name() + " -> ";
      c.fail(fmt::format("the function '{}' calls itself ({}{}), which ONNX has no meaning for",
                         f.name(), way, f.name()));
    }
    calls_.push_back(&f);
  }
  ~Call() { calls_.pop_back(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  std::vector<const FunctionProto*>& calls_;
};

void read_function(Scope& scope, const NodeProto& call, const FunctionProto& f, int64_t opset) {
  Deeper deeper(scope.model);
  const int64_t ml_outside = scope.model.ml_opset;
  for (const auto& entry : f.opset_import()) {
    if (entry.domain() == kMl) scope.model.ml_opset = entry.version();
    if (default_domain(entry.domain()))
      opset = checked_opset(entry.version(), fmt::format("function '{}'", f.name()));
  }
  Scope inner(scope, call);
  ReadCtx c(scope, call, opset);
  const Call now(c, f);
  check_call(c, f);
  for (int i = 0; i < std::min(call.input_size(), f.input_size()); ++i) {
    if (ValueId v = c.optional(i); v != kNoValue) inner.values[f.input(i)] = v;
  }
  std::set<std::string> absent;
  for (int i = 0; i < f.input_size(); ++i) {
    if (!c.has(i)) absent.insert(f.input(i));
  }
  std::vector<NodeProto> nodes(f.node().begin(), f.node().end());
  std::vector<const NodeProto*> list;
  for (NodeProto& node : nodes) {
    bind_attributes(node, call, f);
    leave_out(node, absent);
    if (!call.name().empty()) node.set_name(call.name() + "/" + node_name(node));
    list.push_back(&node);
  }
  read_nodes(inner, list, opset);
  scope.model.ml_opset = ml_outside;
  for (int i = 0; i < call.output_size(); ++i) {
    if (!c.wants(i)) continue;
    ValueId made = inner.find(f.output(i));
    if (made == kNoValue) c.fail(fmt::format("the function does not make its output {}", i));
    c.set(i, made);
  }
}

}  // namespace

Functions::Functions(const ModelProto& model) {
  int64_t opset = 0;
  for (const auto& entry : model.opset_import()) {
    if (default_domain(entry.domain())) opset = entry.version();
  }
  const auto is_operator = [&](const FunctionProto& f) {
    const OperatorVersion* v = find_version(f.name(), opset, f.domain());
    return v != nullptr && v->read != nullptr && (!default_domain(f.domain()) || v->since <= opset);
  };
  for (const FunctionProto& f : model.functions()) {
    if (is_operator(f)) continue;
    const std::string domain = default_domain(f.domain()) ? "" : f.domain();
    by_name_.emplace(std::tuple(domain, f.name(), f.overload()), &f);  // the first of two counts
  }
}

const FunctionProto* Functions::find(const NodeProto& call) const {
  if (by_name_.empty()) return nullptr;
  const std::string domain = default_domain(call.domain()) ? "" : call.domain();
  auto found = by_name_.find({domain, call.op_type(), call.overload()});
  return found == by_name_.end() ? nullptr : found->second;
}

int64_t checked_opset(int64_t version, const std::string& what) {
  if (version >= 1) return version;  // a newer one is read as far as it is known
  throw Error(fmt::format("ONNX model: {} imports opset {}, which is not supported (1 to {} are)",
                          what, version, kNewestOpset),
              Code::kUnsupported);
}

std::vector<ValueId> Scope::trips() {
  if (around_ == nullptr) return {};
  std::vector<ValueId> all = around_->trips();
  if (&around_->g != &g) {
    for (ValueId& v : all) v = capture(v);
  }
  if (trip != kNoValue) all.push_back(trip);
  return all;
}

ValueId Scope::find(const std::string& name) {
  auto found = values.find(name);
  if (found != values.end()) return found->second;
  ValueId outer = outside_ == nullptr ? kNoValue : outside_->find(name);
  if (outer == kNoValue) return kNoValue;
  return values[name] = &outside_->g == &g ? outer : capture(outer);
}

ValueId Scope::add_input(const std::string& name, const Value& type) {
  std::string fresh = name.empty() ? "captured" : name;
  while (!input_names_.insert(fresh).second) fresh += "_";
  SymShape shape = type.shape;
  for (int d = 0; d < shape.rank() && !is_container(type.dtype); ++d) {
    if (is_open(shape[d])) shape[d] = g.fresh_symbol(0);
  }
  Value closed = type;
  closed.shape = shape;
  return g.add_input(fresh, closed);
}

ValueId Scope::capture(ValueId outer) {
  auto known = inside_.find(outer);
  if (known != inside_.end()) return known->second;
  const Value& v = outside_->g.value(outer);
  ValueId id = kNoValue;
  if (v.origin == ValueOrigin::kConstant) {
    id = g.add_constant(v.constant, v.name, v.parameter);
  } else {
    id = add_input(v.name, v);
    g.value(id).has_elements = v.has_elements;
    g.value(id).elements = v.elements;
    captured_.push_back(outer);
  }
  return inside_[outer] = id;
}

void ModelCtx::visit(uint64_t n) {
  if (ledger.visit(n).ok()) return;
  throw Error(
      fmt::format("ONNX model: more is read than the file accounts for ({} visits, {} for each "
                  "node): the nodes of functions and of the bodies of loops as often as they must "
                  "be, and sizes at each subgraph; OnnxReadOptions::max_visits raises it",
                  ledger.limits().visits, kVisitsOfNode),
      Code::kBudgetExceeded);
}

void read_nodes(Scope& scope, Span<const NodeProto* const> listed, int64_t opset) {
  for (const size_t number : in_order(listed, scope.values)) {
    const NodeProto& node = *listed[number];
    scope.model.visit(kVisitsOfNode);
    ReadCtx c(scope, node, node.domain() == kMl ? scope.model.ml_opset : opset);
    const size_t first = scope.g.node_count();
    try {
      if (node.output_size() == 0) c.fail("it names no outputs");
      const FunctionProto* f = scope.model.functions.find(node);
      for (int i = 0; f == nullptr && i < c.inputs() && !takes_containers(node.op_type()); ++i) {
        if (c.has(i) && is_container(c.dtype(c.in(i))))
          c.fail(fmt::format("input '{}' is a sequence or an optional, must be a tensor",
                             node.input(i)));
      }
      if (f != nullptr) {
        read_function(scope, node, *f, opset);
      } else if (default_domain(node.domain())) {
        if (opset == 0) c.fail("the model imports no opset of the default domain");
        check_signature(c);
        check_types(c);
        find_version(node.op_type(), opset)->read(c);
      } else if (const CustomOp* op = find_custom_op(node.domain(), node.op_type())) {
        read_custom(c, *op);  // a registered op wins over com.microsoft's
      } else {
        if (node.domain() == kMl && c.opset == 0)
          c.fail("the model imports no opset of ai.onnx.ml");
        check_signature(c);
        check_types(c);
        find_version(node.op_type(), c.opset, node.domain())->read(c);
      }
    } catch (const Error& e) {
      const std::string what = e.what(), name = node_name(node);
      if (name == "?")  // its number identifies it
        throw Error(fmt::format("node {} of its graph: {}", number, what), e.code());
      if (what.find("'" + name + "'") != std::string::npos) throw;
      throw Error(fmt::format("{} '{}': {}", node.op_type(), name, what), e.code());
    } catch (const std::bad_alloc&) {
      throw Error(fmt::format("{} '{}': out of memory", node.op_type(), node_name(node)),
                  Code::kOutOfMemory);
    } catch (const std::exception& e) {  // thrown by a custom op's functions, or by a library
      throw Error(fmt::format("{} '{}': {}", node.op_type(), node_name(node), e.what()),
                  Code::kInternal);
    }
    read_origin(node, scope.g, first);
    for (int i = 0; i < node.output_size(); ++i) {
      if (c.wants(i) && scope.values.find(node.output(i)) == scope.values.end())
        c.fail(fmt::format("output {} ('{}') is not supported", i, node.output(i)));
    }
  }
}

namespace {

// Removes the Identity nodes that ONNX requires where a region returns one of its inputs, a
// constant, or a value twice; the graph does not need them.
void see_through(Graph& g, std::vector<ValueId>* outputs) {
  std::set<ValueId> passed;
  for (ValueId& v : *outputs) {
    while (g.value(v).origin == ValueOrigin::kNode &&
           g.node(g.value(v).producer).op == OpId::kIdentity) {
      passed.insert(v);
      v = g.node(g.value(v).producer).inputs[0];
    }
  }
  if (passed.empty()) return;
  const auto users = g.users();
  // Counts the removed readers of a value. The loop goes backwards: a later node may read an
  // earlier one.
  std::map<ValueId, size_t> gone;
  for (auto at = passed.rbegin(); at != passed.rend(); ++at) {
    if (users[static_cast<size_t>(*at)].size() != gone[*at]) continue;
    const NodeId id = g.value(*at).producer;
    ++gone[g.node(id).inputs[0]];
    g.remove_node(id);
  }
}

}  // namespace

void read_initializers(Scope& scope, const GraphProto& graph) {
  auto define = [&](const HostTensor& value, const std::string& name) {
    ValueId id = add_initializer(scope.g, value, name);
    if (!scope.values.emplace(name, id).second)
      throw Error(fmt::format("ONNX model: '{}' is defined twice", name), Code::kInvalidProgram);
  };
  auto need_name = [](const std::string& name, const char* what, int number) {
    if (name.empty())
      throw Error(fmt::format("ONNX model: {} {} of a graph has no name", what, number),
                  Code::kInvalidProgram);
  };
  for (int i = 0; i < graph.initializer_size(); ++i) {
    const TensorProto& t = graph.initializer(i);
    need_name(t.name(), "initializer", i);
    define(decode(t, scope.model.folder), t.name());
  }
  for (int i = 0; i < graph.sparse_initializer_size(); ++i) {
    const SparseTensorProto& t = graph.sparse_initializer(i);
    need_name(t.values().name(), "sparse initializer", i);
    define(decode(t, scope.model.folder, &scope.model.ledger), t.values().name());
  }
}

std::vector<ValueId> read_subgraph(Scope& scope, const GraphProto& graph, int64_t opset) {
  Deeper deeper(scope.model);
  std::set<std::string> inputs;
  for (const auto& info : graph.input()) {
    if (!inputs.insert(info.name()).second)
      throw Error(
          fmt::format("ONNX model: input '{}' of a subgraph is declared twice", info.name()),
          Code::kInvalidProgram);
  }
  read_initializers(scope, graph);
  std::vector<const NodeProto*> nodes;
  for (const auto& node : graph.node()) nodes.push_back(&node);
  read_nodes(scope, nodes, opset);
  std::vector<ValueId> outputs;
  for (const auto& info : graph.output()) {
    outputs.push_back(scope.find(info.name()));
    if (outputs.back() == kNoValue)
      throw Error(fmt::format("ONNX model: output '{}' of a subgraph is not defined", info.name()),
                  Code::kInvalidProgram);
  }
  if (scope.g.is_region()) see_through(scope.g, &outputs);
  return outputs;
}

ValueId add_initializer(Graph& g, HostTensor tensor, const std::string& name) {
  const bool own = !is_made_up(name);
  return g.add_constant(std::move(tensor), own ? name : std::string(), own);
}

namespace {

// Returns whether the types of the carried values inside are those of `used`, and gets them
// (`found`); sizes that the graph around does not know are open.
bool same_types(const Graph& g, const Graph& region, const std::vector<Value>& used,
                std::vector<Value>* found) {
  bool same = true;
  found->clear();
  for (size_t k = 0; k < used.size(); ++k) {
    Value v = region.value(region.inputs()[2 + k]);
    Value type;
    type.dtype = v.dtype;
    type.element = v.element;
    type.no_elements = v.no_elements;
    type.ranked = v.ranked;
    type.shape = v.shape;
    for (int d = 0; d < type.shape.rank(); ++d) {
      bool inside = false;
      type.shape[d].each_symbol([&](const std::string& name, int64_t, int64_t) {
        inside = inside || !g.has_symbol(name);
      });
      if (inside) type.shape[d] = dim_open(type.shape[d]);
    }
    same = same && type.no_elements == used[k].no_elements && type.ranked == used[k].ranked &&
           type.shape == used[k].shape;
    found->push_back(type);
  }
  return same;
}

}  // namespace

std::vector<ValueId> emit_loop(
    ReadCtx& c, ValueId trips, ValueId condition, const std::vector<ValueId>& carried,
    const std::vector<std::string>& input_names,
    const std::function<std::vector<ValueId>(ReadCtx&, const LoopBody&)>& make) {
  Deeper deeper(c.scope.model);
  std::vector<Value> types;
  for (ValueId v : carried) {
    Value type;
    type.dtype = c.g.value(v).dtype;
    type.element = c.g.value(v).element;
    type.no_elements = c.g.value(v).no_elements;
    type.ranked = c.g.value(v).ranked;
    type.shape = c.g.value(v).shape;
    types.push_back(type);
  }
  auto name = [&](size_t i, const char* fallback) {
    return i < input_names.size() && !input_names[i].empty() ? input_names[i] : fallback;
  };
  for (int attempt = 0;; ++attempt) {
    Graph region = c.scope.model.region(c.g, "body");
    Scope scope(region, c.scope, c.node, "");
    Value scalar;
    scalar.ranked = true;
    LoopBody in;
    scalar.dtype = DType::kI64;
    in.trip = scope.trip = scope.add_input(name(0, "trip"), scalar);
    scalar.dtype = DType::kBool;
    in.condition = scope.add_input(name(1, "condition"), scalar);
    for (size_t k = 0; k < types.size(); ++k)
      in.carried.push_back(scope.add_input(name(2 + k, "carried"), types[k]));
    ReadCtx body(scope, c.node, c.opset);
    std::vector<ValueId> made = make(body, in);
    for (size_t k = 0; k < made.size(); ++k) region.add_output(fmt::format("out{}", k), made[k]);
    drop_unread_containers(region);
    std::vector<ValueId> inputs = {trips, condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    inputs.insert(inputs.end(), scope.captured().begin(), scope.captured().end());
    LoopAttrs attrs{static_cast<int64_t>(carried.size())};
    std::vector<Value> found;
    try {
      std::vector<Graph> regions;
      regions.push_back(std::move(region));
      NodeId id = c.g.add_control(OpId::kLoop, AnyAttrs::of(attrs), inputs, std::move(regions),
                                  c.node.name());
      if (same_types(c.g, c.g.node(id).regions[0], types, &found)) return c.g.node(id).outputs;
      if (attempt >= kMaxAttempts) c.fail("the types of what it carries do not settle");
      c.g.remove_node(id);
      types = found;
    } catch (const Error&) {
      if (attempt > 0) throw;
      // Rows may have taken a first trip's size as fixed, so all sizes are open then.
      for (Value& type : types) {
        for (int d = 0; d < type.shape.rank(); ++d) type.shape[d] = dim_open(type.shape[d]);
      }
    }
  }
}

}  // namespace wick::onnx
