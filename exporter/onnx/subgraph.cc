#include "exporter/onnx/subgraph.h"

#include <fmt/format.h>

#include "exporter/onnx/names.h"
#include "exporter/onnx/operators.h"
#include "exporter/onnx/tensor.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

constexpr uint64_t kMaxRead = uint64_t{1} << 20;  // nodes, those of functions at every call
constexpr int kMaxAttempts = 6;                   // at the types of a loop's body

std::string name_of(const NodeProto& node) {
  return !node.name().empty() ? node.name() : node.output_size() > 0 ? node.output(0) : "?";
}

// One level deeper, until it goes.
class Deeper {
 public:
  explicit Deeper(ModelCtx& model) : model_(model) {
    if (++model_.depth <= kMaxDepth) return;
    --model_.depth;
    throw Error("ONNX model: subgraphs and functions nest too deep", Code::kInvalidProgram);
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

// A function's node refers to the call's attributes by name; absent: the function's default, or
// none.
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

void read_function(Scope& scope, const NodeProto& call, const FunctionProto& f, int64_t opset) {
  Deeper deeper(scope.model);
  for (const auto& entry : f.opset_import()) {
    if (default_domain(entry.domain()))
      opset = checked_opset(entry.version(), fmt::format("function '{}'", f.name()));
  }
  Scope inner(scope.g, scope.model);
  ReadCtx c(scope, call, opset);
  if (call.input_size() > f.input_size()) c.fail("the function takes fewer inputs");
  for (int i = 0; i < call.input_size(); ++i) {
    if (ValueId v = c.optional(i); v != kNoValue) inner.values[f.input(i)] = v;
  }
  // an input that the call leaves out is absent wherever the function reads it
  std::set<std::string> absent;
  for (int i = 0; i < f.input_size(); ++i) {
    if (!c.has(i)) absent.insert(f.input(i));
  }
  std::vector<NodeProto> nodes(f.node().begin(), f.node().end());
  std::vector<const NodeProto*> list;
  for (NodeProto& node : nodes) {
    bind_attributes(node, call, f);
    for (std::string& name : *node.mutable_input()) {
      if (absent.count(name) != 0) name.clear();
    }
    if (!call.name().empty()) node.set_name(call.name() + "/" + name_of(node));
    list.push_back(&node);
  }
  read_nodes(inner, list, opset);
  for (int i = 0; i < call.output_size(); ++i) {
    if (!c.wants(i)) continue;
    ValueId made = i < f.output_size() ? inner.find(f.output(i)) : kNoValue;
    if (made == kNoValue) c.fail(fmt::format("the function does not make its output {}", i));
    c.set(i, made);
  }
}

}  // namespace

Functions::Functions(const ModelProto& model) {
  for (const FunctionProto& f : model.functions()) {
    const std::string domain = default_domain(f.domain()) ? "" : f.domain();
    by_name_.emplace(std::tuple(domain, f.name(), f.overload()), &f);  // the first of two
  }
}

const FunctionProto* Functions::find(const NodeProto& call) const {
  if (by_name_.empty()) return nullptr;
  const std::string domain = default_domain(call.domain()) ? "" : call.domain();
  auto found = by_name_.find({domain, call.op_type(), call.overload()});
  return found == by_name_.end() ? nullptr : found->second;
}

int64_t checked_opset(int64_t version, const std::string& what) {
  if (version >= 1 && version <= kNewestOpset) return version;
  throw Error(fmt::format("ONNX model: {} imports opset {}, which is not supported (1 to {} are)",
                          what, version, kNewestOpset),
              Code::kUnsupported);
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

void read_nodes(Scope& scope, Span<const NodeProto* const> nodes, int64_t opset) {
  for (const NodeProto* at : nodes) {
    const NodeProto& node = *at;
    if (++scope.model.nodes > kMaxRead)
      throw Error("ONNX model: too many nodes once its functions are written out",
                  Code::kBudgetExceeded);
    ReadCtx c(scope, node, opset);
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
        find_read_row(node.op_type())->read(c);
      } else if (const CustomOp* op = find_custom_op(node.domain(), node.op_type())) {
        read_custom(c, *op);  // a registered one wins over com.microsoft's
      } else {
        find_read_row(node.op_type(), node.domain())->read(c);
      }
    } catch (const Error& e) {
      std::string what = e.what(), name = name_of(node);
      if (what.find("'" + name + "'") != std::string::npos) throw;
      throw Error(fmt::format("{} '{}': {}", node.op_type(), name, what), e.code());
    }
    for (int i = 0; i < node.output_size(); ++i) {
      if (c.wants(i) && scope.values.find(node.output(i)) == scope.values.end())
        c.fail(fmt::format("output {} ('{}') is not supported", i, node.output(i)));
    }
  }
}

namespace {

// ONNX wants an Identity where a region hands on what comes in, a constant, or a value twice; the
// graph does not.
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
  std::map<ValueId, size_t> gone;                               // of a value's readers
  for (auto at = passed.rbegin(); at != passed.rend(); ++at) {  // a later one may read an earlier
    if (users[static_cast<size_t>(*at)].size() != gone[*at]) continue;
    const NodeId id = g.value(*at).producer;
    ++gone[g.node(id).inputs[0]];
    g.remove_node(id);
  }
}

}  // namespace

void read_initializers(Scope& scope, const GraphProto& graph) {
  auto define = [&](const HostTensor& value, const std::string& name) {
    if (name.empty()) throw Error("ONNX model: an initializer has no name", Code::kInvalidProgram);
    ValueId id = add_initializer(scope.g, value, name);
    if (!scope.values.emplace(name, id).second)
      throw Error(fmt::format("ONNX model: '{}' is defined twice", name), Code::kInvalidProgram);
  };
  for (const auto& t : graph.initializer()) define(decode(t, scope.model.folder), t.name());
  for (const auto& t : graph.sparse_initializer())
    define(decode(t, scope.model.folder), t.values().name());
}

std::vector<ValueId> read_subgraph(Scope& scope, const GraphProto& graph, int64_t opset) {
  Deeper deeper(scope.model);
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

// The types of the carried values inside: what the graph around cannot say is open.
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
    Graph region = c.g.region("body");
    Scope scope(region, c.scope.model, &c.scope);
    Value scalar;
    scalar.ranked = true;
    LoopBody in;
    scalar.dtype = DType::kI64;
    in.trip = scope.add_input(name(0, "trip"), scalar);
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
      // rows may have taken a first size for good: all of them are open then
      for (Value& type : types) {
        for (int d = 0; d < type.shape.rank(); ++d) type.shape[d] = dim_open(type.shape[d]);
      }
    }
  }
}

}  // namespace wick::onnx
