#include "exporter/onnx/file/tensor.h"
#include "tests/exporter/mutate_onnx.h"

namespace wick::test {

using namespace onnx;  // NOLINT: the messages

namespace {

void set_ints(NodeProto* n, const char* name, std::initializer_list<int64_t> values) {
  auto* a = n->add_attribute();
  a->set_name(name);
  a->set_type(AttributeProto::INTS);
  for (int64_t v : values) a->add_ints(v);
}
void set_int(NodeProto* n, const char* name, int64_t value) {
  auto* a = n->add_attribute();
  a->set_name(name);
  a->set_type(AttributeProto::INT);
  a->set_i(value);
}
GraphProto* set_graph(NodeProto* n, const char* name) {
  auto* a = n->add_attribute();
  a->set_name(name);
  a->set_type(AttributeProto::GRAPH);
  return a->mutable_g();
}
NodeProto* add_node(GraphProto& g, const char* op, const std::vector<std::string>& in,
                    const std::vector<std::string>& out) {
  NodeProto* n = g.add_node();
  n->set_op_type(op);
  n->set_name("bomb_" + std::string(op));
  for (const auto& s : in) n->add_input(s);
  for (const auto& s : out) n->add_output(s);
  return n;
}

std::string fresh(const GraphProto& g, const char* stem) {
  return stem + std::to_string(g.node_size()) + "_" + std::to_string(g.initializer_size()) + "_" +
         std::to_string(g.input_size());
}

// A value of the graph: an initializer, or an input that is fed.
std::string value(HostileCase& c, Dice& dice, const HostTensor& t) {
  GraphProto& g = *c.model.mutable_graph();
  std::string name = fresh(g, "v");
  if (dice.one_in(2)) {
    *g.add_initializer() = encode(t, name);
    return name;
  }
  ValueInfoProto* v = g.add_input();
  v->set_name(name);
  auto* type = v->mutable_type()->mutable_tensor_type();
  type->set_elem_type(static_cast<int>(t.dtype()));
  type->mutable_shape();
  for (int64_t d : t.shape()) type->mutable_shape()->add_dim()->set_dim_value(d);
  c.inputs[name] = t;
  return name;
}
std::string ints(HostileCase& c, Dice& dice, const std::vector<int64_t>& values) {
  return value(c, dice, HostTensor::ints(values));
}
std::string int_scalar(HostileCase& c, Dice& dice, int64_t v) {
  return value(c, dice, HostTensor(DType::kI64, Shape{}, &v, sizeof(v)));
}
std::string bool_scalar(HostileCase& c, Dice& dice, bool v) {
  return value(c, dice, HostTensor(DType::kBool, Shape{}, &v, 1));
}

int64_t huge(Dice& dice) {
  static constexpr int64_t kSizes[] = {
      1 << 13,          1 << 20,          1 << 28,   INT32_MAX, int64_t{1} << 33,
      int64_t{1} << 40, int64_t{1} << 62, INT64_MAX, -1,        INT64_MIN};
  return dice.of(kSizes);
}

// Sends an output of the graph through a node that would make it huge.
bool huge_size(HostileCase& c, Dice& dice) {
  GraphProto& g = *c.model.mutable_graph();
  std::string x = some_value(g, dice), y = fresh(g, "big");
  if (x.empty()) return false;
  int64_t n = huge(dice), m = huge(dice);
  switch (dice.below(18)) {
    case 0: add_node(g, "Expand", {x, ints(c, dice, {n, m, 1, 1, 1})}, {y}); break;
    case 1: add_node(g, "Tile", {x, ints(c, dice, {n, m, 1, 1})}, {y}); break;
    case 2: add_node(g, "ConstantOfShape", {ints(c, dice, {n, m})}, {y}); break;
    case 3:
      add_node(g, "Range",
               {int_scalar(c, dice, dice.one_in(2) ? 0 : wild_int(dice)), int_scalar(c, dice, n),
                int_scalar(c, dice, dice.one_in(2) ? 1 : wild_int(dice))},
               {y});
      break;
    case 4:
      add_node(g, "Resize",
               {x, "", value(c, dice, HostTensor::of<float>(Shape{4}, {1, 1, 1e9f, 1e9f}))}, {y});
      break;
    case 5: add_node(g, "Resize", {x, "", "", ints(c, dice, {1, 1, n, m})}, {y}); break;
    case 6: add_node(g, "Pad", {x, ints(c, dice, {0, n, 0, 0, m, 0, 0, 0})}, {y}); break;
    case 7: add_node(g, "OneHot", {x, int_scalar(c, dice, n), ints(c, dice, {0, 1})}, {y}); break;
    case 8: {
      std::string a = x;
      for (int k = 0; k < 40; ++k) {
        std::string b = y + "_" + std::to_string(k);
        set_int(add_node(g, "Concat", {a, a}, {b}), "axis", 0);
        a = b;
      }
      add_node(g, "Identity", {a}, {y});
      break;
    }
    case 9: add_node(g, "HannWindow", {int_scalar(c, dice, n)}, {y}); break;
    case 10: add_node(g, "DFT", {x, int_scalar(c, dice, n)}, {y}); break;
    case 11: add_node(g, "CenterCropPad", {x, ints(c, dice, {n, m, 1, 1})}, {y}); break;
    case 12: {
      NodeProto* r = add_node(g, "Reshape", {x, ints(c, dice, {n, m, -1})}, {y});
      if (dice.one_in(2)) set_int(r, "allowzero", 1);
      break;
    }
    case 13: add_node(g, "TopK", {x, ints(c, dice, {n})}, {y, y + "_i"}); break;
    case 14: {
      NodeProto* s = add_node(g, "Split", {x}, {y, y + "_b"});
      set_int(s, "num_outputs", n);
      set_int(s, "axis", wild_int(dice));
      break;
    }
    case 15: add_node(g, "AffineGrid", {x, ints(c, dice, {1, 1, n, m})}, {y}); break;
    case 16:
      add_node(g, "Col2Im",
               {x, ints(c, dice, {n, m}), ints(c, dice, {1 + dice.below(3), wild_int(dice)})}, {y});
      break;
    default: {
      NodeProto* t = add_node(g, "ConvTranspose", {x, x}, {y});
      set_ints(t, "strides", {n, 1});
      if (dice.one_in(2)) set_ints(t, "output_shape", {m, n});
    }
  }
  if (dice.one_in(2))
    g.add_output()->set_name(y);
  else if (g.output_size() > 0 && dice.one_in(2))
    g.mutable_output(0)->set_name(y);
  return true;
}

// A loop around what the graph has, of any number of trips.
bool loop_around(HostileCase& c, Dice& dice) {
  GraphProto& g = *c.model.mutable_graph();
  std::string x = some_value(g, dice), y = fresh(g, "looped");
  if (x.empty()) return false;
  static constexpr int64_t kTrips[] = {0, 1, 2, 3, 100, -1, INT64_MAX, INT64_MIN, 1 << 20};
  std::string trips = int_scalar(c, dice, dice.of(kTrips)), go = bool_scalar(c, dice, true);
  bool carries = dice.one_in(2);
  std::vector<std::string> in = {trips, go};
  if (dice.one_in(6)) in[0].clear();
  if (carries) in.push_back(x);
  NodeProto* loop = add_node(g, "Loop", in, {y});
  GraphProto& body = *set_graph(loop, "body");
  body.add_input()->set_name("i"), body.add_input()->set_name("go_in");
  if (carries) body.add_input()->set_name("held");
  const std::string held = carries ? "held" : x;
  add_node(body, "Identity", {dice.one_in(5) ? held : "go_in"}, {"go_out"});
  switch (dice.below(5)) {
    case 0: set_int(add_node(body, "Concat", {held, held}, {"out"}), "axis", 0); break;
    case 1: add_node(body, "Add", {held, held}, {"out"}); break;
    case 2: add_node(body, "Unsqueeze", {held, ints(c, dice, {0})}, {"out"}); break;
    case 3: add_node(body, dice.of(op_types()).c_str(), {held}, {"out"}); break;
    default: add_node(body, "Add", {"later_" + y, held}, {"out"});
  }
  body.add_output()->set_name("go_out"), body.add_output()->set_name("out");
  if (dice.one_in(8)) body.clear_output();
  g.add_output()->set_name(y);
  return true;
}

// A node goes into branches, one in the other.
bool nest_branches(HostileCase& c, Dice& dice) {
  GraphProto& g = *c.model.mutable_graph();
  if (g.node_size() == 0) return false;
  NodeProto* at = g.mutable_node(dice.below(g.node_size()));
  std::string condition = bool_scalar(c, dice, dice.one_in(2));
  static constexpr int kLevels[] = {1, 1, 2, 3, 8, 31, 33, 90};
  int levels = dice.of(kLevels);
  for (int k = 0; k < levels; ++k) {
    const NodeProto inner = *at;
    NodeProto outer;
    outer.set_op_type("If");
    outer.set_name("if" + std::to_string(k));
    outer.add_input(condition);
    for (const std::string& o : inner.output()) outer.add_output(o);
    for (const char* name : {"then_branch", "else_branch"}) {
      GraphProto* branch = set_graph(&outer, name);
      for (const std::string& o : inner.output()) branch->add_output()->set_name(o);
      if (levels <= 8 || k == 0 || name[0] == 't') {
        *branch->add_node() = inner;
        continue;
      }
      for (const std::string& o : inner.output()) add_node(*branch, "Identity", {condition}, {o});
    }
    *at = outer;
  }
  return true;
}

// A node becomes a call; the function may call itself, or double at every level.
bool into_function(HostileCase& c, Dice& dice) {
  GraphProto& g = *c.model.mutable_graph();
  if (g.node_size() == 0) return false;
  NodeProto* at = g.mutable_node(dice.below(g.node_size()));
  std::string name = "F" + std::to_string(c.model.functions_size());
  FunctionProto* f = c.model.add_functions();
  f->set_name(name), f->set_domain("local");
  for (const auto& o : c.model.opset_import()) *f->add_opset_import() = o;
  if (dice.one_in(6)) f->clear_opset_import(), f->add_opset_import()->set_version(wild_int(dice));
  for (const std::string& s : at->input()) {
    if (!s.empty()) f->add_input(s);
  }
  for (const std::string& s : at->output()) f->add_output(s);
  *f->add_node() = *at;
  NodeProto call;
  call.set_op_type(name), call.set_domain("local"), call.set_name("call");
  for (const std::string& s : f->input()) call.add_input(s);
  for (const std::string& s : f->output()) call.add_output(s);
  switch (dice.below(6)) {
    case 0: *f->add_node() = call; break;  // calls itself
    case 1: f->add_output("nobody"), call.add_output("nobody"); break;
    case 2: f->mutable_input()->Clear(); break;
    case 3: {  // doubles
      for (int k = 0, levels = dice.one_in(3) ? 36 : 6; k < levels; ++k) {
        std::string outer = name + "_" + std::to_string(k);
        FunctionProto* twice = c.model.add_functions();
        *twice = c.model.functions(c.model.functions_size() - 2);
        twice->set_name(outer);
        twice->clear_node();
        *twice->add_node() = call;
        *twice->add_node() = call;
        for (std::string& o : *twice->mutable_node(0)->mutable_output()) o += "_first";
        call.set_op_type(outer);
      }
      break;
    }
    default: break;
  }
  *at = call;
  if (dice.one_in(4)) {
    auto* a = at->add_attribute();
    a->set_name("x"), a->set_type(AttributeProto::GRAPH);
    *a->mutable_g()->add_node() = call;
  }
  return true;
}

// Branches change places, are emptied, or hold the graph around them.
bool change_subgraph(HostileCase& c, Dice& dice) {
  for (int tries = 0; tries < 8; ++tries) {
    std::vector<NodeProto*> nodes = nodes_of(c.model);
    if (nodes.empty()) return false;
    NodeProto* n = dice.of(nodes);
    for (AttributeProto& a : *n->mutable_attribute()) {
      if (!a.has_g()) continue;
      GraphProto& g = *a.mutable_g();
      switch (dice.below(6)) {
        case 0: g.Clear(); break;
        case 1: g.clear_output(); break;
        case 2: g.clear_input(); break;
        case 3: {
          GraphProto copy = *c.model.mutable_graph();
          g = copy;
          break;
        }
        case 4: g.add_input()->set_name("extra"); break;
        default: g.add_output()->set_name(some_value(g, dice));
      }
      return true;
    }
  }
  return false;
}

constexpr Mutation kMutations[] = {
    {"huge size", huge_size},      {"huge size", huge_size},    {"loop", loop_around},
    {"branches", nest_branches},   {"function", into_function}, {"subgraph", change_subgraph},
    {"subgraph", change_subgraph},
};

}  // namespace

Span<const Mutation> bomb_mutations() { return kMutations; }

}  // namespace wick::test
