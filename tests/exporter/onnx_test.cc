#include "exporter/onnx/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/exporter/attack_onnx.h"
#include "tests/support/error_of.h"
#include "tests/support/where.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/nn/models/models.h"

namespace wick {
namespace {

using test::error_of;

using testing::HasSubstr;
namespace fs = std::filesystem;

Tensor images(int64_t n) {
  HostTensor t(DType::kF32, Shape{n, 1, 28, 28});
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>((i * 53) % 97) / 40.0f - 1;
  return from_blob(t.data(), t.shape(), DType::kF32);
}

fs::path fresh_folder(const char* name) {
  fs::path p = fs::path(build_dir()) / "test-work" / name;
  fs::remove_all(p);
  fs::create_directories(p);
  return p;
}
std::string contents(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ir::Graph captured(const char* name, const std::shared_ptr<nn::Module>& model) {
  model->eval();
  return capture(*model, {{"image", images(2), {{0, "batch"}}, {}}},
                 {std::string("logits_") + name, {"a", "b c"}});
}

// ONNX would lose what the node asks for.
TEST(Products, OnnxFilesRefuseThem) {
  HostTensor w(DType::kF32, {4, 2, 3, 3});
  std::fill_n(w.as<float>(), w.numel(), 0.5f);
  ir::Graph g;
  ConvAttrs conv;
  conv.products = static_cast<int64_t>(Products::kWinograd);
  const ir::ValueId x = g.add_input("x", DType::kF32, to_symbolic(Shape{1, 2, 6, 6}));
  g.add_output("y", g.emit(OpId::kConv, conv, {x, g.add_constant(w)}, "conv"));
  EXPECT_THAT(error_of([&] { onnx_bytes(g); }), HasSubstr("ONNX cannot say"));
}

// An ONNX file is of the newest edition unless it was written from a graph of the first.
TEST(Editions, OnnxFilesKeepThem) {
  for (Edition edition : {Edition::k1, Edition::k2}) {
    ir::Graph g;
    g.set_edition(edition);
    g.add_output("y", g.emit(OpId::kSilu, {g.add_input("x", DType::kF32, {SymDim(4)})}));
    const ir::Graph back = import_onnx_bytes(onnx_bytes(g));
    EXPECT_EQ(back.edition(), edition);
    EXPECT_EQ(back.metadata.count("wick.edition"), 0u);
    const std::vector<uint8_t> bytes = compile_program(back);
    auto program = Program::load(Span<const uint8_t>(bytes));
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_EQ((*program)->edition(), edition);
  }
}

class Paths : public testing::TestWithParam<const char*> {};

// Trainer eval == ONNX through Wick == .wick in a session, at one and two threads, at batch 1
// and 5.
TEST_P(Paths, GiveTheTrainersBits) {
  auto model = nn::make_model(GetParam());
  ir::Graph graph = captured(GetParam(), model);
  ir::Graph back = import_onnx_bytes(onnx_bytes(graph));
  EXPECT_EQ(back.labels, graph.labels);
  EXPECT_EQ(back.outputs()[0].name, graph.outputs()[0].name);
  for (const ir::Graph& g : {graph, back}) {
    std::vector<uint8_t> bytes = compile_program(g);
    auto program = Program::load(Span<const uint8_t>(bytes));
    ASSERT_TRUE(program.ok()) << program.status().message();
    for (int threads : {1, 2}) {
      SessionOptions options;
      options.threads = threads;
      auto session = Session::create(**program, options);
      ASSERT_TRUE(session.ok()) << session.status().message();
      EXPECT_STREQ((*session)->input(0).name, "image");
      for (int64_t n : {1, 5}) {
        Tensor x = images(n);
        HostTensor in = host_copy(x), want = host_copy((*model)(x)),
                   got(want.dtype(), want.shape());
        TensorView in_view = in.view(), out_view = got.view();
        Status s = (*session)->run({&in_view, 1}, {&out_view, 1});
        ASSERT_TRUE(s.ok()) << s.message();
        EXPECT_TRUE(same_bits(got, want)) << threads << " threads, batch " << n;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Trained, Paths, testing::Values("lenet", "mlp", "mobilenet", "resnet8"));

std::vector<uint8_t> bytes_of(const onnx::ModelProto& model) {
  std::string s = model.SerializeAsString();
  return {s.begin(), s.end()};
}
onnx::ModelProto parsed_feature_model() {
  std::vector<uint8_t> file = test::every_onnx_feature();
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromArray(file.data(), static_cast<int>(file.size())));
  return model;
}

TEST(Onnx, UnknownOperatorsAreListedAllAtOnce) {
  onnx::ModelProto model = parsed_feature_model();
  model.mutable_graph()->mutable_node(1)->set_op_type("Frobnicate");
  model.mutable_graph()->mutable_node(3)->set_op_type("Twiddle");
  std::string text = error_of([&] { import_onnx_bytes(bytes_of(model)); });
  EXPECT_THAT(text, testing::AllOf(HasSubstr("Frobnicate"), HasSubstr("n_BatchNormalization"),
                                   HasSubstr("Twiddle"), HasSubstr("n_Clip")));
}

TEST(Onnx, SoftmaxBeforeOpset13SeesTwoDimensions) {
  onnx::ModelProto model;
  model.set_ir_version(6);
  model.add_opset_import()->set_version(11);
  auto* g = model.mutable_graph();
  auto describe = [](onnx::ValueInfoProto* v, const char* name) {
    v->set_name(name);
    v->mutable_type()->mutable_tensor_type()->set_elem_type(1);
    for (int d : {2, 3, 4})
      v->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
  };
  describe(g->add_input(), "x");
  describe(g->add_output(), "y");
  auto* n = g->add_node();
  n->set_op_type("Softmax");
  n->add_input("x");
  n->add_output("y");
  ir::Graph graph = import_onnx_bytes(bytes_of(model));
  HostTensor x(DType::kF32, Shape{2, 3, 4});  // zeros: every element of a row gets an equal share
  HostTensor y = ir::run(graph, {&x, 1})[0];
  EXPECT_EQ(to_text(y.shape()).text, std::string("[2,3,4]"));
  EXPECT_FLOAT_EQ(y.as<float>()[0], 1.0f / 12);  // axis 1 of opset 11: rows of 12, not of 3
}

// C's fmod of floats is exact, whatever the quotient; ONNX has no floor-mod of floats.
TEST(Onnx, ModOfFloatsIsFmod) {
  for (int64_t fmod : {0, 1}) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(13);
    auto* g = model.mutable_graph();
    for (auto* v : {g->add_input(), g->add_input(), g->add_output()}) {
      v->mutable_type()->mutable_tensor_type()->set_elem_type(1);
      v->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(2);
    }
    g->mutable_input(0)->set_name("x");
    g->mutable_input(1)->set_name("y");
    g->mutable_output(0)->set_name("z");
    auto* n = g->add_node();
    n->set_op_type("Mod");
    n->add_input("x");
    n->add_input("y");
    n->add_output("z");
    auto* a = n->add_attribute();
    a->set_name("fmod");
    a->set_type(onnx::AttributeProto::INT);
    a->set_i(fmod);
    if (fmod == 0) {
      EXPECT_THAT(error_of([&] { import_onnx_bytes(bytes_of(model)); }),
                  HasSubstr("Mod 'z': needs fmod = 1 for floating-point types"));
      continue;
    }
    ir::Graph graph = import_onnx_bytes(bytes_of(model));
    HostTensor in[2] = {HostTensor(DType::kF32, Shape{2}), HostTensor(DType::kF32, Shape{2})};
    in[0].as<float>()[0] = 1e10f, in[0].as<float>()[1] = -5.5f;
    in[1].as<float>()[0] = 3, in[1].as<float>()[1] = 2;
    HostTensor z = ir::run(graph, in)[0];
    EXPECT_EQ(z.as<float>()[0], 1.0f);
    EXPECT_EQ(z.as<float>()[1], -1.5f);
  }
}

TEST(Onnx, ContradictionsInAFileAreRefused) {
  auto error = [](const std::function<void(onnx::GraphProto&)>& change) {
    onnx::ModelProto model = parsed_feature_model();
    change(*model.mutable_graph());
    return error_of([&] { import_onnx_bytes(bytes_of(model)); });
  };
  auto kernel = [](int64_t size) {
    return [size](onnx::GraphProto& g) {
      auto* a = g.mutable_node(0)->add_attribute();
      a->set_name("kernel_shape");
      a->set_type(onnx::AttributeProto::INTS);
      a->add_ints(size), a->add_ints(size);
    };
  };
  EXPECT_EQ(error(kernel(3)), "no error");
  EXPECT_THAT(error(kernel(5)), HasSubstr("kernel_shape has 5 where the weight [2,2,3,3] has 3"));
  auto output = [](onnx::GraphProto& g) {
    return g.mutable_output(0)->mutable_type()->mutable_tensor_type();
  };
  EXPECT_THAT(error([&](auto& g) { output(g)->set_elem_type(11); }),
              HasSubstr("output 'y' is declared float64, its node gives float32"));
  // a shape that the nodes contradict is an old one
  EXPECT_EQ(error([&](auto& g) { output(g)->mutable_shape()->add_dim()->set_dim_value(1); }),
            "no error");
  EXPECT_EQ(error([&](auto& g) { output(g)->mutable_shape()->mutable_dim(1)->set_dim_value(77); }),
            "no error");
  EXPECT_THAT(error([](auto& g) { *g.add_input() = onnx::ValueInfoProto(g.input(0)); }),
              HasSubstr("input 'x' is declared twice"));
  auto pads = [](onnx::AttributeProto::AttributeType type) {
    return [type](onnx::GraphProto& g) { g.mutable_node(0)->mutable_attribute(0)->set_type(type); };
  };
  EXPECT_THAT(error(pads(onnx::AttributeProto::INT)),
              HasSubstr("attribute 'pads' is INT, expected INTS"));
  EXPECT_EQ(error(pads(onnx::AttributeProto::UNDEFINED)), "no error");
}

TEST(Onnx, ExternalDataStaysInTheModelsFolder) {
  fs::path folder = fresh_folder("external");
  fs::create_directories(folder / "model");
  std::ofstream(folder / "secret.bin") << std::string(8, 'x');
  onnx::ModelProto model = parsed_feature_model();
  auto& g = *model.mutable_graph();
  for (auto& t : *g.mutable_initializer()) {
    if (t.name() != "bias") continue;
    t.clear_raw_data();
    t.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* e = t.add_external_data();
    e->set_key("location");
    e->set_value("../secret.bin");
  }
  std::ofstream(folder / "model" / "m.onnx", std::ios::binary) << model.SerializeAsString();
  EXPECT_THAT(error_of([&] { import_onnx((folder / "model" / "m.onnx").string()); }),
              HasSubstr("secret.bin"));
  for (auto& t : *g.mutable_initializer()) {
    if (t.name() == "bias") t.mutable_external_data(0)->set_value("inside.bin");
  }
  std::ofstream(folder / "model" / "inside.bin") << std::string(8, '\0');
  std::ofstream(folder / "model" / "m.onnx", std::ios::binary) << model.SerializeAsString();
  EXPECT_EQ(import_onnx((folder / "model" / "m.onnx").string()).outputs().size(), 2u);
  EXPECT_NE(error_of([&] { import_onnx_bytes(bytes_of(model)); }), "no error");
}

// A write that fails leaves the old file as it was and nothing beside it.
TEST(Files, FailedSaveKeepsTheOldFile) {
  fs::path folder = fresh_folder("save");
  ir::Graph graph = captured("mlp", nn::mlp());
  fs::path file = folder / "m.onnx";
  export_onnx(graph, file.string());
  std::string before = contents(file);
  ASSERT_FALSE(before.empty());
  ir::Graph broken = graph;
  broken.outputs()[0].name.clear();
  EXPECT_THROW(export_onnx(broken, file.string()), Error);
  EXPECT_THROW(export_wick(graph, (folder / "none" / "m.wick").string()), Error);
  EXPECT_EQ(contents(file), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

// Constants without elements still name a segment, which must then be there.
TEST(Files, ProgramsWhoseConstantsAreAllEmpty) {
  ir::Graph g;
  ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(3)});
  ir::ValueId none = g.add_constant(HostTensor(DType::kF32, Shape{2, 0}), "none");
  AxisAttrs along;
  along.axis = 1;
  g.add_output("y", g.emit(OpId::kConcat, along, {x, none}));
  std::vector<uint8_t> bytes = program_bytes(g);
  LoadOptions options;
  options.verify_digests = true;
  auto program = Program::load(Span<const uint8_t>(bytes), options);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ((*program)->constants()[0].view.shape, (Shape{2, 0}));
}

TEST(Files, TrainingOpsAreRefusedByName) {
  ir::Graph g;
  ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(3)});
  ir::ValueId c = g.add_constant(HostTensor(DType::kF32, Shape{3}));
  ir::NodeId n =
      g.add_node(OpId::kBatchNormTrain, AnyAttrs::of(BatchNormAttrs{}), {x, c, c}, 3, "bn1");
  g.add_output("y", g.node(n).outputs[0]);
  EXPECT_THAT(error_of([&] { program_bytes(g); }),
              testing::AllOf(HasSubstr("BatchNormTrain"), HasSubstr("bn1")));
  EXPECT_THAT(error_of([&] { onnx_bytes(g); }), HasSubstr("BatchNormTrain"));
}

// Five values a byte; all 255 in the full test run.
TEST(Attack, EveryCutAndOtherValuesOfEveryByte) {
  std::vector<uint8_t> file = test::every_onnx_feature();
  ASSERT_LE(file.size(), 4096u);
  ASSERT_TRUE(test::compile_and_run(file))
      << error_of([&] { compile_program(import_onnx_bytes(file)); });
  int values = getenv("WICK_TEST_FULL") != nullptr ? 255 : 5;
  auto count = test::attack(file, values, test::compile_and_run);
  EXPECT_EQ(count.cases, static_cast<int64_t>(file.size()) * (values + 1));
  EXPECT_GT(count.accepted, 0);
  EXPECT_LT(count.accepted, count.cases);
}

}  // namespace
}  // namespace wick
