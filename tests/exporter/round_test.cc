// Read, written and read again: the same text. Checks how names, constants, opsets and external
// data come through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "tests/support/error_of.h"
#include "tests/support/not_files.h"
#include "tests/support/where.h"
#include "wick/error.h"

namespace wick {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

NodeProto& add(GraphProto& g, const std::string& op, const Names& in, const Names& out) {
  NodeProto& n = *g.add_node();
  n.set_op_type(op);
  for (const auto& name : in) n.add_input(name);
  for (const auto& name : out) n.add_output(name);
  return n;
}

ModelProto model_of(int64_t opset, DType dtype = DType::kF32, const std::vector<int>& dims = {2}) {
  ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  auto& x = *model.mutable_graph()->add_input();
  x.set_name("x");
  auto& type = *x.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int32_t>(dtype));
  type.mutable_shape();
  for (int d : dims) type.mutable_shape()->add_dim()->set_dim_value(d);
  model.mutable_graph()->set_name("main");
  return model;
}

ir::Graph read(const ModelProto& model) {
  const std::string s = model.SerializeAsString();
  return import_onnx_bytes({reinterpret_cast<const uint8_t*>(s.data()), s.size()});
}
ModelProto written(const ir::Graph& g) {
  ModelProto model;
  const std::vector<uint8_t> file = onnx_bytes(g);
  EXPECT_TRUE(model.ParseFromArray(file.data(), static_cast<int>(file.size())));
  return model;
}
std::string text(ir::Graph g) {
  g.metadata.clear();  // the writer adds its version
  return ir::print(g, true);
}
// The graph, once it was seen to come back the same.
ir::Graph settled(const ModelProto& model) {
  ir::Graph g = read(model);
  EXPECT_EQ(text(read(written(g))), text(g));
  return g;
}

HostTensor row(const std::vector<float>& v) {
  return HostTensor::of(Shape{static_cast<int64_t>(v.size())}, v);
}

TEST(Round, WeightsAndConstantsStayWhatTheyAre) {
  ModelProto model = model_of(17);
  GraphProto& g = *model.mutable_graph();
  *g.add_initializer() = onnx::encode(row({1, 2}), "weight");
  auto& k = *add(g, "Constant", {}, {"k"}).add_attribute();
  k.set_name("value");
  k.set_type(onnx::AttributeProto::TENSOR);
  *k.mutable_t() = onnx::encode(row({3, 4}), "");
  add(g, "Add", {"x", "k"}, {"sum"});
  add(g, "Celu", {"sum"}, {"curve"});  // brings constants and values without a name
  add(g, "Mul", {"curve", "weight"}, {"y"});
  g.add_output()->set_name("y");
  const ir::Graph graph = settled(model);
  std::map<std::string, bool> parameter;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& v = graph.value(static_cast<ir::ValueId>(i));
    if (v.origin == ir::ValueOrigin::kConstant) parameter[v.name] = v.parameter;
  }
  EXPECT_EQ(parameter, (std::map<std::string, bool>{{"", false}, {"k", false}, {"weight", true}}));
  const ModelProto file = written(graph);
  EXPECT_EQ(file.graph().node(0).op_type(), "Constant");
  EXPECT_EQ(file.graph().node(0).output(0), "k");
}

TEST(Round, AFunctionCalledTwiceHasNoNameTwice) {
  ModelProto model = model_of(17);
  GraphProto& g = *model.mutable_graph();
  auto& f = *model.add_functions();
  f.set_domain("own");
  f.set_name("Twice");
  f.add_input("a");
  f.add_output("b");
  f.add_opset_import()->set_version(17);
  GraphProto body;
  add(body, "Neg", {"a"}, {"inner"});
  add(body, "Sub", {"a", "inner"}, {"b"});
  *f.mutable_node() = body.node();
  model.add_opset_import()->set_domain("own");
  add(g, "Twice", {"x"}, {"once"}).set_domain("own");
  add(g, "Twice", {"once"}, {"y"}).set_domain("own");
  g.add_output()->set_name("y");
  EXPECT_THAT(text(settled(model)), HasSubstr("\"inner\""));
}

// metadata_props of nodes: in a file of any opset, and on all that an operator becomes.
TEST(Round, NodesKeepTheirModuleAndLine) {
  ModelProto model = model_of(17);
  auto& g = *model.mutable_graph();
  NodeProto& n = add(g, "Softsign", {"x"}, {"a"});
  NodeProto& plain = add(g, "Exp", {"a"}, {"y"});
  const auto say = [](NodeProto& to, const char* key, const std::string& value) {
    auto& entry = *to.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  };
  say(n, "wick.module", "net.act");
  say(n, "wick.line", "dir: a/net.cc:12");
  say(plain, "wick.module", std::string(5000, 'm'));  // longer than a name
  say(plain, "wick.line", "net.cc");                  // no line
  g.add_output()->set_name("y");
  const ir::Graph graph = settled(model);
  for (const ir::Node& node : graph.nodes()) {
    const bool known = node.op != OpId::kExp;
    EXPECT_EQ(node.module, known ? "net.act" : "");
    EXPECT_EQ(node.source.text(), known ? "dir: a/net.cc:12" : "");
  }
  for (const int64_t opset : {11, 13, 20, 23}) {
    ModelProto at;
    const std::vector<uint8_t> file = onnx_bytes(graph, QuantizedForm::kOperators, opset);
    ASSERT_TRUE(at.ParseFromArray(file.data(), static_cast<int>(file.size())));
    EXPECT_EQ(text(read(at)), text(graph)) << opset;
  }
}

TEST(Round, WhatAModelSaysOfItselfStays) {
  ModelProto model = model_of(17);
  add(*model.mutable_graph(), "Exp", {"x"}, {"y"});
  model.mutable_graph()->add_output()->set_name("y");
  model.set_producer_name("pytorch");
  model.set_producer_version("1.13");
  model.set_domain("org.example");
  model.set_model_version(7);
  model.set_doc_string("two\nlines");
  model.mutable_graph()->set_doc_string("of the graph");
  auto& entry = *model.add_metadata_props();
  entry.set_key("author");
  entry.set_value("somebody");
  const ir::Graph graph = settled(model);
  const ModelProto file = written(graph);
  EXPECT_EQ(file.producer_name(), "pytorch");
  EXPECT_EQ(file.producer_version(), "1.13");
  EXPECT_EQ(file.domain(), "org.example");
  EXPECT_EQ(file.model_version(), 7);
  EXPECT_EQ(file.doc_string(), "two\nlines");
  EXPECT_EQ(file.graph().doc_string(), "of the graph");
  std::map<std::string, std::string> said;
  for (const auto& e : file.metadata_props()) said[e.key()] = e.value();
  EXPECT_EQ(said.at("author"), "somebody");
  EXPECT_EQ(said.count("onnx.doc_string"), 0u);  // a field of its own
  EXPECT_EQ(graph.metadata.at("onnx.model_version"), "7");
  // Without a producer of its own a file is Wick's.
  model.clear_producer_name();
  EXPECT_EQ(written(read(model)).producer_name(), "wick");
  EXPECT_NE(written(read(model)).producer_version(), "1.13");
}

// ONNX Runtime refuses two nodes of one name; the graph's nodes keep the name of the operator they
// came from.
TEST(Round, NodesOfOneOperatorHaveNamesOfTheirOwn) {
  ModelProto model = model_of(24, DType::kF32, {2, 3});
  auto& g = *model.mutable_graph();
  add(g, "Softsign", {"x"}, {"a"}).set_name("act");
  add(g, "Softsign", {"a"}, {"y"}).set_name("act");
  g.add_output()->set_name("y");
  const ir::Graph graph = read(model);
  for (const ir::Node& n : graph.nodes()) EXPECT_EQ(n.name, "act");
  const ModelProto file = written(graph);
  std::set<std::string> names;
  for (const NodeProto& n : file.graph().node()) names.insert(n.name());
  ASSERT_GT(file.graph().node_size(), 2);
  EXPECT_EQ(names.size(), static_cast<size_t>(file.graph().node_size()));
  EXPECT_EQ(names.count("act"), 1u);
  const ir::Graph again = read(file);
  for (const ir::Node& n : again.nodes()) EXPECT_EQ(n.name, "act");
}

// An output may be a value that nothing changed, an input or a constant, or one value may be two
// outputs.
TEST(Round, OutputsAreValuesOfTheirOwn) {
  ModelProto model = model_of(17);
  GraphProto& g = *model.mutable_graph();
  *g.add_initializer() = onnx::encode(row({1, 2}), "weight");
  *g.add_initializer() = onnx::encode(row({1, 2}), "wick_3");  // a name as the writer makes up
  add(g, "Flatten", {"x"}, {"flat"});
  add(g, "Expand", {"wick_3", "shape"}, {"wick_7"});
  *g.add_initializer() = onnx::encode(HostTensor::ints(std::vector<int64_t>{2}), "shape");
  for (const char* name : {"x", "weight", "flat", "wick_7"}) g.add_output()->set_name(name);
  const ir::Graph graph = settled(model);
  EXPECT_EQ(graph.outputs()[3].name, "wick_7");
  EXPECT_EQ(ir::run(graph, std::vector<HostTensor>{row({5, 6})}).size(), 4u);
}

TEST(Round, BranchesReadTheConstantsAroundThem) {
  ModelProto model = model_of(17, DType::kBool, {});
  GraphProto& g = *model.mutable_graph();
  *g.add_initializer() = onnx::encode(row({1, 2}), "weight");
  NodeProto& n = add(g, "If", {"x"}, {"z"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& a = *n.add_attribute();
    a.set_name(branch);
    a.set_type(onnx::AttributeProto::GRAPH);
    add(*a.mutable_g(), branch[0] == 't' ? "Exp" : "Neg", {"weight"}, {"out"});
    a.mutable_g()->add_output()->set_name("out");  // the same name in both
    a.mutable_g()->set_name(branch);
  }
  add(g, "Add", {"z", "weight"}, {"y"});
  g.add_output()->set_name("y");
  const ModelProto file = written(settled(model));
  EXPECT_EQ(file.graph().initializer_size(), 1);
  for (const auto& a : file.graph().node(0).attribute()) {
    EXPECT_EQ(a.g().initializer_size(), 0) << a.name();
    EXPECT_EQ(a.g().output(0).name(), "out");
  }
}

// The lowest opset from 17 on that has the operator, its form and its dtype.
TEST(Round, IsWrittenAtTheLowestOpset) {
  auto opset = [](const std::string& op, DType dtype = DType::kF32,
                  const std::function<void(GraphProto&, NodeProto&)>& more = {}) {
    ModelProto model = model_of(24, dtype, {3, 5});
    GraphProto& g = *model.mutable_graph();
    NodeProto& n = add(g, op, {"x"}, {"y"});
    if (more) more(g, n);
    for (const auto& out : n.output()) g.add_output()->set_name(out);
    return written(settled(model)).opset_import(0).version();
  };
  auto set = [](NodeProto& n, const char* name, int64_t value) {
    auto& a = *n.add_attribute();
    a.set_name(name);
    a.set_type(onnx::AttributeProto::INT);
    a.set_i(value);
  };
  auto ints = [](GraphProto& g, NodeProto& n, std::vector<int64_t> values) {
    const std::string name = "ints" + std::to_string(g.initializer_size());
    *g.add_initializer() = onnx::encode(HostTensor::ints(values), name);
    n.add_input(name);
  };
  EXPECT_EQ(opset("Relu"), 17);
  EXPECT_EQ(opset("Mish"), 17);  // a formula of ops that 17 has
  EXPECT_EQ(opset("BitwiseNot", DType::kI32), 18);
  EXPECT_EQ(opset("Gelu"), 17);  // five operators, read as one
  EXPECT_EQ(opset("Swish"), 17);
  EXPECT_EQ(opset("Elu", DType::kBF16), 22);
  EXPECT_EQ(opset("IsInf", DType::kF16), 20);
  auto split = [&](int64_t axis) {
    return [=](GraphProto&, NodeProto& n) {
      n.add_output("z");
      set(n, "axis", axis);
      set(n, "num_outputs", 2);
    };
  };
  EXPECT_EQ(opset("Split", DType::kF32, split(1)), 18);  // 5 in two
  auto pad = [&](GraphProto& g, NodeProto& n) {
    ints(g, n, {1, 2});
    n.add_input("");
    ints(g, n, {-1});
  };
  EXPECT_EQ(opset("Pad", DType::kF32, pad), 17);  // pads of one axis become pads of all
}

// The nearest pixel of coordinates that ended with opset 12: (i + 0.5) / scale, rounded.
TEST(Round, CoordinatesThatEndedAreWrittenAsOnesThatStayed) {
  const std::map<std::string, std::vector<float>> want = {
      {"floor", {0, 2, 4}}, {"round_prefer_floor", {1, 2, 4}}};  // for coordinates 5/6, 2.5, 25/6
  for (const auto& [rounding, pixels] : want) {
    ModelProto model = model_of(11, DType::kF32, {1, 1, 1, 5});
    GraphProto& g = *model.mutable_graph();
    *g.add_initializer() =
        onnx::encode(HostTensor::ints(std::vector<int64_t>{1, 1, 1, 3}), "sizes");
    NodeProto& n = add(g, "Resize", {"x", "", "", "sizes"}, {"y"});
    auto set = [&](const char* name, const std::string& value) {
      auto& a = *n.add_attribute();
      a.set_name(name);
      a.set_type(onnx::AttributeProto::STRING);
      a.set_s(value);
    };
    set("mode", "nearest");
    set("coordinate_transformation_mode", "tf_half_pixel_for_nn");
    set("nearest_mode", rounding);
    if (rounding == "round_prefer_floor") n.mutable_attribute()->RemoveLast();  // the default
    g.add_output()->set_name("y");
    const std::vector<float> line = {0, 1, 2, 3, 4};
    const HostTensor x = HostTensor::of(Shape{1, 1, 1, 5}, line);
    const HostTensor y = ir::run(settled(model), {&x, 1})[0];
    EXPECT_EQ(std::vector<float>(y.as<float>(), y.as<float>() + 3), pixels) << rounding;
  }
}

fs::path fresh_folder(const char* name) {
  fs::path p = fs::path(build_dir()) / "test-work" / name;
  fs::remove_all(p);
  fs::create_directories(p);
  return p;
}

TEST(External, ConstantsGoBesideTheModelWhenAsked) {
  ModelProto model = model_of(17, DType::kF32, {512});
  GraphProto& g = *model.mutable_graph();
  std::vector<float> values(512);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  *g.add_initializer() = onnx::encode(row(values), "large");
  *g.add_initializer() = onnx::encode(row(values), "second");
  *g.add_initializer() = onnx::encode(row({2}), "small");
  add(g, "Mul", {"x", "large"}, {"a"});
  add(g, "Add", {"a", "second"}, {"b"});
  add(g, "Mul", {"b", "small"}, {"y"});
  g.add_output()->set_name("y");
  const ir::Graph graph = settled(model);
  const fs::path folder = fresh_folder("external-written"), path = folder / "m.onnx";
  EXPECT_EQ(export_onnx(graph, path.string()).data_path, "");
  EXPECT_GT(fs::file_size(path), 4096u);
  const OnnxFile file = export_onnx(graph, path.string(), {.external_data = true});
  EXPECT_EQ(file.opset, 17);
  EXPECT_EQ(file.data_path, path.string() + ".data");
  EXPECT_LT(fs::file_size(path), 400u);
  EXPECT_EQ(fs::file_size(file.data_path), 4096u + 2048);  // the second at a page
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
  EXPECT_EQ(text(import_onnx(path.string())), text(graph));
  fs::resize_file(file.data_path, 4096 + 2047);
  EXPECT_THAT(error_of([&] { import_onnx(path.string()); }),
              HasSubstr("'m.onnx.data' is too short for 2048 bytes at 4096"));
}

TEST(External, OnlyAPlainFileInTheModelsFolderIsRead) {
  const fs::path folder = fresh_folder("external-read");
  fs::create_directories(folder / "model" / "sub");
  for (const char* file : {"secret", "model/inside", "model/sub/deeper"})
    std::ofstream(folder / file) << std::string(8, 'x');
  fs::create_symlink("../secret", folder / "model" / "link");
  fs::create_symlink("inside", folder / "model" / "link-inside");
  fs::create_directory_symlink("..", folder / "model" / "up");
  auto error = [&](const std::string& location) {
    ModelProto model = model_of(17);
    GraphProto& g = *model.mutable_graph();
    TensorProto& t = *g.add_initializer();
    t.set_name("w");
    t.set_data_type(1);
    t.add_dims(2);
    t.set_data_location(TensorProto::EXTERNAL);
    auto& e = *t.add_external_data();
    e.set_key("location");
    e.set_value(location);
    add(g, "Add", {"x", "w"}, {"y"});
    g.add_output()->set_name("y");
    const std::string path = (folder / "model" / "m.onnx").string();
    std::ofstream(path, std::ios::binary) << model.SerializeAsString();
    return error_of([&] { import_onnx(path); });
  };
  EXPECT_EQ(error("inside"), "no error");
  EXPECT_EQ(error(""), (folder / "model" / "m.onnx").string() +
                           ": ONNX tensor 'w': its data is in another file, and no 'location' says "
                           "in which");
  EXPECT_EQ(error("sub/deeper"), "no error");
  EXPECT_EQ(error("./inside"), "no error");
  EXPECT_THAT(error("../secret"), HasSubstr("'..'"));
  EXPECT_THAT(error("sub/../inside"), HasSubstr("'..'"));
  EXPECT_THAT(error((folder / "secret").string()), HasSubstr("relative path"));
  EXPECT_THAT(error((folder / "model" / "inside").string()), HasSubstr("relative path"));
  for (const char* link : {"link", "link-inside", "up/secret"})
    EXPECT_THAT(error(link), HasSubstr("symbolic link")) << link;
  EXPECT_THAT(error("none"), HasSubstr("cannot open 'none': no such file in the model's folder"));
  EXPECT_THAT(error("none/inside"), HasSubstr("cannot open 'none/inside': no such file"));
  EXPECT_THAT(error("inside/none"), HasSubstr("Not a directory"));
  EXPECT_THAT(error("sub"), HasSubstr("it is a folder, not a regular file"));
  EXPECT_THAT(error("sub/"), HasSubstr("cannot open 'sub/'"));
  ASSERT_EQ(mkfifo((folder / "model" / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error("pipe"), HasSubstr("it is a pipe, not a regular file"));
  for (const auto& [path, refusal] : test::NotFiles(".onnx"))
    EXPECT_THAT(error_of([&] { import_onnx(path); }), HasSubstr(refusal));
}

// The loader of programs refuses them: so does who makes programs.
TEST(Types, SizesThatNoProgramMayHaveAreRefused) {
  auto error = [](std::vector<int64_t> dims) {
    ModelProto model = model_of(17);
    GraphProto& g = *model.mutable_graph();
    auto& x = *g.add_input();
    x.set_name("big");
    x.mutable_type()->mutable_tensor_type()->set_elem_type(1);
    for (int64_t d : dims)
      x.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
    add(g, "Relu", {"big"}, {"y"});
    g.add_output()->set_name("y");
    return error_of([&] { read(model); });
  };
  EXPECT_EQ(error({int64_t{1} << 50, 3}), "no error");
  EXPECT_EQ(error({-1, int64_t{1} << 50}), "no error");
  for (const auto& dims : std::vector<std::vector<int64_t>>{{int64_t{1} << 62},
                                                            {INT64_MAX},
                                                            {0, int64_t{1} << 62},
                                                            {int64_t{1} << 32, int64_t{1} << 31}})
    EXPECT_THAT(error(dims), AllOf(HasSubstr("big"), HasSubstr("is too large")));
}

// raw_data and the lists of numbers, which hold narrow types in wider ones and pack the 4- and
// 2-bit ones.
TEST(Tensors, EveryEncodingOfEveryType) {
  int types = 0;
  for (int t = 1; t < kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    if (dtype == DType::kString) continue;
    ++types;
    SCOPED_TRACE(dtype_name(dtype));
    TensorProto raw, list;
    for (TensorProto* p : {&raw, &list}) {
      p->set_name("t");
      p->set_data_type(t);
      p->add_dims(3);
    }
    const size_t bytes = checked_bytes(Shape{3}, dtype_bits(dtype)).value();
    std::string data(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(17 * (i + 1) % 120);
    if (dtype == DType::kBool) data = std::string("\1\0\1", 3);
    raw.set_raw_data(data);
    auto each = [&](auto zero, auto&& put) {
      decltype(zero) v;
      for (size_t at = 0; at < bytes; at += sizeof(v)) {
        memcpy(&v, data.data() + at, sizeof(v));
        put(v);
      }
    };
    switch (dtype) {
      case DType::kF32:
      case DType::kC64: each(0.0f, [&](float v) { list.add_float_data(v); }); break;
      case DType::kF64:
      case DType::kC128: each(0.0, [&](double v) { list.add_double_data(v); }); break;
      case DType::kI64: each(int64_t{}, [&](int64_t v) { list.add_int64_data(v); }); break;
      case DType::kU64: each(uint64_t{}, [&](uint64_t v) { list.add_uint64_data(v); }); break;
      case DType::kU32: each(uint32_t{}, [&](uint32_t v) { list.add_uint64_data(v); }); break;
      case DType::kI32: each(int32_t{}, [&](int32_t v) { list.add_int32_data(v); }); break;
      case DType::kI16: each(int16_t{}, [&](int16_t v) { list.add_int32_data(v); }); break;
      case DType::kU16:
      case DType::kF16:
      case DType::kBF16: each(uint16_t{}, [&](uint16_t v) { list.add_int32_data(v); }); break;
      default: each(uint8_t{}, [&](uint8_t v) { list.add_int32_data(v); });
    }
    const HostTensor a = onnx::decode(raw, ""), b = onnx::decode(list, "");
    EXPECT_EQ(a.dtype(), dtype);
    EXPECT_TRUE(a.nbytes() == b.nbytes() && memcmp(a.data(), b.data(), a.nbytes()) == 0);
    const TensorProto back = onnx::encode(a, "t");
    EXPECT_EQ(back.raw_data(), std::string(a.as<char>(), a.nbytes()));
    raw.set_raw_data(data + "x");
    EXPECT_THAT(error_of([&] { onnx::decode(raw, ""); }), HasSubstr("bytes of raw_data"));
    list.mutable_int32_data()->Clear(), list.mutable_float_data()->Clear();
    list.mutable_int64_data()->Clear(), list.mutable_double_data()->Clear();
    list.mutable_uint64_data()->Clear();
    EXPECT_NE(error_of([&] { onnx::decode(list, ""); }), "no error");
  }
  EXPECT_GE(types, 22);
}

}  // namespace
}  // namespace wick
