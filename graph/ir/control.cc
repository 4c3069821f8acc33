// Infers the types of control nodes: from their inputs into the regions, and from the regions back
// to the outputs.
#include <algorithm>

#include "graph/ir/infer.h"
#include "wick/error.h"

namespace wick::ir {

size_t own_inputs(const Node& node) {
  if (node.op != OpId::kLoop) return 1;
  return 2 + static_cast<size_t>(node.attrs.as<LoopAttrs>().carried);
}
size_t own_region_inputs(const Node& node) { return node.op == OpId::kLoop ? own_inputs(node) : 0; }

namespace {

bool same_type(const Value& a, const Value& b) {
  if (a.element != b.element || a.no_elements != b.no_elements) return false;
  if (a.ranked != b.ranked) return false;
  if (!a.ranked) return true;
  if (a.shape.rank() != b.shape.rank()) return false;
  for (int d = 0; d < a.shape.rank(); ++d) {
    if (!(a.shape[d] == b.shape[d])) return false;
  }
  return true;
}

// Declares the symbols of the graph outside that come in inside too.
void declare_symbols(Graph& region, const SymShape& shape) {
  for (const SymDim& d : shape) {
    d.each_symbol([&](const std::string& name, int64_t min, int64_t max) {
      if (name[0] == '?') return;  // an open size, not a symbol of any graph
      if (!region.has_symbol(name)) region.symbol(name, min, max);
    });
  }
}

// Gives a region's input the type of what it gets. Returns whether that changed it.
bool take_type(Graph& region, Value& to, const Value& from, bool elements) {
  if ((to.dtype != from.dtype || to.element != from.element) && to.dtype != DType::kNone) {
    throw Error("a region takes " + type_text(to) + " as \"" + to.name + "\", it gets " +
                type_text(from));
  }
  bool has = elements && from.has_elements;
  bool same =
      same_type(to, from) && to.has_elements == has && (!has || to.elements == from.elements);
  to.dtype = from.dtype;
  to.element = from.element;
  to.no_elements = from.no_elements;
  to.ranked = from.ranked;
  to.shape = from.ranked ? from.shape : SymShape();
  to.has_elements = has;
  to.elements = has ? from.elements : std::vector<SymDim>();
  if (!same) {
    declare_symbols(region, to.shape);
    for (const SymDim& e : to.elements) declare_symbols(region, SymShape{e});
  }
  return !same;
}

void infer_all(Graph& region, bool anew) {
  for (size_t i = 0; i < region.node_count(); ++i) {
    auto id = static_cast<NodeId>(i);
    if (region.node(id).removed()) continue;
    for (ValueId v : region.node(id).outputs) {
      if (anew && !region.value(v).declared) region.value(v).ranked = false;
    }
    region.infer(id);
  }
}

// Open sizes of elements have no symbol that would tell an old size from a new one, so values that
// depend on them are inferred from scratch.
bool takes_container(const Graph& region) {
  return std::any_of(region.inputs().begin(), region.inputs().end(),
                     [&](ValueId v) { return is_container(region.value(v).dtype); });
}

// Returns a region's size as the graph outside sees it: it stays if the outside knows its symbols,
// else it is open.
SymDim leave(const Graph& outside, const SymDim& d) {
  bool known = true;
  d.each_symbol([&](const std::string& name, int64_t, int64_t) {
    known = known && outside.has_symbol(name);
  });
  return known ? d : dim_open(d);
}

// Does the same for a container's elements: a size that the outside does not know is open.
Value left_behind(const Graph& outside, const Value& v) {
  Value type = v;
  for (int d = 0; d < type.shape.rank(); ++d) type.shape[d] = leave(outside, type.shape[d]);
  return type;
}

// Sets the type of a node's output that may come from a or b.
void set_joined(Graph& g, ValueId id, const Value& a, const Value& b, const SymDim* stacked) {
  Value& v = g.value(id);
  if (a.dtype != b.dtype)
    throw Error("regions give " + type_text(a) + " and " + type_text(b) + " for one output");
  v.dtype = a.dtype;
  v.element = a.element;
  v.has_elements = false;
  v.elements.clear();
  if (is_container(a.dtype)) {
    if (stacked != nullptr)
      throw Error("a trip gives " + type_text(a) + ", which cannot be stacked");
    Value joined = left_behind(g, a);
    join_elements(joined, left_behind(g, b));
    v.ranked = joined.ranked;
    v.shape = joined.shape;
    v.no_elements = joined.no_elements;
    return;
  }
  if (v.declared) return;
  if (!a.ranked || !b.ranked || a.shape.rank() != b.shape.rank()) {
    v.ranked = false;
    v.shape = SymShape();
    return;
  }
  SymShape shape;
  if (stacked != nullptr) {
    if (a.shape.rank() == kMaxRank) throw Error("a stacked output would have a rank over 8");
    shape.push_back(*stacked);
  }
  for (int d = 0; d < a.shape.rank(); ++d) {
    SymDim x = leave(g, a.shape[d]), y = leave(g, b.shape[d]);
    shape.push_back(dim_equal(x, y) == Tri::kYes ? x : dim_open(x));
  }
  bool keep = v.ranked && v.shape.rank() == shape.rank();
  for (int d = 0; d < shape.rank(); ++d) {
    if (is_open(shape[d])) shape[d] = keep ? v.shape[d] : g.fresh_symbol(0);
  }
  v.ranked = true;
  v.shape = shape;
}

// Captured values come last, both in a node's inputs and in its regions'.
void check_form(const Node& n) {
  size_t regions = n.op == OpId::kIf ? 2 : 1;
  if (n.regions.size() != regions) throw Error("needs " + std::to_string(regions) + " regions");
  if (n.op == OpId::kLoop) {
    int64_t carried = n.attrs.as<LoopAttrs>().carried;
    if (carried < 0 || static_cast<size_t>(carried) > n.inputs.size() ||
        static_cast<size_t>(carried) > n.outputs.size()) {
      throw Error("carries " + std::to_string(carried) + " values, which it has not");
    }
  }
  if (n.inputs.size() < own_inputs(n)) throw Error("has too few inputs");
  for (ValueId v : n.inputs) {
    if (v == kNoValue) throw Error("no input of a control node may be absent");
  }
  size_t captures = n.inputs.size() - own_inputs(n);
  for (const Graph& region : n.regions) {
    if (region.inputs().size() != own_region_inputs(n) + captures) {
      throw Error("region \"" + region.name + "\" takes " + std::to_string(region.inputs().size()) +
                  " values, it gets " + std::to_string(own_region_inputs(n) + captures));
    }
    size_t made = n.outputs.size() + (n.op == OpId::kLoop ? 1 : 0);
    if (region.outputs().size() != made) {
      throw Error("region \"" + region.name + "\" makes " +
                  std::to_string(region.outputs().size()) + " values, should be " +
                  std::to_string(made));
    }
  }
}

bool take_captures(Graph& g, const Node& n, Graph& region) {
  bool news = false;
  size_t own = own_inputs(n), inside = own_region_inputs(n);
  for (size_t i = own; i < n.inputs.size(); ++i) {
    Value& to = region.value(region.inputs()[inside + i - own]);
    news = take_type(region, to, g.value(n.inputs[i]), true) || news;
  }
  return news;
}

const Value& result(const Graph& region, size_t i) {
  return region.value(region.outputs()[i].value);
}

// The condition may have any rank: real models give an If a bool of shape [1, 1].
bool may_be_one(const Value& v) {
  for (const SymDim& d : v.shape) {
    if (v.ranked && dim_equal(d, SymDim(1)) == Tri::kNo) return false;
  }
  return true;
}

bool constant_true(const Graph& g, ValueId v) {
  return g.is_constant(v) && g.value(v).constant.numel() == 1 &&
         element_as_double(g.value(v).constant, 0) != 0;
}

void infer_loop(Graph& g, NodeId id) {
  Node& n = g.node(id);
  Graph& body = n.regions[0];
  auto carried = static_cast<size_t>(n.attrs.as<LoopAttrs>().carried);
  auto input = [&](size_t i) -> Value& { return body.value(body.inputs()[i]); };
  Value scalar;
  scalar.ranked = true;
  scalar.dtype = DType::kI64;
  bool news = take_type(body, input(0), scalar, false);
  scalar.dtype = DType::kBool;
  news = take_type(body, input(1), scalar, false) || news;
  news = take_captures(g, n, body) || news;
  // A carried size that a trip changes is open inside; one that is already open stays so.
  for (size_t k = 0; k < carried; ++k) {
    Value now = g.value(n.inputs[2 + k]);
    const Value& was = input(2 + k);
    if (is_container(now.dtype)) {
      if (was.dtype == now.dtype) join_elements(now, left_behind(g, was));
    } else if (!was.ranked) {
      now.ranked = false;
    } else if (now.ranked && was.shape.rank() == now.shape.rank()) {
      for (int d = 0; d < now.shape.rank(); ++d) {
        const SymDim& inside = was.shape[d];
        if (!inside.known() && is_open(leave(g, inside))) now.shape[d] = inside;
      }
    }
    news = take_type(body, input(2 + k), now, false) || news;
  }
  if (news) infer_all(body, takes_container(body));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < carried; ++k) {
      Value& in = input(2 + k);
      const Value& out = result(body, 1 + k);
      if (out.dtype != in.dtype || out.element != in.element)
        throw Error("carries " + type_text(in) + " into a trip and " + type_text(out) +
                    " out of it");
      if (is_container(in.dtype)) {
        Value joined = in;
        join_elements(joined, left_behind(g, out));
        changed = take_type(body, in, joined, false) || changed;
        continue;
      }
      if (!in.ranked) continue;
      if (!out.ranked || out.shape.rank() != in.shape.rank()) {
        in.ranked = false;
        in.shape = SymShape();
        changed = true;
        continue;
      }
      for (int d = 0; d < in.shape.rank(); ++d) {
        bool open = !in.shape[d].known() && is_open(leave(g, in.shape[d]));
        if (open || dim_equal(in.shape[d], out.shape[d]) == Tri::kYes) continue;
        in.shape[d] = body.fresh_symbol(0);
        changed = true;
      }
    }
    if (changed) infer_all(body, true);
  }
  const Value& go_on = result(body, 0);
  if (go_on.dtype != DType::kBool || !may_be_one(go_on))
    throw Error("the condition of a trip is " + type_text(go_on) + ", not one bool");
  for (size_t k = 0; k < carried; ++k) {
    // With no trip at all the outputs are the initial values.
    set_joined(g, n.outputs[k], g.value(n.inputs[2 + k]), input(2 + k), nullptr);
  }
  ValueId last = body.outputs()[0].value;
  bool all_trips = constant_true(body, last) || (last == body.inputs()[1]);
  all_trips = all_trips && constant_true(g, n.inputs[1]);
  const Value& trips = g.value(n.inputs[0]);
  SymDim count = dim_open(SymDim());
  if (all_trips && trips.has_elements && trips.elements.size() == 1)
    count = dim_max(trips.elements[0], SymDim(0));
  if (count.known() && count.constant() > INT32_MAX)
    count = dim_open(SymDim());  // no tensor has this size
  for (size_t k = carried; k < n.outputs.size(); ++k)
    set_joined(g, n.outputs[k], result(body, 1 + k), result(body, 1 + k), &count);
}

void check_one(const Graph& g, const Node& n, size_t i, DType dtype, const char* what) {
  const Value& v = g.value(n.inputs[i]);
  if (v.dtype != dtype || !may_be_one(v))
    throw Error(std::string(what) + " must be one " + dtype_name(dtype) + ", got " + type_text(v));
}

}  // namespace

void infer_control(Graph& g, NodeId id) {
  Node& n = g.node(id);
  check_form(n);
  if (n.op == OpId::kLoop) {
    check_one(g, n, 0, DType::kI64, "the number of trips");
    check_one(g, n, 1, DType::kBool, "the condition");
    return infer_loop(g, id);
  }
  check_one(g, n, 0, DType::kBool, "the condition");
  for (Graph& region : n.regions) {
    if (take_captures(g, n, region)) infer_all(region, takes_container(region));
  }
  for (size_t k = 0; k < n.outputs.size(); ++k)
    set_joined(g, n.outputs[k], result(n.regions[0], k), result(n.regions[1], k), nullptr);
}

std::vector<Shape> output_shapes(const Graph& body, Span<const Shape> inputs) {
  Graph g = body;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& v = g.value(g.inputs()[i]);
    v.ranked = true;
    v.shape = to_symbolic(inputs[i]);
  }
  try {
    for (size_t i = 0; i < g.node_count(); ++i) {
      auto id = static_cast<NodeId>(i);
      if (g.node(id).removed()) continue;
      for (ValueId v : g.node(id).outputs) g.value(v).ranked = g.value(v).declared;
      g.infer(id);
    }
  } catch (const Error&) {
    g = body;  // a trip would fail, but none is made
  }
  std::vector<Shape> shapes;
  for (const GraphOutput& o : g.outputs()) {
    Shape s;
    for (const SymDim& d : g.value(o.value).shape) s.push_back(d.known() ? d.constant() : 0);
    shapes.push_back(s);
  }
  return shapes;
}

}  // namespace wick::ir
