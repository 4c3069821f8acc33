// Small files that would cost hours or all memory: each must end in a run or an error that says
// what was too much, and the process must stay small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "tests/exporter/attack_onnx.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using namespace onnx;  // NOLINT: the messages
using testing::HasSubstr;

constexpr unsigned kSeconds = 60;         // as for hostile files: sanitizers, a busy machine
constexpr long kProcessMemory = 3 << 20;  // KiB

NodeProto* add(google::protobuf::RepeatedPtrField<NodeProto>* nodes, const std::string& op,
               const std::vector<std::string>& in, const std::vector<std::string>& out) {
  NodeProto* n = nodes->Add();
  n->set_op_type(op);
  for (const auto& s : in) n->add_input(s);
  for (const auto& s : out) n->add_output(s);
  return n;
}
GraphProto* subgraph(NodeProto* n, const char* name) {
  auto* a = n->add_attribute();
  a->set_name(name), a->set_type(AttributeProto::GRAPH);
  return a->mutable_g();
}
void declare(ValueInfoProto* v, const std::string& name, int type,
             const std::vector<std::string>& dims) {
  v->set_name(name);
  auto* t = v->mutable_type()->mutable_tensor_type();
  t->set_elem_type(type);
  t->mutable_shape();
  for (const std::string& d : dims) {
    if (d[0] >= '0' && d[0] <= '9')
      t->mutable_shape()->add_dim()->set_dim_value(std::stoll(d));
    else
      t->mutable_shape()->add_dim()->set_dim_param(d);
  }
}
ModelProto model_of_x(const std::vector<std::string>& dims) {
  ModelProto m;
  m.set_ir_version(10);
  m.add_opset_import()->set_version(18);
  m.add_opset_import()->set_domain("local");
  m.mutable_opset_import(1)->set_version(1);
  declare(m.mutable_graph()->add_input(), "x", 1, dims);
  m.mutable_graph()->add_output()->set_name("y");
  return m;
}

// Returns the outcome: "" if it ran, was refused or ran out of its budget.
std::string outcome(const ModelProto& model) {
  std::string file = model.SerializeAsString();
  std::string text = "ran or refused by the session";
  alarm(kSeconds);
  auto start = std::chrono::steady_clock::now();
  try {
    compile_program(
        import_onnx_bytes({reinterpret_cast<const uint8_t*>(file.data()), file.size()}));
    test::compile_and_run({file.begin(), file.end()});
  } catch (const Error& e) {
    text = e.what();
  }
  alarm(0);
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  EXPECT_LT(used.ru_maxrss, kProcessMemory) << "KiB";
  if (getenv("WICK_HOSTILE_VERBOSE") != nullptr) {
    std::fprintf(stderr, "%.2f s, %ld MiB, file %zu KiB: %s\n",
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                 used.ru_maxrss / 1024, file.size() / 1024, text.substr(0, 300).c_str());
  }
  return text;
}

// F0 is `first`; every other one calls the one before it twice.
ModelProto doubling(int levels, const NodeProto& first, const std::string& call_name) {
  ModelProto m = model_of_x({"2"});
  for (int k = 0; k <= levels; ++k) {
    FunctionProto* f = m.add_functions();
    f->set_name("F" + std::to_string(k)), f->set_domain("local");
    f->add_opset_import()->set_version(18);
    f->add_input("a"), f->add_output("b");
    if (k == 0) {
      *f->add_node() = first;
      continue;
    }
    for (const char* out : {"t", "b"}) {
      NodeProto* n =
          add(f->mutable_node(), "F" + std::to_string(k - 1), {*out == 't' ? "a" : "t"}, {out});
      n->set_domain("local"), n->set_name(call_name);
    }
  }
  add(m.mutable_graph()->mutable_node(), "F" + std::to_string(levels), {"x"}, {"y"})
      ->set_domain("local");
  return m;
}

TEST(Bomb, FunctionsThatDouble) {
  NodeProto relu;
  relu.set_op_type("Relu"), relu.add_input("a"), relu.add_output("b");
  outcome(doubling(10, relu, ""));
  EXPECT_THAT(outcome(doubling(30, relu, "")), HasSubstr("written out"));
  EXPECT_THAT(outcome(doubling(30, relu, std::string(4000, 'n'))), HasSubstr("written out"));
  NodeProto held = relu;
  held.clear_input(), held.set_op_type("Constant");
  auto* a = held.add_attribute();
  a->set_name("value"), a->set_type(AttributeProto::TENSOR);
  a->mutable_t()->set_data_type(1), a->mutable_t()->add_dims(1 << 16);
  a->mutable_t()->set_raw_data(std::string(1 << 18, '\1'));
  EXPECT_THAT(outcome(doubling(30, held, "")), HasSubstr("written out"));
}

// A loop in a loop in a loop ..., each carrying a value that grows.
TEST(Bomb, LoopsInLoops) {
  for (int levels : {4, 12, 28}) {
    ModelProto m = model_of_x({"2", "3"});
    GraphProto* g = m.mutable_graph();
    declare(g->add_input(), "n", 7, {}), declare(g->add_input(), "go", 9, {});
    auto* nodes = g->mutable_node();
    std::string carried = "x", made = "y";
    for (int k = 0; k < levels; ++k) {
      std::string id = std::to_string(k);
      NodeProto* loop = add(nodes, "Loop", {"n", "go", carried}, {made});
      GraphProto* body = subgraph(loop, "body");
      for (const std::string& s : {"i" + id, "g" + id, "c" + id}) body->add_input()->set_name(s);
      add(body->mutable_node(), "Identity", {"g" + id}, {"h" + id});
      if (k + 1 == levels) {
        NodeProto* cat = add(body->mutable_node(), "Concat", {"c" + id, "x"}, {"r" + id});
        cat->add_attribute()->set_name("axis");
        cat->mutable_attribute(0)->set_type(AttributeProto::INT);
        cat->mutable_attribute(0)->set_i(0);
      }
      for (const std::string& s : {"h" + id, "r" + id}) body->add_output()->set_name(s);
      nodes = body->mutable_node();
      carried = "c" + id, made = "r" + id;
    }
    outcome(m);
  }
}

TEST(Bomb, BranchesInBranches) {
  for (int levels : {6, 14, 28}) {
    ModelProto m = model_of_x({"2", "3"});
    GraphProto* g = m.mutable_graph();
    declare(g->add_input(), "go", 9, {});
    auto* nodes = g->mutable_node();
    std::string made = "y";
    for (int k = 0; k < levels; ++k) {
      NodeProto* n = add(nodes, "If", {"go"}, {made});
      GraphProto* no = subgraph(n, "else_branch");
      GraphProto* yes = subgraph(n, "then_branch");
      made = "r" + std::to_string(k);
      no->add_output()->set_name("z" + std::to_string(k));
      add(no->mutable_node(), "Neg", {"x"}, {"z" + std::to_string(k)});
      yes->add_output()->set_name(made);
      nodes = yes->mutable_node();
    }
    add(nodes, "Relu", {"x"}, {made});
    outcome(m);
  }
}

// A long chain: passes must not look at every node for every node.
// Two bytes each, and a hundred times that once they are parsed.
TEST(Bomb, EmptyMessages) {
  constexpr int kMany = 1 << 18;
  ModelProto plain = model_of_x({"2"});
  add(plain.mutable_graph()->mutable_node(), "Relu", {"x"}, {"y"});
  for (int what = 0; what < 6; ++what) {
    ModelProto m = plain;
    NodeProto* node = m.mutable_graph()->mutable_node(0);
    for (int i = 0; i < kMany; ++i) {
      if (what == 0) m.mutable_graph()->add_node();
      if (what == 1) node->add_attribute();
      if (what == 2) m.mutable_graph()->add_initializer();
      if (what == 3) (i == 0 ? node->add_attribute() : node->mutable_attribute(0))->add_graphs();
      if (what == 4) m.mutable_graph()->add_sparse_initializer()->mutable_values();
      if (what == 5) m.add_functions();
    }
    EXPECT_THAT(outcome(m), HasSubstr("most of them are empty")) << what;
  }
}

TEST(Bomb, LongChains) {
  constexpr int kNodes = 20000;
  ModelProto folded = model_of_x({"2"});
  auto* nodes = folded.mutable_graph()->mutable_node();
  TensorProto* one = folded.mutable_graph()->add_initializer();
  one->set_name("t0"), one->set_data_type(1), one->add_dims(1), one->add_float_data(1);
  for (int k = 0; k < kNodes; ++k)
    add(nodes, "Neg", {"t" + std::to_string(k)}, {"t" + std::to_string(k + 1)});
  add(nodes, "Add", {"x", "t" + std::to_string(kNodes)}, {"y"});
  outcome(folded);

  ModelProto same = model_of_x({"2"});
  nodes = same.mutable_graph()->mutable_node();
  for (int k = 0; k < kNodes; ++k) add(nodes, "Neg", {"x"}, {"t" + std::to_string(k)});
  NodeProto* all = add(nodes, "Sum", {}, {"y"});
  for (int k = 0; k < kNodes; ++k) all->add_input("t" + std::to_string(k));
  outcome(same);

  ModelProto outputs = model_of_x({"2"});
  nodes = outputs.mutable_graph()->mutable_node();
  add(nodes, "Relu", {"x"}, {"y"});
  for (int k = 0; k < kNodes; ++k) {
    add(nodes, "Add", {"x", k == 0 ? "x" : "o" + std::to_string(k - 1)}, {"o" + std::to_string(k)});
    outputs.mutable_graph()->add_output()->set_name("o" + std::to_string(k));
  }
  outcome(outputs);
}

TEST(Bomb, ManySymbols) {
  ModelProto m = model_of_x({"a"});
  NodeProto* sum = add(m.mutable_graph()->mutable_node(), "Concat", {"x"}, {"y"});
  sum->add_attribute()->set_name("axis");
  sum->mutable_attribute(0)->set_type(AttributeProto::INT);
  sum->mutable_attribute(0)->set_i(0);
  for (int k = 0; k < 8000; ++k) {
    std::vector<std::string> dims;
    for (int d = 0; d < 8; ++d) dims.push_back("s" + std::to_string(k * 8 + d));
    declare(m.mutable_graph()->add_input(), "i" + std::to_string(k), 1, dims);
    if (k < 200) sum->add_input("i" + std::to_string(k));
  }
  outcome(m);
}

// Sizes that are long expressions, at every node.
TEST(Bomb, LongExpressions) {
  ModelProto m = model_of_x({"a", "b", "c"});
  auto* nodes = m.mutable_graph()->mutable_node();
  std::string at = "x";
  for (int k = 0; k < 3000; ++k) {
    std::string next = "t" + std::to_string(k);
    NodeProto* n = add(nodes, k % 2 == 0 ? "Concat" : "Transpose",
                       k % 2 == 0 ? std::vector<std::string>{at, k % 4 == 0 ? "x" : at}
                                  : std::vector<std::string>{at},
                       {next});
    auto* a = n->add_attribute();
    if (k % 2 == 0) {
      a->set_name("axis"), a->set_type(AttributeProto::INT), a->set_i(k % 3);
    } else {
      a->set_name("perm"), a->set_type(AttributeProto::INTS);
      for (int64_t i : {1, 2, 0}) a->add_ints(i);
    }
    at = next;
  }
  add(nodes, "Relu", {at}, {"y"});
  outcome(m);
}

void constant(GraphProto* g, const std::string& name, const std::vector<int64_t>& dims, int type) {
  TensorProto* t = g->add_initializer();
  t->set_name(name), t->set_data_type(type);
  int64_t n = 1;
  for (int64_t d : dims) t->add_dims(d), n *= d;
  for (int64_t i = 0; i < n; ++i) type == 1 ? t->add_float_data(1) : t->add_int64_data(0);
}

// Regions of 2^20 samples on the image in each of 10^4 bins, all of it constant: for the reader,
// who looks for the shape that Reshape takes, and for folding. Whoever runs it has a deadline.
TEST(Bomb, SamplesOfConstantRegions) {
  ModelProto m = model_of_x({"1", "1"});
  GraphProto* g = m.mutable_graph();
  constant(g, "image", {1, 1, 2, 2}, 1), constant(g, "regions", {1, 4}, 1),
      constant(g, "which", {1}, 7);
  for (const char* pooled : {"p", "q"}) {
    NodeProto* n = add(g->mutable_node(), "RoiAlign", {"image", "regions", "which"}, {pooled});
    for (auto [name, value] : {std::pair{"output_height", *pooled == 'p' ? 1 : 100},
                               {"output_width", *pooled == 'p' ? 6 : 100},
                               {"sampling_ratio", 1024}}) {
      auto* a = n->add_attribute();
      a->set_name(name), a->set_type(AttributeProto::INT), a->set_i(value);
    }
  }
  constant(g, "line", {1}, 7);
  g->mutable_initializer(3)->set_int64_data(0, -1);
  add(g->mutable_node(), "Reshape", {"p", "line"}, {"flat"});
  auto* to = add(g->mutable_node(), "Cast", {"flat"}, {"shape"})->add_attribute();
  to->set_name("to"), to->set_type(AttributeProto::INT), to->set_i(7);
  add(g->mutable_node(), "Reshape", {"x", "shape"}, {"y"});
  g->add_output()->set_name("q");
  const std::string file = m.SerializeAsString();
  alarm(kSeconds);
  const std::vector<uint8_t> bytes = compile_program(
      import_onnx_bytes({reinterpret_cast<const uint8_t*>(file.data()), file.size()}));
  auto program = Program::load(Span<const uint8_t>(bytes.data(), bytes.size()));
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE(Session::create(**program).ok());
  alarm(0);
}

}  // namespace
}  // namespace wick
