// The attack's steps on one ONNX model: read, optimise, write as a program, load that, run it.
#pragma once

#include <gtest/gtest.h>

#include "runtime/exec/session.h"
#include "tests/program/attack.h"
#include "wick/compile.h"
#include "wick/error.h"
#include "wick_onnx.pb.h"

namespace wick::test {

constexpr uint64_t kAttackMemory = 1 << 22;

// True when the model ran.
inline bool compile_and_run(const std::vector<uint8_t>& file) {
  std::vector<uint8_t> bytes;
  try {
    bytes = compile_program(import_onnx_bytes(file));
  } catch (const Error& e) {
    EXPECT_STRNE(e.what(), "");
    return false;
  }
  auto program = Program::load(Span<const uint8_t>(bytes));
  EXPECT_TRUE(program.ok()) << program.status().message();  // our own output must be readable
  if (!program.ok()) return false;
  SessionOptions options;
  options.threads = 1;
  options.max_ram = kAttackMemory;
  auto session = Session::create(**program, options);
  if (!session.ok()) return false;
  std::vector<TensorView> in((*session)->input_count()), out((*session)->output_count());
  std::vector<std::vector<uint64_t>> data(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    PortInfo port = (*session)->input(i);
    Shape shape;
    for (const DimDef& d : port.dims) shape.push_back(d.symbol < 0 ? d.value : 2);
    auto size = checked_bytes(shape, dtype_bits(port.dtype));
    if (!size.ok() || *size > kAttackMemory) return false;
    data[i].resize(*size / 8 + 1);
    in[i] = TensorView(data[i].data(), port.dtype, shape);
  }
  RunOptions run;
  run.timeout_ns = 5000000000u;
  return (*session)->run(in, out, run).ok();
}

// At most 4 KB: every message and field the reader looks at, typed and raw data, attributes of
// every kind, symbols, metadata, an initializer that is an input too, optional inputs left out.
inline std::vector<uint8_t> every_onnx_feature() {
  using namespace wick::onnx;  // NOLINT: the messages
  ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  auto* opset = model.add_opset_import();
  opset->set_version(17);
  auto* labels = model.add_metadata_props();
  labels->set_key("wick.labels");
  labels->set_value("cat\ndog");
  GraphProto& g = *model.mutable_graph();
  g.set_name("attack");
  auto value = [](ValueInfoProto* v, const char* name, int type, std::initializer_list<int> dims) {
    v->set_name(name);
    v->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    auto* shape = v->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int d : dims) {
      if (d < 0)
        shape->add_dim()->set_dim_param("batch");
      else
        shape->add_dim()->set_dim_value(d);
    }
  };
  value(g.add_input(), "x", 1, {-1, 2, 4, 4});
  value(g.add_input(), "w", 1, {2, 2, 3, 3});
  value(g.add_output(), "y", 1, {-1, 32});
  value(g.add_output(), "arg", 7, {-1, 1});
  auto tensor = [&](const char* name, int type, std::initializer_list<int64_t> dims) {
    TensorProto* t = g.add_initializer();
    t->set_name(name);
    t->set_data_type(type);
    for (int64_t d : dims) t->add_dims(d);
    return t;
  };
  TensorProto* w = tensor("w", 1, {2, 2, 3, 3});
  for (int i = 0; i < 36; ++i) w->add_float_data(0.1f * static_cast<float>(i % 7));
  tensor("bias", 1, {2})->set_raw_data(std::string(8, '\0'));
  for (const char* name : {"gamma", "beta", "mean", "var"}) {
    TensorProto* t = tensor(name, 1, {2});
    t->add_float_data(0.5f);
    t->add_float_data(1.5f);
  }
  TensorProto* shape = tensor("shape", 7, {2});
  shape->add_int64_data(0);
  shape->add_int64_data(-1);
  TensorProto* axes = tensor("axes", 7, {1});
  axes->set_raw_data(std::string("\1\0\0\0\0\0\0\0", 8));
  auto node = [&](const char* op, std::initializer_list<const char*> in,
                  std::initializer_list<const char*> out) {
    NodeProto* n = g.add_node();
    n->set_op_type(op);
    n->set_name(std::string("n_") + op);
    for (const char* i : in) n->add_input(i);
    for (const char* o : out) n->add_output(o);
    return n;
  };
  auto ints = [](NodeProto* n, const char* name, std::initializer_list<int64_t> values) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(AttributeProto::INTS);
    for (int64_t v : values) a->add_ints(v);
  };
  auto integer = [](NodeProto* n, const char* name, int64_t v) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(AttributeProto::INT);
    a->set_i(v);
  };
  NodeProto* conv = node("Conv", {"x", "w", "bias"}, {"c"});
  ints(conv, "pads", {1, 1, 1, 1});
  ints(conv, "strides", {1, 1});
  integer(conv, "group", 1);
  auto* epsilon =
      node("BatchNormalization", {"c", "gamma", "beta", "mean", "var"}, {"b"})->add_attribute();
  epsilon->set_name("epsilon");
  epsilon->set_type(AttributeProto::FLOAT);
  epsilon->set_f(1e-3f);
  NodeProto* pool = node("MaxPool", {"b"}, {"p"});
  ints(pool, "kernel_shape", {3, 3});
  auto* pad = pool->add_attribute();
  pad->set_name("auto_pad");
  pad->set_type(AttributeProto::STRING);
  pad->set_s("SAME_UPPER");
  node("Clip", {"p", "", ""}, {"k"});
  node("Shape", {"k"}, {"s"});
  NodeProto* constant = node("Constant", {}, {"zero"});
  auto* held = constant->add_attribute();
  held->set_name("value");
  held->set_type(AttributeProto::TENSOR);
  held->mutable_t()->set_data_type(7);
  held->mutable_t()->add_dims(1);
  held->mutable_t()->add_int64_data(0);
  node("Gather", {"s", "zero"}, {"n"});
  node("Concat", {"n", "minus"}, {"to"});
  integer(g.mutable_node(g.node_size() - 1), "axis", 0);
  tensor("minus", 7, {1})->add_int64_data(-1);
  node("Reshape", {"k", "to"}, {"r"});
  node("Slice", {"r", "zero", "thirty", "axes"}, {"sl"});
  tensor("thirty", 7, {1})->add_int64_data(32);
  node("Softmax", {"sl"}, {"y"});
  NodeProto* sum = node("ReduceSum", {"r", "axes"}, {"sum"});
  integer(sum, "keepdims", 1);
  integer(node("ArgMax", {"sum"}, {"arg"}), "axis", 1);
  std::string bytes = model.SerializeAsString();
  return {bytes.begin(), bytes.end()};
}

}  // namespace wick::test
