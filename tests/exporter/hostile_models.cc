// Models to attack where the archive of node tests is not installed.
#include <cstring>

#include "exporter/onnx/read/read.h"
#include "exporter/onnx/read/signature.h"
#include "tests/exporter/mutate_onnx.h"

namespace wick::test {

using namespace onnx;  // NOLINT: the messages

namespace {

void declare(GraphProto& g, HostileCase& c, const std::string& name, const HostTensor& t) {
  ValueInfoProto* v = g.add_input();
  v->set_name(name);
  auto* type = v->mutable_type()->mutable_tensor_type();
  type->set_elem_type(static_cast<int>(t.dtype()));
  type->mutable_shape();
  for (int64_t d : t.shape()) type->mutable_shape()->add_dim()->set_dim_value(d);
  c.inputs[name] = t;
}
NodeProto* add(GraphProto& g, const char* op, const std::vector<std::string>& in,
               const std::vector<std::string>& out) {
  NodeProto* n = g.add_node();
  n->set_op_type(op);
  n->set_name(std::string("n_") + op + std::to_string(g.node_size()));
  for (const auto& s : in) n->add_input(s);
  for (const auto& s : out) n->add_output(s);
  return n;
}
GraphProto* subgraph(NodeProto* n, const char* name) {
  auto* a = n->add_attribute();
  a->set_name(name), a->set_type(AttributeProto::GRAPH);
  return a->mutable_g();
}
void integer(NodeProto* n, const char* name, int64_t v) {
  auto* a = n->add_attribute();
  a->set_name(name), a->set_type(AttributeProto::INT), a->set_i(v);
}

HostTensor ramp(DType dtype, const Shape& shape) {
  HostTensor t(dtype, shape);
  for (int64_t i = 0; i < t.numel(); ++i) {
    switch (dtype) {
      case DType::kF32: t.as<float>()[i] = static_cast<float>((i * 37) % 23) / 11.0f - 1; break;
      case DType::kF64: t.as<double>()[i] = static_cast<double>((i * 37) % 23) / 11.0 - 1; break;
      case DType::kI64: t.as<int64_t>()[i] = i % 3; break;
      case DType::kI32: t.as<int32_t>()[i] = static_cast<int32_t>(i % 3); break;
      case DType::kBool:
      case DType::kU8:
      case DType::kI8: t.as<uint8_t>()[i] = static_cast<uint8_t>(i % 2); break;
      default: break;
    }
  }
  return t;
}

}  // namespace

const std::vector<std::string>& op_types() {
  static const std::vector<std::string> kAll = [] {
    std::vector<std::string> all;
    for (const OperatorVersion& v : operator_versions()) {
      if (v.read != nullptr && (all.empty() || all.back() != v.name)) all.emplace_back(v.name);
    }
    return all;
  }();
  return kAll;
}

HostileCase control_case(Dice& dice) {
  HostileCase c;
  c.source = "control flow";
  c.model.set_ir_version(10);
  c.model.add_opset_import()->set_version(13 + dice.below(10));
  auto* local = c.model.add_opset_import();
  local->set_domain("local"), local->set_version(1);
  GraphProto& g = *c.model.mutable_graph();
  declare(g, c, "x", ramp(DType::kF32, {2, 3, 4, 4}));
  declare(g, c, "flag", ramp(DType::kBool, {}));
  declare(g, c, "count", ramp(DType::kI64, {}));
  declare(g, c, "rows", ramp(DType::kF32, {3, 4}));

  FunctionProto* f = c.model.add_functions();
  f->set_name("Twice"), f->set_domain("local");
  f->add_opset_import()->set_version(17);
  f->add_input("a"), f->add_output("b");
  for (const char* io : {"a t", "t b"}) {
    NodeProto* n = f->add_node();
    n->set_op_type("Add");
    n->add_input(std::string(io, 1)), n->add_input("a"), n->add_output(io + 2);
  }
  add(g, "Twice", {"x"}, {"tw"})->set_domain("local");
  add(g, "Shape", {"tw"}, {"shape"});
  NodeProto* pick = add(g, "If", {"flag"}, {"picked"});
  for (const char* name : {"then_branch", "else_branch"}) {
    GraphProto& b = *subgraph(pick, name);
    add(b, name[0] == 't' ? "Relu" : "Neg", {"tw"}, {"p"});
    b.add_output()->set_name("p");
  }
  add(g, "Reshape", {"picked", "shape"}, {"back"});
  NodeProto* loop = add(g, "Loop", {"count", "flag", "rows"}, {"last", "stack"});
  GraphProto& body = *subgraph(loop, "body");
  for (const char* name : {"i", "go", "held"}) body.add_input()->set_name(name);
  add(body, "Identity", {"go"}, {"go_out"});
  integer(add(body, "Concat", {"held", "rows"}, {"more"}), "axis", 0);
  NodeProto* inner = add(body, "If", {"go"}, {"made"});
  for (const char* name : {"then_branch", "else_branch"}) {
    GraphProto& b = *subgraph(inner, name);
    add(b, "ReduceSum", {name[0] == 't' ? "held" : "rows"}, {"s"});
    b.add_output()->set_name("s");
  }
  for (const char* name : {"go_out", "more", "made"}) body.add_output()->set_name(name);
  NodeProto* scan = add(g, "Scan", {"made_0", "rows"}, {"sum", "sums"});
  scan->set_input(0, "start");
  *g.add_initializer() = TensorProto();
  TensorProto& start = *g.mutable_initializer(0);
  start.set_name("start"), start.set_data_type(1), start.add_dims(4);
  for (int i = 0; i < 4; ++i) start.add_float_data(1);
  integer(scan, "num_scan_inputs", 1);
  GraphProto& step = *subgraph(scan, "body");
  step.add_input()->set_name("acc"), step.add_input()->set_name("row");
  add(step, "Add", {"acc", "row"}, {"next"});
  add(step, "Mul", {"next", "row"}, {"out"});
  step.add_output()->set_name("next"), step.add_output()->set_name("out");
  for (const char* name : {"back", "last", "stack", "sum", "sums"}) g.add_output()->set_name(name);
  return c;
}

HostileCase node_case(Dice& dice) {
  HostileCase c;
  c.model.set_ir_version(10);
  c.model.add_opset_import()->set_version(dice.one_in(3) ? 1 + dice.below(28) : 21);
  GraphProto& g = *c.model.mutable_graph();
  static const Shape kShapes[] = {{2, 3, 4, 4},
                                  {1, 4, 5, 5},
                                  {4, 4},
                                  {3},
                                  {4},
                                  {2},
                                  {1},
                                  {},
                                  {0, 3},
                                  {2, 3, 4},
                                  {1, 1, 2, 1, 2, 1, 1, 2}};
  static constexpr DType kTypes[] = {DType::kF32,      DType::kF32, DType::kF32,  DType::kI64,
                                     DType::kI64,      DType::kI32, DType::kBool, DType::kU8,
                                     DType::kI8,       DType::kF64, DType::kF16,  DType::kI4,
                                     DType::kF8E4M3FN, DType::kU64};
  const std::string op = dice.of(op_types());
  c.source = "node " + op;
  NodeProto* n = add(g, op.c_str(), {}, {});
  int inputs = 1 + dice.below(4) + dice.below(2) * dice.below(4);
  const OperatorVersion* v = find_version(op, c.model.opset_import(0).version());
  if (!dice.one_in(4) && std::strpbrk(v->inputs.letters, "vV") == nullptr) {
    const auto least = static_cast<int>(std::strcspn(v->inputs.letters, "o"));
    inputs = least + dice.below(static_cast<int>(std::strlen(v->inputs.letters)) - least + 1);
  }
  Shape shape = dice.of(kShapes);
  DType type = dice.of(kTypes);
  for (int i = 0; i < inputs; ++i) {
    std::string name = "in" + std::to_string(i);
    if (i > 0 && dice.one_in(8)) {
      n->add_input("");
      continue;
    }
    n->add_input(name);
    declare(g, c, name, ramp(type, shape));
    if (!dice.one_in(3)) shape = dice.of(kShapes);
    if (!dice.one_in(3)) type = i == 0 && dice.one_in(2) ? DType::kI64 : dice.of(kTypes);
  }
  for (int i = 0, count = 1 + dice.below(2) * dice.below(3); i < count; ++i) {
    n->add_output("out" + std::to_string(i));
    g.add_output()->set_name("out" + std::to_string(i));
  }
  return c;
}

}  // namespace wick::test
