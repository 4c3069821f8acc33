// The cost of loading a model: weights are read in place, packed forms are in the file, and time
// grows with the graph, not with its square.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ctime>

#include "exporter/onnx/file/lent.h"
#include "exporter/onnx/onnx.h"
#include "exporter/program/program_writer.h"
#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "runtime/core/sha256.h"
#include "tests/support/error_of.h"
#include "wick/error.h"
#include "wick/runtime.h"
#include "wick_onnx.pb.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

std::string floats_raw(int n, float first) {
  std::string bytes;
  for (int i = 0; i < n; ++i) {
    const float f = first + 0.25f * static_cast<float>(i % 91);
    bytes.append(reinterpret_cast<const char*>(&f), sizeof(f));
  }
  return bytes;
}

void describe(onnx::ValueInfoProto* v, const char* name, int type, std::vector<int64_t> dims) {
  v->set_name(name);
  auto* t = v->mutable_type()->mutable_tensor_type();
  t->set_elem_type(type);
  t->mutable_shape();
  for (int64_t d : dims) t->mutable_shape()->add_dim()->set_dim_value(d);
}

void fill(onnx::TensorProto* t, const char* name, float first, bool raw) {
  t->set_name(name);
  t->set_data_type(1);
  t->add_dims(30);
  t->add_dims(10);
  const std::string bytes = floats_raw(300, first);
  if (raw) {
    t->set_raw_data(bytes);
    return;
  }
  t->mutable_float_data()->Resize(300, 0);
  memcpy(t->mutable_float_data()->mutable_data(), bytes.data(), bytes.size());
}

// Weights in the graph, in a node's attribute and in a branch: as bytes, or as protobuf's lists.
std::vector<uint8_t> weights_everywhere(bool raw) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* g = model.mutable_graph();
  g->set_name("g");
  describe(g->add_input(), "x", 1, {30, 10});
  describe(g->add_input(), "c", 9, {});
  describe(g->add_output(), "y", 1, {30, 10});
  fill(g->add_initializer(), "w", 0, raw);
  auto node = [](onnx::GraphProto* to, const char* op, std::vector<const char*> in,
                 const char* out) {
    auto* n = to->add_node();
    n->set_op_type(op);
    n->set_name(std::string("n_") + out);
    for (const char* name : in) n->add_input(name);
    n->add_output(out);
    return n;
  };
  auto constant = [&](onnx::GraphProto* to, const char* out, float first) {
    auto* a = node(to, "Constant", {}, out)->add_attribute();
    a->set_name("value");
    a->set_type(onnx::AttributeProto::TENSOR);
    fill(a->mutable_t(), "", first, raw);
  };
  constant(g, "k", 3);
  node(g, "Add", {"x", "w"}, "a");
  node(g, "Mul", {"a", "k"}, "b");
  auto* choice = node(g, "If", {"c"}, "y");
  for (const char* which : {"then_branch", "else_branch"}) {
    auto* a = choice->add_attribute();
    a->set_name(which);
    a->set_type(onnx::AttributeProto::GRAPH);
    auto* branch = a->mutable_g();
    branch->set_name(which);
    constant(branch, "z", which[0] == 't' ? -1.0f : 7.0f);
    node(branch, "Sub", {"b", "z"}, "r");
    describe(branch->add_output(), "r", 1, {30, 10});
  }
  const std::string s = model.SerializeAsString();
  return {s.begin(), s.end()};
}

TEST(Lent, WeightsAreReadWhereTheyLie) {
  const std::vector<uint8_t> raw = weights_everywhere(true), lists = weights_everywhere(false);
  std::vector<onnx::Piece> lent;
  onnx::ModelBytes raw_bytes(raw), list_bytes(lists);
  const std::string rest = onnx::without_weights(raw_bytes, &lent);
  ASSERT_EQ(lent.size(), 4u);
  EXPECT_LT(rest.size() + 4 * 1200, raw.size() + 100);
  for (const auto& piece : lent) {
    EXPECT_EQ(piece.size, 1200u);
    EXPECT_LE(piece.offset + piece.size, raw.size());
  }
  EXPECT_EQ(ir::print(import_onnx_bytes(raw), true), ir::print(import_onnx_bytes(lists), true));
  lent.clear();
  EXPECT_EQ(onnx::without_weights(list_bytes, &lent), "");
  EXPECT_TRUE(lent.empty());
}

// A cut file and one whose sizes lie: an error or another model, never a byte from outside.
TEST(Lent, DamagedFilesAreFound) {
  const std::vector<uint8_t> file = weights_everywhere(true);
  int read = 0;
  auto attempt = [&](const std::vector<uint8_t>& bytes) {
    try {
      import_onnx_bytes(bytes);
      ++read;
    } catch (const Error&) {
    }
  };
  for (size_t n = 0; n < file.size(); n += 7)
    attempt({file.begin(), file.begin() + static_cast<long>(n)});
  EXPECT_EQ(read, 0);
  std::vector<uint8_t> other = file;
  for (size_t i = 0; i < file.size(); i += i < 400 ? 1 : 11) {
    for (uint8_t value : {0x00, 0x7f, 0xff}) {
      other[i] = value;
      attempt(other);
    }
    other[i] = file[i];
  }
}

// A file may say itself that a tensor's bytes are lent: it gets at its own, or at none.
TEST(Lent, WhatNobodyLendsIsRefused) {
  onnx::ModelProto model;
  const std::vector<uint8_t> file = weights_everywhere(true);
  ASSERT_TRUE(model.ParseFromArray(file.data(), static_cast<int>(file.size())));
  auto* small = model.mutable_graph()->add_initializer();
  small->set_name("small");
  small->set_data_type(1);
  small->add_dims(1);
  small->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = small->add_external_data();
  entry->set_key("location");
  for (const char* number : {"99", "-1", "", "1"}) {  // 1: another tensor's, of another size
    entry->set_value(std::string("\0lent", 5) + number);
    const std::string s = model.SerializeAsString();
    const std::vector<uint8_t> bytes(s.begin(), s.end());
    EXPECT_THAT(error_of([&] { import_onnx_bytes(bytes); }), HasSubstr("small")) << number;
  }
}

ir::Graph conv_and_linear() {
  ir::Graph g;
  auto weights = [](const Shape& shape) {
    HostTensor t(DType::kF32, shape);
    for (int64_t i = 0; i < t.numel(); ++i)
      t.as<float>()[i] = static_cast<float>(i % 17) * 0.1f - 0.8f;
    return t;
  };
  ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("n"), SymDim(4), SymDim(9), SymDim(9)});
  ConvAttrs conv;
  conv.pads = {1, 1, 1, 1};
  ir::ValueId y = g.emit(OpId::kConv, conv, {x, g.add_constant(weights({24, 4, 3, 3}), "w")});
  y = g.emit(OpId::kFlatten, AxisAttrs{1}, {g.emit(OpId::kRelu, {y})});
  y = g.emit(OpId::kLinear, {y, g.add_constant(weights({10, 24 * 81}), "fc")});
  g.add_output("y", y);
  ir::optimize(g);
  return g;
}

std::vector<float> run(Session& session, int64_t batch) {
  std::vector<float> x(static_cast<size_t>(batch) * 4 * 81), y(static_cast<size_t>(batch) * 10);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 29) * 0.07f - 1;
  TensorView in(x.data(), DType::kF32, Shape{batch, 4, 9, 9});
  TensorView out(y.data(), DType::kF32, Shape{batch, 10});
  Status s = session.run({&in, 1}, {&out, 1});
  EXPECT_TRUE(s.ok()) << s.message();
  return y;
}

// The forms a session packed go into the file; the next one finds them there.
TEST(Packed, TheNextSessionPacksNothing) {
  const ir::Graph g = conv_and_linear();
  const std::vector<uint8_t> plain = program_bytes(g);
  auto program = Program::load(Span<const uint8_t>(plain));
  ASSERT_TRUE(program.ok());
  auto session = Session::create(**program);
  ASSERT_TRUE(session.ok());
  const std::vector<float> want = run(**session, 3);
  std::vector<PackedConstant> forms;
  for (size_t i = 0; i < (*session)->packed_form_count(); ++i) {
    const Session::PackedForm f = *(*session)->packed_form(i);
    forms.push_back({f.constant, f.layout, f.bytes});
  }
  if (forms.empty()) GTEST_SKIP() << "not supported by this CPU";
  EXPECT_GT((*session)->packed_bytes(), 0u);
  const std::vector<uint8_t> file = program_bytes(g, {}, forms);
  LoadOptions options;
  options.verify_digests = true;
  auto packed = Program::load(Span<const uint8_t>(file), options);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  auto again = Session::create(**packed);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(run(**again, 3), want);
  EXPECT_EQ((*again)->packed_bytes(), 0u);
  // Kernels that know no such layout read the raw weights.
  static const KernelSet* const kReference[] = {&kReferenceKernels};
  SessionOptions plain_loops;
  plain_loops.kernels = kReference;
  auto reference = Session::create(**packed, plain_loops);
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(run(**reference, 3), want);
}

// The digest covers everything in the file; bytes that never leave the process have none.
TEST(Files, WrittenProgramsHaveADigest) {
  const ir::Graph g = conv_and_linear();
  std::vector<uint8_t> file = program_bytes(g);
  LoadOptions options;
  options.verify_digests = true;
  {
    auto program = Program::load(Span<const uint8_t>(file), options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    ASSERT_EQ((*program)->digest().size(), 32u);
    Sha256 sha;
    sha.update(Span<const uint8_t>(file).subspan(0, kDigestAt));
    sha.update(Span<const uint8_t>(file).subspan(kDigestAt + 32));
    uint8_t sum[32];
    sha.finish(sum);
    EXPECT_EQ(memcmp(sum, (*program)->digest().data(), 32), 0);
  }
  for (size_t at : {size_t{20}, size_t{90}, size_t{300}, file.size() - 1}) {
    file[at] ^= 1;
    EXPECT_FALSE(Program::load(Span<const uint8_t>(file), options).ok()) << at;
    file[at] ^= 1;
  }
  const LentProgram lent = lend_program(g);
  options.lent = lent.segments;
  auto program = Program::load(Span<const uint8_t>(lent.bytes), options);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE((*program)->digest().empty());
}

TEST(LentProgram, RunsOnTheGraphsTensorsAndRefusesOthers) {
  const ir::Graph g = conv_and_linear();
  LentProgram lent = lend_program(g);
  ASSERT_EQ(lent.constants.size(), 2u);
  LoadOptions options;
  EXPECT_THAT(Program::load(Span<const uint8_t>(lent.bytes), options).status().message(),
              HasSubstr("nobody lent"));
  options.lent = lent.segments;
  auto program = Program::load(Span<const uint8_t>(lent.bytes), options);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ((*program)->constants()[0].view.data, lent.constants[0].data());
  auto session = Session::create(**program);
  ASSERT_TRUE(session.ok());
  const std::vector<uint8_t> file = program_bytes(g);
  auto own = Program::load(Span<const uint8_t>(file));
  auto other = Session::create(**own);
  EXPECT_EQ(run(**session, 2), run(**other, 2));
  EXPECT_THAT(Program::load(Span<const uint8_t>(file), options).status().message(),
              HasSubstr("has its own"));
  std::swap(lent.segments[0], lent.segments[1]);
  options.lent = lent.segments;
  EXPECT_THAT(Program::load(Span<const uint8_t>(lent.bytes), options).status().message(),
              HasSubstr("not those of the program"));
}

// CPU seconds from a graph of n nodes to a session that is bound.
double cost(int n, int form) {
  ir::Graph g;
  ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(4)}), y = x;
  for (int i = 0; i < n; ++i) {
    HostTensor c(DType::kF32, Shape{4});
    for (int k = 0; k < 4; ++k) c.as<float>()[k] = static_cast<float>(i * 4 + k);
    switch (form) {
      case 0: y = g.emit(i % 2 == 0 ? OpId::kRelu : OpId::kSigmoid, {y}); break;
      case 1: y = g.emit(OpId::kAdd, {y, g.emit(OpId::kAbs, {g.add_constant(c)})}); break;
      case 2: y = g.emit(OpId::kAdd, {y, g.emit(OpId::kTanh, {x})}); break;
      default:  // one input, other attributes
        y = g.emit(OpId::kAdd, {y, g.emit(OpId::kLeakyRelu, LeakyReluAttrs{0.001 * i}, {x})});
    }
  }
  g.add_output("y", y);
  const std::clock_t begin = std::clock();
  ir::optimize(g);
  LentProgram lent = lend_program(std::move(g));
  LoadOptions options;
  options.lent = lent.segments;
  auto program = Program::load(Span<const uint8_t>(lent.bytes), options);
  EXPECT_TRUE(program.ok()) << program.status().message();
  SessionOptions one;
  one.threads = 1;
  auto session = Session::create(**program, one);
  EXPECT_TRUE(session.ok());
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Eight times the nodes: quadratic work would take 64 times as long.
TEST(LoadTime, GrowsWithTheGraphAndNotWithItsSquare) {
  for (int form = 0; form < 4; ++form) {
    cost(1000, form);
    const double small = std::min(cost(1500, form), cost(1500, form));
    const double large = std::min(cost(12000, form), cost(12000, form));
    EXPECT_LT(large, small * 24 + 0.02)
        << "form " << form << ": " << small << " s, " << large << " s";
  }
}

}  // namespace
}  // namespace wick
