// Findings of attacks: names that are none, dimensions that only look the same, sizes and values
// that reached a kernel and stopped the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "exporter/onnx/cut.h"
#include "exporter/onnx/read/read.h"
#include "runtime/exec/session.h"
#include "tests/exporter/node_model.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
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

// A model of y0 = w0, y1 = w1 ..., float32 tensors of `bytes` bytes in d.bin at these offsets.
onnx::ModelProto beside(const std::vector<uint64_t>& offsets, uint64_t bytes) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* g = model.mutable_graph();
  for (size_t i = 0; i < offsets.size(); ++i) {
    auto* t = g->add_initializer();
    t->set_name("w" + std::to_string(i));
    t->set_data_type(1);
    t->add_dims(static_cast<int64_t>(bytes / 4));
    t->set_data_location(onnx::TensorProto::EXTERNAL);
    const auto set = [&](const char* key, const std::string& value) {
      auto* e = t->add_external_data();
      e->set_key(key), e->set_value(value);
    };
    set("location", i % 2 == 0 ? "d.bin" : "./d.bin");  // two names of one file
    set("offset", std::to_string(offsets[i]));
    set("length", std::to_string(bytes));
    auto* n = g->add_node();
    n->set_op_type("Identity"), n->add_input(t->name()), n->add_output("y" + std::to_string(i));
    g->add_output()->set_name(n->output(0));
  }
  return model;
}

// Tensors that name the same bytes of a file share them, those that overlap pay for it, and those
// that do neither are free: a file may be as large as it is.
TEST(Limits, ExternalDataIsReadOnce) {
  const std::string folder = test::temp_folder() + "once";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/d.bin") << "";
  constexpr uint64_t kBytes = 8 << 20;
  struct Read {
    std::set<const void*> places;
    uint64_t charged = 0;
    std::string error;
    Code code = Code::kOk;
  };
  const auto read = [&](const std::vector<uint64_t>& offsets, uint64_t bytes, bool stay) {
    Read r;
    LedgerLimits spent;
    OnnxReadOptions options;
    options.weights_stay = stay;
    options.spent = &spent;
    try {
      const std::vector<uint8_t> model = bytes_of(beside(offsets, bytes));
      std::ofstream(folder + "/m.onnx", std::ios::binary)
          .write(reinterpret_cast<const char*>(model.data()), static_cast<long>(model.size()));
      const ir::Graph g = import_onnx(folder + "/m.onnx", options);
      for (size_t i = 0; i < g.value_count(); ++i) {
        const auto id = static_cast<ir::ValueId>(i);
        if (g.is_constant(id)) r.places.insert(g.value(id).constant.address());
      }
    } catch (const Error& e) {
      r.error = e.what(), r.code = e.code();
    }
    r.charged = spent.bytes;
    return r;
  };
  std::filesystem::resize_file(folder + "/d.bin", 3 * kBytes);
  for (bool stay : {false, true}) {
    const Read same = read(std::vector<uint64_t>(30, 0), kBytes, stay);
    EXPECT_EQ(same.error, "");
    EXPECT_EQ(same.places.size(), 1U);
    EXPECT_EQ(same.charged, 0U);
    const Read apart = read({0, kBytes, 2 * kBytes, kBytes}, kBytes, stay);
    EXPECT_EQ(apart.error, "");
    EXPECT_EQ(apart.places.size(), 3U);
    EXPECT_EQ(apart.charged, 0U);
    const Read over = read({0, 4, 8, 12, 16}, kBytes, stay);
    EXPECT_THAT(over.error, HasSubstr("tensors overlap in it"));
    EXPECT_EQ(over.code, Code::kBudgetExceeded);
  }
  // 2.3 GB, of which every byte is of one tensor, and one tensor is used twice.
  constexpr uint64_t kLarge = 100 << 20;
  std::filesystem::resize_file(folder + "/d.bin", 23 * kLarge);
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < 23; ++i) all.push_back(i * kLarge);
  all.push_back(kLarge);
  const Read honest = read(all, kLarge, true);
  EXPECT_EQ(honest.error, "");
  EXPECT_EQ(honest.places.size(), 23U);
  EXPECT_EQ(honest.charged, 0U);
}

// y0, y1 ... are nodes of com.microsoft, all with these inputs: (name, dtype, dims).
struct Port {
  const char* name;
  int32_t dtype;
  std::vector<int64_t> dims;
};
onnx::ModelProto nodes_of(const std::string& op, int count, const std::vector<Port>& inputs,
                          const std::vector<std::pair<const char*, std::vector<int64_t>>>& attrs) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.add_opset_import()->set_domain("com.microsoft");
  model.mutable_opset_import(1)->set_version(1);
  auto* g = model.mutable_graph();
  for (const Port& p : inputs) {
    auto* v = g->add_input();
    v->set_name(p.name);
    auto* type = v->mutable_type()->mutable_tensor_type();
    type->set_elem_type(p.dtype);
    for (int64_t d : p.dims) type->mutable_shape()->add_dim()->set_dim_value(d);
  }
  for (int i = 0; i < count; ++i) {
    auto* n = g->add_node();
    n->set_op_type(op), n->set_domain("com.microsoft");
    for (const Port& p : inputs) n->add_input(p.name);
    n->add_output("y" + std::to_string(i));
    g->add_output()->set_name(n->output(0));
    for (const auto& [name, numbers] : attrs) {
      auto* a = n->add_attribute();
      a->set_name(name);
      a->set_type(numbers.size() == 1 ? onnx::AttributeProto::INT : onnx::AttributeProto::INTS);
      if (numbers.size() == 1) a->set_i(numbers[0]);
      for (int64_t k : numbers) a->add_ints(k);
    }
  }
  return model;
}

// What a reader makes of mere numbers in the file is charged: three masks for each node here.
TEST(Limits, ConstantsThatReadersMakeAreCharged) {
  constexpr int64_t kHalf = 60000;
  const auto error = [&](int count) {
    return error_of([&] {
      import_onnx_bytes(bytes_of(nodes_of("MRotaryEmbedding", count,
                                          {{"x", 1, {1, 2, 2 * kHalf}},
                                           {"at", 7, {3, 1, 2}},
                                           {"cosine", 1, {4, kHalf}},
                                           {"sine", 1, {4, kHalf}}},
                                          {{"mrope_section", {0, 0, kHalf}}, {"num_heads", {1}}})));
    });
  };
  EXPECT_EQ(error(4), "no error");
  EXPECT_THAT(error(60), HasSubstr("it makes a constant of 60000 bytes"));
}

// What is made of a constant as large is free, once: its bytes are in the file, or beside it.
TEST(Limits, ConstantsMadeOfConstantsAreChargedWhenMadeAgain) {
  const std::string folder = test::temp_folder() + "again";
  std::filesystem::create_directories(folder);
  constexpr int64_t kN = 4096, kK = 8192, kBlocks = kK / 32;
  std::ofstream(folder + "/b.bin") << "";
  std::filesystem::resize_file(folder + "/b.bin", kN * kK / 2);
  const auto error = [&](int count) {
    onnx::ModelProto model =
        nodes_of("MatMulNBits", count,
                 {{"a", 1, {1, kK}}, {"b", 2, {kN, kBlocks, 16}}, {"scales", 1, {kN * kBlocks}}},
                 {{"N", {kN}}, {"K", {kK}}, {"bits", {4}}, {"block_size", {32}}});
    auto* inputs = model.mutable_graph()->mutable_input();
    inputs->erase(inputs->begin() + 1);
    auto* t = model.mutable_graph()->add_initializer();
    t->set_name("b"), t->set_data_type(2), t->set_data_location(onnx::TensorProto::EXTERNAL);
    for (int64_t d : {kN, kBlocks, int64_t{16}}) t->add_dims(d);
    auto* e = t->add_external_data();
    e->set_key("location"), e->set_value("b.bin");
    return error_of([&] { import_onnx_bytes(bytes_of(model), folder); });
  };
  EXPECT_EQ(error(1), "no error");
  EXPECT_THAT(error(8), HasSubstr("MatMulNBits 'y2': it makes a constant of 16777216 bytes"));
}

// A part of a model has its constants inside, also those that share the bytes of an external file.
TEST(Limits, APartOfAModelCopiesNoMoreThanItsFilesHave) {
  const std::string folder = test::temp_folder() + "cut", path = folder + "/m.onnx";
  constexpr int64_t kSize = int64_t{1} << 22;
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/w.bin") << "";
  std::filesystem::resize_file(folder + "/w.bin", kSize);
  const auto error = [&](int count) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    auto* node = model.mutable_graph()->add_node();
    node->set_op_type("Sum");
    for (int i = 0; i < count; ++i) {
      auto* t = model.mutable_graph()->add_initializer();
      t->set_name("w" + std::to_string(i)), t->set_data_type(1), t->add_dims(kSize / 4);
      t->set_data_location(onnx::TensorProto::EXTERNAL);
      auto* e = t->add_external_data();
      e->set_key("location"), e->set_value("w.bin");
      node->add_input(t->name());
    }
    node->add_output("y");
    std::ofstream(path) << model.SerializeAsString();
    return error_of([&] { cut_onnx(path, folder + "/part.onnx", "y", 1, {}); });
  };
  EXPECT_EQ(error(1), "no error");
  EXPECT_GT(std::filesystem::file_size(folder + "/part.onnx"), kSize);
  EXPECT_EQ(error(2), "no error");
  EXPECT_THAT(error(20), HasSubstr("more is read of its file than the file has bytes"));
}

}  // namespace
}  // namespace wick
