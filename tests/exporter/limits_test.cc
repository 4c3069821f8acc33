// Findings of attacks: names that are none, dimensions that only look the same, sizes and values
// that reached a kernel and stopped the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/onnx/read/read.h"
#include "runtime/exec/session.h"
#include "tests/exporter/node_model.h"
#include "tests/support/error_of.h"
#include "wick/compile.h"

namespace wick {
namespace {

using test::error_of;
using test::floats;
using test::NodeModel;
using test::whole;
using testing::HasSubstr;

constexpr int64_t kFar = int64_t{1} << 40;

// Runs with known sizes: symbols end at 2^31.
std::vector<HostTensor> run_known(const NodeModel& model, int outputs = 1) {
  return ir::run(import_onnx_bytes(model.bytes(false, outputs)), model.inputs());
}

std::vector<uint8_t> bytes_of(const onnx::ModelProto& model) {
  std::string s = model.SerializeAsString();
  return {s.begin(), s.end()};
}

// y = x + w, with dims of these names.
onnx::ModelProto sum_of(const std::string& x, const std::string& w) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* g = model.mutable_graph();
  for (auto [name, dim] : {std::pair{"x", x}, {"w", w}}) {
    auto* v = g->add_input();
    v->set_name(name);
    auto* type = v->mutable_type()->mutable_tensor_type();
    type->set_elem_type(1);
    auto* d = type->mutable_shape()->add_dim();
    if (!dim.empty()) d->set_dim_param(dim);
  }
  g->add_output()->set_name("y");
  auto* n = g->add_node();
  n->set_op_type("Add"), n->set_name("sum");
  n->add_input("x"), n->add_input("w"), n->add_output("y");
  return model;
}

TEST(Limits, NamesThatAreNoNames) {
  auto error = [](const std::function<void(onnx::GraphProto&)>& change) {
    onnx::ModelProto model = sum_of("a", "a");
    change(*model.mutable_graph());
    return error_of([&] { import_onnx_bytes(bytes_of(model)); });
  };
  EXPECT_EQ(error([](auto&) {}), "no error");
  const std::string longest(4096, 'n'), longer(4097, 'n');
  EXPECT_EQ(error([&](auto& g) { g.mutable_node(0)->set_name(longest); }), "no error");
  // whose name it is: the node's, the initializer's in an attribute
  EXPECT_THAT(error([&](auto& g) { g.mutable_node(0)->set_input(0, longer); }),
              HasSubstr("the name of an input of Add 'sum' that begins with 'nnnn"));
  EXPECT_THAT(error([&](auto& g) {
                auto* a = g.mutable_node(0)->add_attribute();
                a->set_name("value"), a->mutable_t()->set_name(longer);
              }),
              HasSubstr("the name of a tensor of attribute 'value' of Add 'sum' that begins"));
  EXPECT_THAT(
      error([&](auto& g) { g.mutable_node(0)->add_attribute()->set_ref_attr_name(longer); }),
      HasSubstr("a function's attribute of Add 'sum'"));
  EXPECT_THAT(
      error([&](auto& g) { g.add_sparse_initializer()->mutable_values()->set_name(longer); }),
      HasSubstr("a sparse tensor"));
  EXPECT_THAT(error([&](auto& g) { g.mutable_node(0)->set_name(longer); }),
              HasSubstr("the name of a node that begins with 'nnnnnnnn"));
  EXPECT_THAT(error([](auto& g) {
                g.mutable_node(0)->set_output(0, std::string("y\0z", 3));
                g.mutable_output(0)->set_name(std::string("y\0z", 3));
              }),
              HasSubstr("an output that begins with 'yz' has a zero byte"));
  EXPECT_THAT(error([](auto& g) {
                g.mutable_input(0)->clear_name();
                g.mutable_node(0)->set_input(0, "w");
              }),
              HasSubstr("an input has no name"));
  EXPECT_THAT(error([](auto& g) { g.add_output()->set_name("y"); }),
              HasSubstr("output 'y' is listed twice"));
}

// A size without a name is its own, whatever the others are called; "?" names nothing.
TEST(Limits, DimensionsThatOnlyLookTheSame) {
  for (auto [x, w] : {std::pair{"", "d0"}, {"?", "?"}, {"?0", "?0"}}) {
    ir::Graph graph = import_onnx_bytes(bytes_of(sum_of(x, w)));
    HostTensor in[2] = {floats(Shape{1}, 1), floats(Shape{3}, 2)};
    EXPECT_EQ(ir::run(graph, in)[0].shape(), (Shape{3})) << x << " " << w;
  }
  // what a file calls "max(a,b)" is not the larger of a and b
  SymDim a = SymDim::symbol("a", 0, 9), b = SymDim::symbol("b", 0, 9);
  EXPECT_TRUE(dim_max(a, b) == dim_max(b, a));
  EXPECT_FALSE(dim_max(a, b) == SymDim::symbol("max(a,b)", 0, 9));
}

// Strides whose product is 2^66.
TEST(Limits, TransposedConvolutionOfFarStrides) {
  std::vector<HostTensor> y = NodeModel("ConvTranspose", 21)
                                  .in(floats(Shape{1, 1, 1, 1, 1}, 1))
                                  .in(floats(Shape{1, 1, 1, 1, 2}, 2))
                                  .set("strides", std::vector<int64_t>(3, 1 << 22))
                                  .run();
  EXPECT_EQ(y[0].shape(), (Shape{1, 1, 1, 1, 2}));
}

TEST(Limits, PoolingOfNothingButPadding) {
  for (bool rows : {true, false}) {  // that there are none of
    std::vector<HostTensor> y =
        NodeModel("MaxPool", 21)
            .in(floats(rows ? Shape{1, 1, 0, 2} : Shape{1, 1, 2, 0}, 1))
            .set("kernel_shape", rows ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3})
            .set("pads", rows ? std::vector<int64_t>{2, 0, 2, 0} : std::vector<int64_t>{0, 2, 0, 2})
            .set("storage_order", int64_t{1})
            .run(2);
    ASSERT_EQ(y[0].shape(), rows ? (Shape{1, 1, 2, 1}) : (Shape{1, 1, 1, 2}));
    EXPECT_EQ(*y[0].as<float>(), -INFINITY);
    EXPECT_EQ(*y[1].as<int64_t>(), 0);
  }
}

// Empty tensors with 2^40 beside the 0: no loop may count to that.
TEST(Limits, EmptyTensorsOfLargeDims) {
  auto gathered = [](const char* op, Shape x, HostTensor indices) {
    NodeModel model(op, 21);
    model.in(HostTensor(DType::kF32, x)).in(std::move(indices));
    return run_known(model)[0].shape();
  };
  EXPECT_EQ(gathered("Gather", Shape{kFar, 3, 0}, whole({1}, {1})), (Shape{1, 3, 0}));
  EXPECT_EQ(gathered("GatherND", Shape{2, 0}, HostTensor(DType::kI64, Shape{kFar, 0})),
            (Shape{kFar, 2, 0}));
  NodeModel scatter("ScatterND", 21);
  scatter.in(floats(Shape{2}, 1))
      .in(HostTensor(DType::kI64, Shape{kFar, 0, 1}))
      .in(HostTensor(DType::kF32, Shape{kFar, 0}));
  EXPECT_EQ(run_known(scatter)[0].shape(), (Shape{2}));
  for (const char* op : {"Softmax", "CumSum", "TopK", "LayerNormalization", "Unique"}) {
    // a few need room for an axis of 2^40 and say so
    NodeModel model(op, 21);
    model.in(HostTensor(DType::kF32, Shape{kFar, 0}));
    if (std::string(op) == "CumSum") model.in(whole({}, {0}));
    if (std::string(op) == "TopK") model.in(whole({1}, {1})).set("axis", int64_t{0});
    if (std::string(op) == "LayerNormalization") model.in(HostTensor(DType::kF32, Shape{0}));
    error_of([&] { run_known(model, std::string(op) == "TopK" ? 2 : 1); });
  }
  for (const Shape& x : {Shape{int64_t{1} << 55, 2, 0}, Shape{int64_t{1} << 55, 0, 2}}) {
    NodeModel unique("Unique", 21);
    unique.in(HostTensor(DType::kF32, x)).set("axis", int64_t{1});
    // slices of nothing are equal
    EXPECT_EQ(run_known(unique, 4)[0].shape(), (Shape{x[0], x[1] == 0 ? 0 : 1, x[2]}));
  }
  NodeModel nms("NonMaxSuppression", 21);
  nms.in(HostTensor(DType::kF32, Shape{kFar, 0, 4}))
      .in(HostTensor(DType::kF32, Shape{kFar, 1, 0}))
      .in(whole({1}, {5}));
  EXPECT_EQ(run_known(nms)[0].shape(), (Shape{0, 3}));
}

// The same in a session, which plans before it runs.
TEST(Limits, EmptyTensorsOfLargeDimsInASession) {
  NodeModel model("Gather", 21);
  model.in(HostTensor(DType::kF32, Shape{kFar, 3, 0})).in(HostTensor(DType::kI64, Shape{2}));
  model.set("axis", int64_t{1});
  std::vector<uint8_t> bytes = compile_program(import_onnx_bytes(model.bytes(false, 1)));
  auto program = Program::load(Span<const uint8_t>(bytes));
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto session = Session::create(**program);
  ASSERT_TRUE(session.ok()) << session.status().message();
  int64_t none[2] = {}, room = 0;
  TensorView in[2] = {TensorView(&room, DType::kF32, Shape{kFar, 3, 0}),
                      TensorView(none, DType::kI64, Shape{2})};
  TensorView out[1];
  Status s = (*session)->run(in, out);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(out[0].shape, (Shape{kFar, 2, 0}));
}

// A loop of 2^63 trips has no size to state: it says so when it runs.
TEST(Limits, StacksOfAnyNumberOfTrips) {
  onnx::ModelProto model = sum_of("a", "a");
  auto* g = model.mutable_graph();
  const int64_t trips = INT64_MAX;
  g->add_initializer()->set_name("n");
  g->mutable_initializer(0)->set_data_type(7);
  g->mutable_initializer(0)->add_int64_data(trips);
  g->add_initializer()->set_name("go");
  g->mutable_initializer(1)->set_data_type(9);
  g->mutable_initializer(1)->add_int32_data(1);
  auto* loop = g->add_node();
  loop->set_op_type("Loop");
  loop->add_input("n"), loop->add_input("go"), loop->add_output("all");
  auto* a = loop->add_attribute();
  a->set_name("body"), a->set_type(onnx::AttributeProto::GRAPH);
  a->mutable_g()->add_input()->set_name("i");
  a->mutable_g()->add_input()->set_name("c");
  a->mutable_g()->add_output()->set_name("c");
  a->mutable_g()->add_output()->set_name("x");
  g->add_output()->set_name("all");
  std::vector<uint8_t> bytes = compile_program(import_onnx_bytes(bytes_of(model)));
  auto program = Program::load(Span<const uint8_t>(bytes));
  EXPECT_TRUE(program.ok()) << program.status().message();
}

// A kernel's scratch memory counts: a sort of 2^40 places needs 24 TB.
TEST(Limits, ScratchIsBounded) {
  NodeModel model("TopK", 21);
  model.in(HostTensor(DType::kF32, Shape{kFar, 0})).in(whole({1}, {1})).set("axis", int64_t{0});
  EXPECT_THAT(error_of([&] { run_known(model, 2); }), HasSubstr("bytes to work in"));
}

// Values that reading computes, however many nodes ask for them: each one here is little enough.
TEST(Limits, WhatReadingComputesIsBounded) {
  const onnx::ModelProto model;
  const onnx::Functions functions(model);
  const std::string folder;
  Ledger ledger({.work = 1e8});
  onnx::ModelCtx all{functions, folder, ledger, 18};
  ir::Graph g;
  onnx::Scope scope(g, all);
  const onnx::NodeProto node;
  const onnx::ReadCtx c(scope, node, 18);
  const ir::ValueId x = g.add_constant(HostTensor::of<float>(Shape{1, 1, 2, 2}, {1, 2, 3, 4}));
  const ir::ValueId rois = g.add_constant(HostTensor::of<float>(Shape{1, 4}, {0, 0, 1, 1}));
  const ir::ValueId which = g.add_constant(HostTensor::of<int64_t>(Shape{1}, {0}));
  RoiAlignAttrs a;
  a.output_height = 2;
  a.sampling_ratio = 1024;
  int known = 0;
  for (int k = 0; k < 40; ++k)
    known += c.known(g.emit(OpId::kRoiAlign, a, {x, rois, which})).has_value() ? 1 : 0;
  EXPECT_GT(known, 5);
  EXPECT_LT(known, 20);
}

}  // namespace
}  // namespace wick
