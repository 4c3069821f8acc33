#include "tests/bombs/bomb.h"

namespace wick::bombs {

using namespace onnx;  // NOLINT: the messages

Model::Model() {
  model.set_ir_version(10);
  for (const char* domain : {"", "local", "com.microsoft"}) {
    auto* opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(*domain == 0 ? 23 : 1);
  }
}

Model& Model::input(const std::string& name, int type, const Names& dims) {
  ValueInfoProto* v = graph().add_input();
  v->set_name(name);
  auto* t = v->mutable_type()->mutable_tensor_type();
  t->set_elem_type(type);
  t->mutable_shape();
  for (const std::string& d : dims) {
    auto* dim = t->mutable_shape()->add_dim();
    if (d[0] >= '0' && d[0] <= '9') {
      dim->set_dim_value(std::stoll(d));
    } else {
      dim->set_dim_param(d);
    }
  }
  return *this;
}

Model& Model::output(const std::string& name) {
  graph().add_output()->set_name(name);
  return *this;
}

namespace {

TensorProto* tensor(GraphProto& g, const std::string& name, const Model::Ints& dims, int type) {
  TensorProto* t = g.add_initializer();
  t->set_name(name);
  t->set_data_type(type);
  for (int64_t d : dims) t->add_dims(d);
  return t;
}

}  // namespace

Model& Model::floats(const std::string& name, const Ints& dims, const std::vector<float>& values) {
  TensorProto* t = tensor(graph(), name, dims, 1);
  for (float v : values) t->add_float_data(v);
  return *this;
}
Model& Model::ints(const std::string& name, const Ints& dims, const Ints& values) {
  TensorProto* t = tensor(graph(), name, dims, 7);
  for (int64_t v : values) t->add_int64_data(v);
  return *this;
}
Model& Model::strings(const std::string& name, const Names& values) {
  TensorProto* t = tensor(graph(), name, {static_cast<int64_t>(values.size())}, 8);
  for (const std::string& v : values) t->add_string_data(v);
  return *this;
}

Model& Model::filled(const std::string& name, const Ints& dims, int type) {
  ints(name + ".dims", {static_cast<int64_t>(dims.size())}, dims);
  TensorProto* one = tensor(graph(), name + ".one", {}, type);
  if (type == 1) {
    one->add_float_data(1);
  } else if (type == 7) {
    one->add_int64_data(1);
  } else {
    one->add_int32_data(1);
  }
  return node("Expand", {name + ".one", name + ".dims"}, {name});
}

Model& Model::node(const std::string& op, const Names& in, const Names& out,
                   const std::string& domain) {
  NodeProto* n = graph().add_node();
  n->set_op_type(op);
  n->set_domain(domain);
  for (const auto& s : in) n->add_input(s);
  for (const auto& s : out) n->add_output(s);
  return *this;
}

AttributeProto* Model::last_attr(const std::string& name) {
  AttributeProto* a = graph().mutable_node(graph().node_size() - 1)->add_attribute();
  a->set_name(name);
  return a;
}
Model& Model::attr(const std::string& name, int64_t value) {
  AttributeProto* a = last_attr(name);
  a->set_type(AttributeProto::INT), a->set_i(value);
  return *this;
}
Model& Model::attr(const std::string& name, double value) {
  AttributeProto* a = last_attr(name);
  a->set_type(AttributeProto::FLOAT), a->set_f(static_cast<float>(value));
  return *this;
}
Model& Model::attr(const std::string& name, const char* value) {
  AttributeProto* a = last_attr(name);
  a->set_type(AttributeProto::STRING), a->set_s(value);
  return *this;
}
Model& Model::attr(const std::string& name, const std::vector<float>& values) {
  AttributeProto* a = last_attr(name);
  a->set_type(AttributeProto::FLOATS);
  for (float v : values) a->add_floats(v);
  return *this;
}
Model& Model::words_attr(const std::string& name, const Names& values) {
  AttributeProto* a = last_attr(name);
  a->set_type(AttributeProto::STRINGS);
  for (const std::string& v : values) a->add_strings(v);
  return *this;
}
Model& Model::with_ml() {
  auto* opset = model.add_opset_import();
  opset->set_domain("ai.onnx.ml");
  opset->set_version(3);
  return *this;
}
Model& Model::attr(const std::string& name, const Ints& values) {
  AttributeProto* a = last_attr(name);
  a->set_type(AttributeProto::INTS);
  for (int64_t v : values) a->add_ints(v);
  return *this;
}
Model& Model::graph_attr(const std::string& name, const GraphProto& value) {
  AttributeProto* a = last_attr(name);
  a->set_type(AttributeProto::GRAPH), *a->mutable_g() = value;
  return *this;
}

std::vector<Bomb> onnx_bombs() {
  std::vector<Bomb> all;
  add_generators(&all);
  add_kernels(&all);
  add_structures(&all);
  return all;
}

}  // namespace wick::bombs
