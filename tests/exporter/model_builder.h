// Models of a few ONNX nodes, and every way to run them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "wick/compile.h"
#include "wick/runtime.h"
#include "wick_onnx.pb.h"

namespace wick::test {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using Names = std::vector<std::string>;

inline NodeProto node(const std::string& op, const Names& in, const Names& out) {
  NodeProto n;
  n.set_op_type(op);
  for (const auto& name : in) n.add_input(name);
  for (const auto& name : out) n.add_output(name);
  return n;
}
inline AttributeProto& attribute(NodeProto& n, const std::string& name,
                                 AttributeProto::AttributeType type) {
  AttributeProto& a = *n.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}
inline NodeProto with_graph(NodeProto n, const std::string& name, const GraphProto& g) {
  *attribute(n, name, AttributeProto::GRAPH).mutable_g() = g;
  return n;
}
inline NodeProto with_int(NodeProto n, const std::string& name, int64_t v) {
  attribute(n, name, AttributeProto::INT).set_i(v);
  return n;
}
inline NodeProto with_ints(NodeProto n, const std::string& name, const std::vector<int64_t>& list) {
  AttributeProto& a = attribute(n, name, AttributeProto::INTS);
  for (int64_t v : list) a.add_ints(v);
  return n;
}
inline GraphProto body(const std::vector<NodeProto>& nodes, const Names& in, const Names& out) {
  GraphProto g;
  g.set_name("body");
  for (const NodeProto& n : nodes) *g.add_node() = n;
  for (const auto& name : in) g.add_input()->set_name(name);
  for (const auto& name : out) g.add_output()->set_name(name);
  return g;
}

class Build {
 public:
  explicit Build(int64_t opset = 17) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
    graph().set_name("main");
  }
  GraphProto& graph() { return *model.mutable_graph(); }
  Build& input(const std::string& name, DType dtype, const Names& dims) {
    auto& info = *graph().add_input();
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(static_cast<int32_t>(dtype));
    auto& shape = *type.mutable_shape();
    for (const auto& d : dims) {
      if (d[0] >= '0' && d[0] <= '9') {
        shape.add_dim()->set_dim_value(std::stoll(d));
      } else {
        shape.add_dim()->set_dim_param(d);
      }
    }
    return *this;
  }
  Build& input(const std::string& name, const onnx::TypeProto& type) {
    auto& info = *graph().add_input();
    info.set_name(name);
    *info.mutable_type() = type;
    return *this;
  }
  Build& add(const NodeProto& n) {
    *graph().add_node() = n;
    return *this;
  }
  Build& constant(const std::string& name, const HostTensor& t) {
    *graph().add_initializer() = onnx::encode(t, name);
    return *this;
  }
  Build& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  std::vector<uint8_t> bytes() const {
    std::string s = model.SerializeAsString();
    return {s.begin(), s.end()};
  }
  ModelProto model;
};

inline HostTensor number(int64_t v) { return HostTensor(DType::kI64, Shape{}, &v, sizeof(v)); }
inline HostTensor flag(bool v) { return HostTensor(DType::kBool, Shape{}, &v, 1); }
inline HostTensor row(const std::vector<float>& v) {
  return HostTensor::of(Shape{static_cast<int64_t>(v.size())}, v);
}
inline HostTensor matrix(int64_t rows, const std::vector<float>& v) {
  return HostTensor::of(Shape{rows, static_cast<int64_t>(v.size()) / rows}, v);
}

// Interpreter on the graph as read == a session of the optimised program == both after the graph
// was written and read again; a graph that was read has the same text then. Gives what came out.
inline std::vector<HostTensor> run_all(const ir::Graph& g, const std::vector<HostTensor>& in) {
  std::vector<HostTensor> want = ir::run(g, in);
  ir::Graph back = import_onnx_bytes(onnx_bytes(g));
  ir::Graph again = import_onnx_bytes(onnx_bytes(back));
  EXPECT_EQ(ir::print(back, true), ir::print(again, true));
  for (const ir::Graph& graph : {g, back}) {
    std::vector<uint8_t> file = compile_program(graph);
    auto program = Program::load(Span<const uint8_t>(file));
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (!program.ok()) return {};
    SessionOptions options;
    options.threads = 1;
    auto session = Session::create(**program, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    if (!session.ok()) return {};
    std::vector<TensorView> views, out(want.size());
    for (const HostTensor& t : in) views.push_back(t.view());
    for (int k = 0; k < 2; ++k) {
      Status s = (*session)->run(views, out);
      EXPECT_TRUE(s.ok()) << s.message();
      if (!s.ok()) return {};
      for (size_t i = 0; i < out.size(); ++i) {
        HostTensor got(out[i].dtype, out[i].shape, out[i].data, out[i].nbytes());
        EXPECT_TRUE(same_bits(got, want[i])) << "output " << i << " " << to_text(out[i].shape).text;
      }
    }
  }
  return want;
}
inline std::vector<HostTensor> run_all(const Build& b, const std::vector<HostTensor>& in) {
  const ir::Graph g = import_onnx_bytes(b.bytes());
  ir::Graph back = import_onnx_bytes(onnx_bytes(g));
  back.metadata = g.metadata;  // the writer adds its version
  EXPECT_EQ(ir::print(back, true), ir::print(g, true));
  return run_all(g, in);
}

}  // namespace wick::test
