// SiLU and GELU are operators of ONNX from opset 24 and 20 on. For an older opset each is written
// as the several operators that it is made of, which are read as one node again, so that the bits
// stay.
#include <cmath>
#include <map>
#include <set>

#include "exporter/onnx/file/about.h"
#include "exporter/onnx/file/names.h"
#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/read/gather.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

constexpr const char* kSilu = "Silu";
constexpr const char* kGelu = "Gelu";
// The constants of x / 2 * (1 + erf(x / sqrt(2))), and of the tanh approximation in erf's place.
constexpr double kRootHalf = 0.7071067811865476, kRootTwoByPi = 0.7978845608028654,
                 kCubic = 0.044715;

void read_gelu(ReadCtx& c) {
  std::string how = c.attr_string("approximate", "none");
  if (how != "none" && how != "tanh") c.fail("unknown approximate '" + how + "'");
  c.set(0, c.emit(OpId::kGelu, GeluAttrs{how == "tanh"}, {c.in(0)}));
}
void read_swish(ReadCtx& c) {  // x * sigmoid(alpha * x)
  double alpha = c.attr_float("alpha", 1);
  if (alpha == 1) return c.set(0, c.emit(OpId::kSilu, {c.in(0)}));
  ValueId x = c.in(0);
  ValueId gate = c.emit(OpId::kSigmoid, {c.emit(OpId::kMul, {x, c.scalar(x, alpha, "alpha")})});
  c.set(0, c.emit(OpId::kMul, {x, gate}));
}

void write_silu(WriteCtx& c) {
  const bool swish = c.g.value(c.node.inputs[0]).dtype != DType::kF64;  // Swish takes no float64
  if (swish && c.opset() >= 24) {
    c.same("Swish");
    return;
  }
  const std::string gate = c.fresh();
  NodeProto* parts[] = {&c.add("Sigmoid", {c.in(0)}, {gate}),
                        &c.add("Mul", {c.in(0), gate}, {c.out(0)})};
  for (NodeProto* n : parts) {
    if (swish) write_form(kSilu, *n);
  }
}

void write_gelu(WriteCtx& c) {
  const bool tanh = c.as<GeluAttrs>().tanh != 0;
  if (c.opset() >= 20) {
    NodeProto& n = c.same("Gelu");
    if (tanh) set_string(n, "approximate", "tanh");
    return;
  }
  const DType t = c.g.value(c.node.inputs[0]).dtype;
  const std::string x = c.in(0);
  auto put = [&](const char* op, const std::vector<std::string>& in, const std::string& y) {
    write_form(kGelu, c.add(op, in, {y}));
    return y;
  };
  auto mul = [&](const std::string& a, const std::string& b) {
    return put("Mul", {a, b}, c.fresh());
  };
  std::string inner = x;
  if (tanh) {
    const std::string cube = mul(mul(mul(x, x), x), c.scalar(t, kCubic));
    inner = put("Add", {x, cube}, c.fresh());
  }
  inner = mul(inner, c.scalar(t, tanh ? kRootTwoByPi : kRootHalf));
  const std::string curve = put(tanh ? "Tanh" : "Erf", {inner}, c.fresh());
  const std::string part = put("Add", {curve, c.scalar(t, 1)}, c.fresh());
  const std::string half = mul(x, c.scalar(t, 0.5));
  put("Mul", {half, part}, c.out(0));
}

// Wires maps each name of one graph to the node that makes it and to its number of readers, those
// in subgraphs included.
class Wires {
 public:
  explicit Wires(const GraphProto& g) : g_(g) {
    for (int i = 0; i < g.node_size(); ++i) {
      for (const std::string& name : g.node(i).output()) maker_[name] = i;
    }
    for (const TensorProto& t : g.initializer()) constant_[t.name()] = &t;
    count(g);
  }
  // Returns the node that makes `name` if it is a part of `form`: the name is made up and has
  // exactly `readers` readers. Appends the node's index to `parts`.
  const NodeProto* part(const std::string& name, const char* op, const char* form,
                        std::vector<int>* parts, int readers = 1) const {
    const auto made = maker_.find(name), read = readers_.find(name);
    if (made == maker_.end() || read == readers_.end() || read->second != readers ||
        !is_made_up(name))
      return nullptr;
    const NodeProto& n = g_.node(made->second);
    if (!is_part(n, op, form)) return nullptr;
    parts->push_back(made->second);
    return &n;
  }
  static bool is_part(const NodeProto& n, const char* op, const char* form) {
    return n.op_type() == op && n.domain().empty() && n.output_size() == 1 &&
           n.attribute_size() == 0 && n.input_size() == (op[0] == 'M' || op[0] == 'A' ? 2 : 1) &&
           form_of(n) == form;
  }
  // Returns whether `name` is a scalar of about this value: a 16-bit constant is rounded.
  bool number(const std::string& name, double value) const {
    const auto found = constant_.find(name);
    if (found == constant_.end() || found->second->dims_size() != 0 ||
        found->second->data_location() == TensorProto::EXTERNAL)
      return false;
    const HostTensor t = decode(*found->second, "");
    return is_float(t.dtype()) && std::abs(element_as_double(t, 0) - value) <= value / 128;
  }

 private:
  void count(const GraphProto& g) {
    for (const auto& out : g.output()) ++readers_[out.name()];
    for (const NodeProto& n : g.node()) {
      for (const std::string& name : n.input()) ++readers_[name];
      for (const AttributeProto& a : n.attribute()) {
        if (a.has_g()) count(a.g());
      }
    }
  }
  const GraphProto& g_;
  std::map<std::string, int> maker_, readers_;
  std::map<std::string, const TensorProto*> constant_;
};

// Gathered describes a matched form by its last node: its operator, its input x and the other
// parts.
struct Gathered {
  const char* op = nullptr;
  bool tanh = false;
  std::string x;
  std::vector<int> parts;
};

bool is_silu(const Wires& w, const NodeProto& last, Gathered* found) {
  if (!Wires::is_part(last, "Mul", kSilu)) return false;
  const NodeProto* gate = w.part(last.input(1), "Sigmoid", kSilu, &found->parts);
  found->op = "Swish", found->x = last.input(0);
  return gate != nullptr && gate->input(0) == found->x;
}

bool is_gelu(const Wires& w, const NodeProto& last, Gathered* found) {
  if (!Wires::is_part(last, "Mul", kGelu)) return false;
  const auto part = [&](const std::string& name, const char* op) {
    return w.part(name, op, kGelu, &found->parts);
  };
  const NodeProto* half = part(last.input(0), "Mul");
  const NodeProto* sum = half == nullptr ? nullptr : part(last.input(1), "Add");
  if (sum == nullptr || !w.number(half->input(1), 0.5) || !w.number(sum->input(1), 1)) return false;
  const std::string x = half->input(0);
  found->op = "Gelu", found->x = x;
  const NodeProto* curve = part(sum->input(0), "Erf");
  found->tanh = curve == nullptr;
  if (found->tanh) curve = part(sum->input(0), "Tanh");
  const NodeProto* inner = curve == nullptr ? nullptr : part(curve->input(0), "Mul");
  if (inner == nullptr || !w.number(inner->input(1), found->tanh ? kRootTwoByPi : kRootHalf))
    return false;
  if (!found->tanh) return inner->input(0) == x;
  const NodeProto* series = part(inner->input(0), "Add");
  const NodeProto* cubic = series == nullptr ? nullptr : part(series->input(1), "Mul");
  const NodeProto* cube = cubic == nullptr ? nullptr : part(cubic->input(0), "Mul");
  const NodeProto* square = cube == nullptr ? nullptr : part(cube->input(0), "Mul");
  return square != nullptr && series->input(0) == x && cube->input(1) == x &&
         square->input(0) == x && square->input(1) == x && w.number(cubic->input(1), kCubic);
}

}  // namespace

void gather_parts(GraphProto* graph) {
  std::set<int> gone;
  std::map<int, Gathered> whole;
  bool any = false;
  for (NodeProto& n : *graph->mutable_node()) {
    const std::string form = form_of(n);
    any = any || form == kSilu || form == kGelu;
    for (AttributeProto& a : *n.mutable_attribute()) {
      if (a.has_g()) gather_parts(a.mutable_g());
    }
  }
  if (!any) return;
  const Wires wires(*graph);
  for (int i = 0; i < graph->node_size(); ++i) {
    for (auto* is_one : {is_silu, is_gelu}) {
      Gathered found;
      if (!is_one(wires, graph->node(i), &found)) continue;
      gone.insert(found.parts.begin(), found.parts.end());
      whole[i] = std::move(found);
    }
  }
  for (const auto& [i, found] : whole) {
    NodeProto& n = *graph->mutable_node(i);
    n.set_op_type(found.op);
    n.clear_input();
    n.add_input(found.x);
    if (found.tanh) set_string(n, "approximate", "tanh");
  }
  int kept = 0;
  for (int i = 0; i < graph->node_size(); ++i) {
    if (gone.count(i) == 0) graph->mutable_node()->SwapElements(kept++, i);
  }
  graph->mutable_node()->DeleteSubrange(kept, graph->node_size() - kept);
}

WICK_READ(Gelu, read_gelu);
WICK_READ(Swish, read_swish);

WICK_ONNX_ROW(Silu, write_silu);
WICK_ONNX_ROW(Gelu, write_gelu);

}  // namespace wick::onnx
