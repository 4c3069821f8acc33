// Sequences and optionals of ONNX models: read, run every way, written back; every attribute and
// input form of their documentation.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ir/packed.h"
#include "tests/exporter/model_builder.h"
#include "tests/support/error_of.h"
#include "wick/error.h"

namespace wick {
namespace {

using namespace test;  // NOLINT: the models' words
using onnx::TypeProto;
using ::testing::HasSubstr;

TypeProto tensor_type(DType dtype) {
  TypeProto t;
  t.mutable_tensor_type()->set_elem_type(static_cast<int32_t>(dtype));
  return t;
}
TypeProto sequence_type(DType dtype) {
  TypeProto t;
  *t.mutable_sequence_type()->mutable_elem_type() = tensor_type(dtype);
  return t;
}
TypeProto optional_type(const TypeProto& of) {
  TypeProto t;
  *t.mutable_optional_type()->mutable_elem_type() = of;
  return t;
}
NodeProto with_type(NodeProto n, const TypeProto& type) {
  *attribute(n, "type", AttributeProto::TYPE_PROTO).mutable_tp() = type;
  return n;
}

HostTensor seq(const std::vector<HostTensor>& elements, DType dtype = DType::kF32) {
  return pack(DType::kSequence, dtype, elements);
}
HostTensor opt(const std::vector<HostTensor>& element) {
  return pack(DType::kOptional, DType::kF32, element);
}
HostTensor opt_seq(const std::vector<HostTensor>& elements, bool present = true) {
  return pack(DType::kOptionalSequence, DType::kF32, elements, present);
}

void expect_rows(const HostTensor& packed, const std::vector<std::vector<float>>& want) {
  const Unpacked u = unpack(packed);
  ASSERT_EQ(u.elements.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(same_bits(u.elements[i], row(want[i]))) << "element " << i;
}

// Returns how many nodes of the graph as read, regions included, take or return sequences or
// optionals.
int container_nodes(const ir::Graph& g) {
  int n = 0;
  for (const ir::Node& node : g.nodes()) {
    if (node.removed()) continue;
    n += takes_containers(node.op) && node.op != OpId::kIdentity ? 1 : 0;
    for (const ir::Graph& region : node.regions) n += container_nodes(region);
  }
  return n;
}

// -- what is known when the model is read leaves tensors only

TEST(SequenceOnnx, KnownSequencesLeaveNoTrace) {
  Build b;
  b.input("x", DType::kF32, {"2"}).input("y", DType::kF32, {"n"}).constant("one", number(1));
  b.constant("last", number(-1)).constant("zero", number(0));
  b.add(node("SequenceEmpty", {}, {"s0"}));
  b.add(node("SequenceInsert", {"s0", "x"}, {"s1"}));
  b.add(node("SequenceInsert", {"s1", "y", "zero"}, {"s2"}));
  b.add(node("SequenceInsert", {"s2", "x", "last"}, {"s3"}));  // y, x, x
  b.add(node("SequenceErase", {"s3", "one"}, {"s4"}));         // y, x
  b.add(node("SequenceLength", {"s4"}, {"n"}));
  b.add(node("SequenceAt", {"s4", "last"}, {"a"}));
  b.add(with_int(node("ConcatFromSequence", {"s4"}, {"c"}), "axis", -1));
  b.add(node("SequenceErase", {"s4"}, {"s5"}));
  b.add(node("SequenceAt", {"s5", "zero"}, {"f"}));
  b.output("n").output("a").output("c").output("f");
  EXPECT_EQ(container_nodes(import_onnx_bytes(b.bytes())), 0);
  auto out = run_all(b, {row({1, 2}), row({3, 4, 5})});
  EXPECT_EQ(*out[0].as<int64_t>(), 2);
  EXPECT_EQ(out[0].shape(), Shape{});
  EXPECT_TRUE(same_bits(out[1], row({1, 2})));
  EXPECT_TRUE(same_bits(out[2], row({3, 4, 5, 1, 2})));
  EXPECT_TRUE(same_bits(out[3], row({3, 4, 5})));
}

TEST(SequenceOnnx, SplitsIntoKnownParts) {
  struct Form {
    int64_t axis, keepdims;
    HostTensor sizes;
    std::vector<Shape> shapes;
  };
  const Form forms[] = {
      {0, 1, HostTensor(), {{1, 3}, {1, 3}}},
      {0, 0, HostTensor(), {{3}, {3}}},
      {-1, 0, HostTensor(), {{2}, {2}, {2}}},
      {1, 0, number(2), {{2, 2}, {2, 1}}},  // keepdims does not count with sizes
      {-1, 1, HostTensor::ints(std::vector<int64_t>{1, 0, 2}), {{2, 1}, {2, 0}, {2, 2}}},
  };
  for (const Form& f : forms) {
    for (bool known : {true, false}) {
      SCOPED_TRACE(fmt::format("axis {} keepdims {} known {}", f.axis, f.keepdims, known));
      Build b(18);
      b.input("x", DType::kF32, known ? Names{"2", "3"} : Names{"r", "c"});
      std::vector<HostTensor> in = {matrix(2, {1, 2, 3, 4, 5, 6})};
      if (f.sizes.present() && known) b.constant("k", f.sizes);
      if (f.sizes.present() && !known) {
        b.input("k", DType::kI64, f.sizes.shape().rank() == 0 ? Names{} : Names{"3"});
        in.push_back(f.sizes);
      }
      NodeProto n =
          node("SplitToSequence", f.sizes.present() ? Names{"x", "k"} : Names{"x"}, {"s"});
      n = with_int(with_int(n, "axis", f.axis), "keepdims", f.keepdims);
      b.add(n).add(node("Identity", {"s"}, {"t"})).output("t");
      b.add(node("SequenceLength", {"t"}, {"n"})).output("n");
      auto out = run_all(b, in);
      ASSERT_FALSE(out.empty());
      const Unpacked u = unpack(out[0]);
      ASSERT_EQ(u.elements.size(), f.shapes.size());
      EXPECT_EQ(*out[1].as<int64_t>(), static_cast<int64_t>(f.shapes.size()));
      float first = 1;
      for (size_t i = 0; i < f.shapes.size(); ++i) {
        EXPECT_EQ(u.elements[i].shape(), f.shapes[i]) << to_text(u.elements[i].shape()).text;
        if (u.elements[i].numel() > 0) {
          EXPECT_EQ(u.elements[i].as<float>()[0], first);
        }
        const int axis = static_cast<int>(f.axis < 0 ? 1 : f.axis);
        const bool kept = f.sizes.present() || f.keepdims != 0;
        first += static_cast<float>((kept ? f.shapes[i][axis] : 1) * (axis == 0 ? 3 : 1));
      }
    }
  }
}

// -- at run time

TEST(SequenceOnnx, SequencesComeInAndGoOut) {
  Build b;
  b.input("s", sequence_type(DType::kF32)).input("x", DType::kF32, {"n"});
  b.input("p", DType::kI64, {}).input("q", DType::kI32, {});
  b.add(node("SequenceInsert", {"s", "x", "p"}, {"put"}));
  b.add(node("SequenceInsert", {"s", "x"}, {"behind"}));
  b.add(node("SequenceErase", {"put", "q"}, {"less"}));
  b.add(node("SequenceErase", {"put"}, {"short"}));
  b.add(node("SequenceAt", {"put", "q"}, {"at"}));
  b.add(node("SequenceLength", {"put"}, {"n"}));
  b.add(with_int(node("ConcatFromSequence", {"put"}, {"all"}), "axis", 0));
  for (const char* out : {"put", "behind", "less", "short", "at", "n", "all"}) b.output(out);
  int32_t q = -3;
  auto out = run_all(b, {seq({row({1}), row({2, 3})}), row({4, 5, 6}), number(-1),
                         HostTensor(DType::kI32, Shape{}, &q, sizeof(q))});
  ASSERT_EQ(out.size(), 7u);
  expect_rows(out[0], {{1}, {4, 5, 6}, {2, 3}});
  expect_rows(out[1], {{1}, {2, 3}, {4, 5, 6}});
  expect_rows(out[2], {{4, 5, 6}, {2, 3}});
  expect_rows(out[3], {{1}, {4, 5, 6}});
  EXPECT_TRUE(same_bits(out[4], row({1})));
  EXPECT_EQ(*out[5].as<int64_t>(), 3);
  EXPECT_TRUE(same_bits(out[6], row({1, 4, 5, 6, 2, 3})));
}

TEST(SequenceOnnx, ConcatenatesOnOldAndNewAxes) {
  const HostTensor a = matrix(2, {1, 2, 3, 4}), c = matrix(2, {5, 6, 7, 8});
  struct Form {
    int64_t axis, new_axis;
    Shape shape;
    float third;
  };
  for (const Form& f : {Form{0, 0, {4, 2}, 3}, Form{-1, 0, {2, 4}, 5}, Form{0, 1, {2, 2, 2}, 3},
                        Form{-1, 1, {2, 2, 2}, 2}, Form{1, 1, {2, 2, 2}, 5}}) {
    for (bool known : {true, false}) {
      SCOPED_TRACE(fmt::format("axis {} new {} known {}", f.axis, f.new_axis, known));
      Build b;
      NodeProto n = with_int(with_int(node("ConcatFromSequence", {"s"}, {"y"}), "axis", f.axis),
                             "new_axis", f.new_axis);
      if (known) {
        b.input("a", DType::kF32, {"r", "2"}).input("c", DType::kF32, {"r", "2"});
        b.add(node("SequenceConstruct", {"a", "c"}, {"s"}));
      } else {
        b.input("s", sequence_type(DType::kF32));
      }
      b.add(n).output("y");
      auto out =
          run_all(b, known ? std::vector<HostTensor>{a, c} : std::vector<HostTensor>{seq({a, c})});
      ASSERT_FALSE(out.empty());
      EXPECT_EQ(out[0].shape(), f.shape);
      EXPECT_EQ(out[0].as<float>()[2], f.third);
    }
  }
}

// The element's shape is known behind a loop that only appends: what comes then may need the rank.
TEST(SequenceOnnx, LoopsCarrySequences) {
  Build b;
  b.input("m", DType::kI64, {}).input("x", DType::kF32, {"n"});
  b.add(node("SequenceEmpty", {}, {"s0"}));
  GraphProto g =
      body({node("SequenceInsert", {"s", "x"}, {"s_out"}), node("Identity", {"go"}, {"more"})},
           {"i", "go", "s"}, {"more", "s_out"});
  b.add(with_graph(node("Loop", {"m", "", "s0"}, {"s1"}), "body", g));
  b.add(with_int(with_int(node("ConcatFromSequence", {"s1"}, {"y"}), "axis", 0), "new_axis", 1));
  b.add(node("Transpose", {"y"}, {"z"})).output("z");
  b.add(node("SequenceLength", {"s1"}, {"n"})).output("n");
  const ir::Graph read = import_onnx_bytes(b.bytes());
  EXPECT_THAT(ir::print(read), HasSubstr("sequence<float32> [n]"));
  for (int64_t trips : {1, 4}) {
    auto out = run_all(b, {number(trips), row({1, 2})});
    ASSERT_FALSE(out.empty());
    EXPECT_EQ(out[0].shape(), (Shape{2, trips}));
    EXPECT_EQ(*out[1].as<int64_t>(), trips);
  }
  EXPECT_THAT(error_of([&] {
                ir::run(read, std::vector<HostTensor>{number(0), row({1, 2})});
              }),
              HasSubstr("an empty sequence has nothing to concatenate"));
}

// ONNX's own example of a loop whose carried optional becomes a sequence in the first trip.
TEST(SequenceOnnx, AnOptionalThatATripFills) {
  Build b;
  b.input("m", DType::kI64, {}).input("o", optional_type(sequence_type(DType::kF32)));
  b.input("x", DType::kF32, {"1"});
  GraphProto empty = body({node("SequenceConstruct", {"x"}, {"made"})}, {}, {"made"});
  GraphProto there = body({node("OptionalGetElement", {"o_in"}, {"held"})}, {}, {"held"});
  GraphProto g =
      body({node("OptionalHasElement", {"o_in"}, {"has"}), node("Not", {"has"}, {"none"}),
            with_graph(with_graph(node("If", {"none"}, {"s"}), "then_branch", empty), "else_branch",
                       there),
            node("SequenceInsert", {"s", "x"}, {"s_out"}), node("Identity", {"go"}, {"more"})},
           {"i", "go", "o_in"}, {"more", "s_out"});
  b.add(with_graph(node("Loop", {"m", "", "o"}, {"s1"}), "body", g)).output("s1");
  expect_rows(run_all(b, {number(2), opt_seq({}, false), row({7})})[0], {{7}, {7}, {7}});
  expect_rows(run_all(b, {number(2), opt_seq({row({1})}), row({7})})[0], {{1}, {7}, {7}});
}

TEST(SequenceOnnx, BranchesGiveSequencesAndOptionals) {
  for (bool optional : {false, true}) {
    Build b(16);
    b.input("c", DType::kBool, {}).input("x", DType::kF32, {"n"});
    GraphProto yes = body({node("SequenceConstruct", {"x", "x"}, {"s"})}, {}, {"s"});
    GraphProto no = body({node("SequenceEmpty", {}, {"e"})}, {}, {"e"});
    if (optional) {
      *yes.add_node() = node("Optional", {"s"}, {"t"});
      yes.mutable_output(0)->set_name("t");
      no = body({with_type(node("Optional", {}, {"e"}), sequence_type(DType::kF32))}, {}, {"e"});
    }
    b.add(with_graph(with_graph(node("If", {"c"}, {"r"}), "then_branch", yes), "else_branch", no));
    b.add(node("Identity", {"r"}, {"out"})).output("out");
    for (bool c : {true, false}) {
      auto out = run_all(b, {flag(c), row({1, 2})});
      ASSERT_FALSE(out.empty());
      EXPECT_EQ(out[0].dtype(), optional ? DType::kOptionalSequence : DType::kSequence);
      EXPECT_EQ(unpack(out[0]).elements.size(), c ? 2u : 0u);
      EXPECT_EQ(unpack(out[0]).present, c || !optional);
    }
  }
}

TEST(SequenceOnnx, MapsOverSequences) {
  // x * w and their shapes, of two sequences and a tensor
  GraphProto g = body({node("Mul", {"a", "b"}, {"ab"}), node("Add", {"ab", "w"}, {"r"}),
                       node("Shape", {"a"}, {"n"})},
                      {"a", "b", "w"}, {"r", "n"});
  const std::vector<HostTensor> a = {row({1, 2}), row({3})}, c = {row({10, 10}), row({20})};
  for (bool typed : {false, true}) {
    GraphProto typed_body = g;
    if (typed) {
      *typed_body.mutable_output(0)->mutable_type() = tensor_type(DType::kF32);
      *typed_body.mutable_output(1)->mutable_type() = tensor_type(DType::kI64);
    }
    Build b;
    b.input("s", sequence_type(DType::kF32)).input("t", sequence_type(DType::kF32));
    b.input("w", DType::kF32, {"1"});
    b.add(with_graph(node("SequenceMap", {"s", "t", "w"}, {"u", "v"}), "body", typed_body));
    b.output("u").output("v");
    auto out = run_all(b, {seq(a), seq(c), row({1})});
    ASSERT_EQ(out.size(), 2u);
    expect_rows(out[0], {{11, 21}, {61}});
    EXPECT_EQ(*unpack(out[1]).elements[0].as<int64_t>(), 2);
    auto none = run_all(b, {seq({}), seq({}), row({1})});
    ASSERT_EQ(none.size(), 2u);
    EXPECT_EQ(unpack(none[1]).element, DType::kI64);
  }
  // of known sequences, written out
  Build b;
  b.input("x", DType::kF32, {"2"}).input("y", DType::kF32, {"1"}).input("w", DType::kF32, {"1"});
  b.add(node("SequenceConstruct", {"x", "y"}, {"s"}));
  b.add(with_graph(node("SequenceMap", {"s", "s", "w"}, {"u", "v"}), "body", g));
  b.add(with_int(node("ConcatFromSequence", {"u"}, {"all"}), "axis", 0)).output("all");
  EXPECT_EQ(container_nodes(import_onnx_bytes(b.bytes())), 0);
  EXPECT_TRUE(same_bits(run_all(b, {row({1, 2}), row({3}), row({1})})[0], row({2, 5, 10})));
}

TEST(SequenceOnnx, OptionalsThatMayBeAbsent) {
  Build b(18);
  b.input("o", optional_type(tensor_type(DType::kF32)));
  b.input("s", optional_type(sequence_type(DType::kF32)));
  b.input("x", DType::kF32, {"n"});
  b.add(node("OptionalHasElement", {"o"}, {"has"}));
  b.add(node("OptionalHasElement", {"s"}, {"has_s"}));
  b.add(node("OptionalHasElement", {"x"}, {"has_x"}));
  b.add(node("OptionalHasElement", {}, {"has_none"}));
  b.add(node("OptionalHasElement", {""}, {"has_empty"}));
  b.add(node("OptionalGetElement", {"x"}, {"same"}));
  b.add(node("Identity", {"o"}, {"o2"}));
  for (const char* out : {"has", "has_s", "has_x", "has_none", "has_empty", "same", "o2"})
    b.output(out);
  for (bool there : {true, false}) {
    std::vector<HostTensor> held;
    if (there) held.push_back(row({5}));
    auto out = run_all(b, {opt(held), opt_seq({}, there), row({1})});
    ASSERT_EQ(out.size(), 7u);
    for (size_t i : {0u, 1u}) EXPECT_EQ(*out[i].as<uint8_t>(), there ? 1 : 0);
    EXPECT_EQ(*out[2].as<uint8_t>(), 1);
    for (size_t i : {3u, 4u}) EXPECT_EQ(*out[i].as<uint8_t>(), 0);
    EXPECT_TRUE(same_bits(out[5], row({1})));
    EXPECT_EQ(unpack(out[6]).elements.size(), held.size());
  }
  Build get;
  get.input("o", optional_type(tensor_type(DType::kF32)));
  get.add(node("OptionalGetElement", {"o"}, {"x"})).add(node("Neg", {"x"}, {"y"})).output("y");
  EXPECT_TRUE(same_bits(run_all(get, {opt({row({2})})})[0], row({-2})));
  const ir::Graph g = import_onnx_bytes(get.bytes());
  EXPECT_THAT(error_of([&] { ir::run(g, std::vector<HostTensor>{opt({})}); }),
              HasSubstr("the optional has no element"));
}

TEST(SequenceOnnx, TheTextFormSaysTheType) {
  Build b;
  b.input("s", sequence_type(DType::kF32)).input("o", optional_type(sequence_type(DType::kI64)));
  b.add(node("Identity", {"s"}, {"t"})).output("t");
  b.add(node("SequenceEmpty", {}, {"e"})).output("e");
  b.add(node("OptionalHasElement", {"o"}, {"has"})).output("has");
  const ir::Graph g = import_onnx_bytes(b.bytes());
  const std::string text = ir::print(g, true);
  EXPECT_THAT(text, HasSubstr("input %0 \"s\" sequence<float32> ?"));
  EXPECT_THAT(text, HasSubstr("input %1 \"o\" optional<sequence<int64>> ?"));
  EXPECT_THAT(text, HasSubstr("\"e\" sequence<float32> none"));
  EXPECT_EQ(ir::print(ir::parse_graph(text), true), text);
  std::string bad = text;
  bad.replace(bad.find("sequence<float32>"), 17, "sequence<float32 ");
  EXPECT_NE(error_of([&] { ir::parse_graph(bad); }), "no error");
}

TEST(SequenceOnnx, WhatIsWrongIsSaid) {
  auto why = [](const std::function<void(Build&)>& make) {
    Build b;
    b.input("x", DType::kF32, {"2"}).input("i", DType::kI64, {"2"});
    b.input("s", sequence_type(DType::kF32)).constant("five", number(5));
    b.add(node("SequenceConstruct", {"x", "x", "x"}, {"three"}));
    make(b);
    b.output("y");
    return error_of([&] { import_onnx_bytes(b.bytes()); });
  };
  auto one = [&](const NodeProto& n) { return why([&](Build& b) { b.add(n); }); };
  EXPECT_THAT(one(node("SequenceAt", {"three", "five"}, {"y"})),
              HasSubstr("SequenceAt 'y': position 5 of a sequence of 3: -3 to 2 are allowed"));
  EXPECT_THAT(one(node("SequenceConstruct", {"x", "i"}, {"y"})),
              HasSubstr("a sequence of float32 cannot take int64"));
  EXPECT_THAT(one(node("SequenceInsert", {"s", "i"}, {"y"})),
              HasSubstr("elements of float32 and of int64 in one sequence"));
  EXPECT_THAT(one(node("SequenceAt", {"x", "five"}, {"y"})), HasSubstr("'x' is no sequence"));
  EXPECT_THAT(one(node("Add", {"s", "s"}, {"y"})),
              HasSubstr("input 's' is a sequence or an optional, must be a tensor"));
  EXPECT_EQ(one(node("OptionalGetElement", {"s"}, {"y"})), "no error");  // as since opset 18
  EXPECT_THAT(one(node("Optional", {}, {"y"})), HasSubstr("it needs the attribute 'type'"));
  EXPECT_THAT(one(node("ConcatFromSequence", {"s"}, {"y"})), HasSubstr("'axis' is required"));
  EXPECT_THAT(one(with_int(node("SequenceEmpty", {}, {"y"}), "dtype", 99)),
              HasSubstr("attribute 'dtype' is 99"));
  EXPECT_THAT(why([](Build& b) {
                TypeProto nested;
                *nested.mutable_sequence_type()->mutable_elem_type() = sequence_type(DType::kF32);
                b.input("z", nested).add(node("Identity", {"z"}, {"y"}));
              }),
              HasSubstr("sequences of sequences are not supported"));
  GraphProto stack = body({node("Identity", {"go"}, {"more"}), node("Identity", {"s"}, {"t"})},
                          {"i", "go"}, {"more", "t"});
  EXPECT_THAT(one(with_graph(node("Loop", {"five", ""}, {"y"}), "body", stack)),
              HasSubstr("cannot be stacked"));
}

}  // namespace
}  // namespace wick
