// Nodes with inputs or attributes that their operator does not have: each is an error that names
// the node and the attribute, never a model that gives other numbers.
#include "exporter/onnx/read/signature.h"

#include <gmock/gmock.h>

#include "tests/exporter/library_signatures.h"
#include "tests/exporter/model_builder.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Signature, IsThatOfLibonnxUpToOpset17) {
  const std::vector<LibrarySignature> all = library_signatures();
  ASSERT_GT(all.size(), 300u);
  for (const LibrarySignature& s : all) {
    const onnx::OperatorVersion* ours = onnx::find_version(s.name, s.since);
    ASSERT_NE(ours, nullptr) << s.name;
    EXPECT_EQ(ours->since, s.since) << s.name;
    EXPECT_EQ(ours->inputs.letters, s.inputs) << s.name << " " << s.since;
    EXPECT_EQ(ours->attributes, s.attributes) << s.name << " " << s.since;
  }
}

// One node 'it' of these inputs, which are x (float32 [2,3]), c (int64 [1]) or "".
Build model_of(const NodeProto& n, int64_t opset) {
  Build b(opset);
  b.input("x", DType::kF32, {"2", "3"}).constant("c", HostTensor::ints(std::vector<int64_t>{1}));
  NodeProto named = n;
  named.set_name("it");
  b.add(named).output(n.output(0));
  return b;
}
std::string reading(const NodeProto& n, int64_t opset) {
  return error_of([&] { import_onnx_bytes(model_of(n, opset).bytes()); });
}
NodeProto with_float(NodeProto n, const std::string& name, float v) {
  attribute(n, name, AttributeProto::FLOAT).set_f(v);
  return n;
}

TEST(Signature, AttributesThatAreNone) {
  const NodeProto softmax = node("Softmax", {"x"}, {"y"}), sum = node("ReduceSum", {"x"}, {"y"});
  EXPECT_EQ(reading(with_int(softmax, "axis", 1), 17), "no error");
  EXPECT_EQ(reading(with_int(softmax, "axes", 1), 17),
            "Softmax 'it': attribute 'axes' is not one of 'axis' (Softmax of opset 17)");
  EXPECT_EQ(reading(with_int(node("Relu", {"x"}, {"y"}), "alpha", 1), 17),
            "Relu 'it': attribute 'alpha' is unknown: Relu of opset 17 has none");
  // what became an input would be passed over: all axes instead of one
  EXPECT_EQ(reading(with_ints(sum, "axes", {1}), 11), "no error");
  EXPECT_THAT(reading(with_ints(sum, "axes", {1}), 13), HasSubstr("attribute 'axes' is not one"));
  EXPECT_THAT(reading(with_float(node("Clip", {"x"}, {"y"}), "min", 0), 11), HasSubstr("'min'"));
  EXPECT_EQ(reading(with_float(node("Clip", {"x"}, {"y"}), "min", 0), 6), "no error");
  // and so would what only a later opset has
  const NodeProto gelu = node("ReduceMax", {"x"}, {"y"});
  EXPECT_THAT(reading(with_int(gelu, "noop_with_empty_axes", 1), 13), HasSubstr("opset 13"));
  EXPECT_THAT(reading(with_int(with_int(softmax, "axis", 0), "axis", 1), 17),
              HasSubstr("attribute 'axis' is given twice"));
  NodeProto ref = with_int(softmax, "axis", 0);
  ref.mutable_attribute(0)->set_ref_attr_name("way");
  EXPECT_THAT(reading(ref, 17), HasSubstr("attribute 'axis' stands for 'way' of a function"));
  EXPECT_THAT(reading(node("Cast", {"x"}, {"y"}), 13), HasSubstr("attribute 'to' is required"));
}

TEST(Signature, AttributesThatSayNothing) {
  EXPECT_EQ(reading(with_ints(node("Relu", {"x"}, {"y"}), "consumed_inputs", {0}), 17), "no error");
  EXPECT_EQ(reading(with_int(node("Relu", {"x"}, {"y"}), "__hint", 1), 17), "no error");
  const NodeProto dropout = node("Dropout", {"x"}, {"y"});
  EXPECT_EQ(reading(with_float(dropout, "ratio", 0.1f), 13), "no error");
  EXPECT_EQ(reading(with_int(dropout, "is_test", 1), 13), "no error");
  EXPECT_THAT(reading(with_int(dropout, "is_test", 0), 13), HasSubstr("'is_test' is not one of"));
  EXPECT_THAT(reading(with_int(node("Relu", {"x"}, {"y"}), "is_test", 1), 13), HasSubstr("none"));
}

TEST(Signature, AttributesOfAnotherType) {
  const NodeProto softmax = node("Softmax", {"x"}, {"y"});
  EXPECT_EQ(reading(with_float(softmax, "axis", 1), 17),
            "Softmax 'it': attribute 'axis' is FLOAT, expected INT");
  // one that is looked at only beside others
  EXPECT_THAT(
      reading(with_ints(with_int(node("TopK", {"x", "c"}, {"y", "z"}), "axis", 1), "sorted", {1}),
              11),
      HasSubstr("attribute 'sorted' is INTS, expected INT"));
  NodeProto untyped = with_int(softmax, "axis", 1);
  untyped.mutable_attribute(0)->clear_type();
  EXPECT_EQ(reading(untyped, 17), "no error");
}

TEST(Signature, InputsTooManyOrMissing) {
  EXPECT_EQ(reading(node("Relu", {"x", "x"}, {"y"}), 17),
            "Relu 'it': has 2 inputs, Relu of opset 17 takes at most 1");
  EXPECT_EQ(reading(node("Relu", {"x", ""}, {"y"}), 17), "no error");  // nobody is behind x
  EXPECT_THAT(reading(node("Clip", {"x", "c", "c"}, {"y"}), 6), HasSubstr("has 3 inputs"));
  EXPECT_EQ(reading(node("Gather", {"x"}, {"y"}), 17),
            "Gather 'it': input 1 is required (Gather of opset 17)");
  EXPECT_THAT(reading(node("Gather", {"", "c"}, {"y"}), 17), HasSubstr("input 0 is required"));
  EXPECT_THAT(reading(node("Sum", {}, {"y"}), 17), HasSubstr("input 0 is required"));
  EXPECT_THAT(reading(node("Slice", {"x", "c"}, {"y"}), 13), HasSubstr("input 2 is required"));
}

// These nodes fit the signature but contradict themselves.
TEST(Signature, AttributesThatContradict) {
  NodeProto two = with_int(node("Constant", {}, {"y"}), "value_int", 1);
  EXPECT_EQ(reading(two, 13), "no error");
  EXPECT_THAT(reading(with_float(two, "value_float", 1), 13),
              HasSubstr("has 'value_int' and 'value_float', one is its value"));
  EXPECT_THAT(reading(node("Constant", {}, {"y"}), 13), HasSubstr("has no value"));
  EXPECT_THAT(reading(with_int(node("Split", {"x"}, {"y", "z"}), "num_outputs", 3), 18),
              HasSubstr("num_outputs is 3, it names 2 outputs"));
  EXPECT_THAT(reading(with_int(node("RNN", {"x", "x", "x"}, {"y"}), "hidden_size", -1), 14),
              HasSubstr("hidden_size must be >= 1"));
  Build b(19);
  b.input("x", DType::kF32, {"1", "1", "3", "3"}).input("w", DType::kF32, {"1", "1", "2", "2"});
  b.input("o", DType::kF32, {"1", "8", "2", "2"});
  b.add(with_ints(node("DeformConv", {"x", "w", "o"}, {"y"}), "kernel_shape", {3, 3})).output("y");
  EXPECT_THAT(error_of([&] { import_onnx_bytes(b.bytes()); }),
              HasSubstr("kernel_shape differs from the weight"));
  NodeProto resize = node("Resize", {"x", "", "", "c"}, {"y"});
  AttributeProto& policy = attribute(resize, "keep_aspect_ratio_policy", AttributeProto::STRING);
  policy.set_s("bogus");
  EXPECT_THAT(reading(resize, 18), HasSubstr("keep_aspect_ratio_policy"));
}

TEST(Signature, ListsOfAScan) {
  auto scanning = [](const char* name, const std::vector<int64_t>& list, const Names& inputs) {
    Build b(11);
    b.input("s", DType::kF32, {"2"}).input("a", DType::kF32, {"3", "2"});
    NodeProto scan = with_graph(
        node("Scan", {"s", "a"}, {"y", "z"}), "body",
        body({node("Add", inputs, {"o"}), node("Identity", {"o"}, {"p"})}, inputs, {"o", "p"}));
    b.add(with_ints(with_int(scan, "num_scan_inputs", 1), name, list)).output("z");
    return error_of([&] { import_onnx_bytes(b.bytes()); });
  };
  const Names two = {"v", "w"};
  EXPECT_EQ(scanning("scan_input_directions", {1}, two), "no error");
  EXPECT_THAT(scanning("scan_input_directions", {1, 0}, two), HasSubstr("has 2 numbers, for 1"));
  EXPECT_THAT(scanning("scan_output_directions", {2}, two), HasSubstr("has a direction 2"));
  EXPECT_THAT(scanning("scan_output_axes", {0, 0}, two), HasSubstr("has 2 numbers, for 1"));
  EXPECT_THAT(scanning("scan_output_axes", {0}, {"v", "v"}), HasSubstr("'v' of a subgraph is"));
}

TEST(Signature, CallsOfFunctions) {
  auto calling = [](const std::function<void(NodeProto&)>& change) {
    Build b;
    auto& import = *b.model.add_opset_import();
    import.set_domain("my"), import.set_version(1);
    auto& f = *b.model.add_functions();
    f.set_name("F"), f.set_domain("my");
    f.add_input("a"), f.add_output("b"), f.add_attribute("slope");
    f.add_opset_import()->set_version(17);
    *f.add_node() = node("Relu", {"a"}, {"b"});
    NodeProto call = node("F", {"x"}, {"y"});
    call.set_domain("my"), call.set_name("it");
    change(call);
    b.input("x", DType::kF32, {"2"}).add(call).output("y");
    return error_of([&] { import_onnx_bytes(b.bytes()); });
  };
  EXPECT_EQ(calling([](NodeProto& n) { n = with_float(n, "slope", 1); }), "no error");
  EXPECT_THAT(calling([](NodeProto& n) { n = with_float(n, "slop", 1); }),
              AllOf(HasSubstr("F 'it'"), HasSubstr("attribute 'slop' is none of the function's")));
  EXPECT_THAT(calling([](NodeProto& n) { n.add_input("x"); }), HasSubstr("has 2 inputs"));
  EXPECT_THAT(calling([](NodeProto& n) { n.add_output("z"); }), HasSubstr("has 2 outputs"));
}

}  // namespace
}  // namespace wick::test
