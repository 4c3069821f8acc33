// Operators as onnx 1.23 has them, opset 28 and IR 14, with values from its node tests; and models
// newer than that.
#include <gmock/gmock.h>

#include "exporter/onnx/operators.h"
#include "runtime/core/half.h"
#include "tests/exporter/model_builder.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Build newest() {
  Build b(28);
  b.model.set_ir_version(14);
  return b;
}
NodeProto with_string(NodeProto n, const std::string& name, const std::string& v) {
  attribute(n, name, AttributeProto::STRING).set_s(v);
  return n;
}
template <class T>
HostTensor vector_of(const std::vector<T>& v) {
  return HostTensor::of(Shape{static_cast<int64_t>(v.size())}, v);
}
HostTensor bf16_row(const std::vector<float>& v) {
  std::vector<BFloat16> halves;
  for (float x : v) halves.emplace_back(x);
  return vector_of(halves);
}

TEST(Newest, BitShiftOfSignedIntegers) {
  const auto shifted = [](const char* way, const std::vector<int8_t>& x,
                          const std::vector<int8_t>& y) {
    Build b = newest();
    b.input("x", DType::kI8, {"n"}).input("y", DType::kI8, {"n"});
    b.add(with_string(node("BitShift", {"x", "y"}, {"z"}), "direction", way)).output("z");
    return run_all(b, {vector_of(x), vector_of(y)})[0];
  };
  // the sign fills what a right shift leaves, and is all that is left of it behind the last bit
  EXPECT_TRUE(same_bits(shifted("RIGHT", {-16, -1, 4, -1, 1, -8, 8}, {1, 4, 2, 8, 8, -1, -1}),
                        vector_of<int8_t>({-8, -1, 1, -1, 0, -1, 0})));
  EXPECT_TRUE(same_bits(shifted("LEFT", {-16, 64, 3, -1, 1}, {1, 1, 2, 8, -1}),
                        vector_of<int8_t>({-32, -128, 12, 0, 0})));
}

TEST(Newest, ModOfFloatsHasTheSignOfTheDivisor) {
  const auto reading = [](int64_t opset) {
    Build b(opset);
    b.input("x", DType::kF32, {"n"}).input("y", DType::kF32, {"n"});
    b.add(node("Mod", {"x", "y"}, {"z"})).output("z");
    return b;
  };
  const std::vector<HostTensor> in = {row({-4.3f, 7.2f, 5, 4.3f, -7.2f, 8, 3, -3}),
                                      row({2.1f, -3.4f, 8, -2.1f, 3.4f, 5, INFINITY, INFINITY})};
  const HostTensor z = ir::run(import_onnx_bytes(reading(28).bytes()), in)[0];
  const float want[] = {
      2 * 2.1f - 4.3f + 2.1f, 7.2f - 3 * 3.4f, 5, 4.3f - 3 * 2.1f, 3 * 3.4f - 7.2f, 3, 3, INFINITY};
  for (int i = 0; i < 8; ++i) {
    if (std::isinf(want[i])) {
      EXPECT_EQ(z.as<float>()[i], want[i]);
    } else {
      EXPECT_NEAR(z.as<float>()[i], want[i], 2e-6f) << i;
    }
  }
  EXPECT_THAT(error_of([&] { import_onnx_bytes(reading(27).bytes()); }),
              HasSubstr("needs fmod = 1 for floating-point types"));
}

TEST(Newest, SpaceToDepthInBothOrders) {
  const auto rearranged = [](const char* mode) {
    Build b = newest();
    b.input("x", DType::kF32, {"1", "2", "2", "2"});
    NodeProto n = with_int(node("SpaceToDepth", {"x"}, {"y"}), "blocksize", 2);
    b.add(*mode == 0 ? n : with_string(n, "mode", mode)).output("y");
    const HostTensor x = HostTensor::of<float>(Shape{1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    const HostTensor y = run_all(b, {x})[0];
    return std::vector<float>(y.as<float>(), y.as<float>() + 8);
  };
  EXPECT_THAT(rearranged(""), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_THAT(rearranged("DCR"), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_THAT(rearranged("CRD"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(error_of([&] { rearranged("RCD"); }), HasSubstr("unknown mode 'RCD'"));
}

// These operators move any dtype; ONNX lists bfloat16 from opset 28 on, so they are written there.
TEST(Newest, OperatorsThatMoveTookBFloat16Late) {
  const auto moved = [](const NodeProto& n, const std::vector<HostTensor>& constants,
                        const HostTensor& x, int written) {
    Build b = newest();
    b.input("x", DType::kBF16, {"n"});
    for (size_t i = 0; i < constants.size(); ++i) b.constant("c" + std::to_string(i), constants[i]);
    b.add(n).output("y");
    EXPECT_EQ(onnx_written_opset(import_onnx_bytes(b.bytes())), written);
    return run_all(b, {x})[0];
  };
  const HostTensor x = bf16_row({3, 1, 3, 2});
  const bool kept[] = {true, false, false, true};
  EXPECT_TRUE(same_bits(moved(node("Compress", {"x", "c0"}, {"y"}),
                              {HostTensor(DType::kBool, Shape{4}, kept, 4)}, x, 17),
                        bf16_row({3, 2})));
  EXPECT_TRUE(same_bits(moved(node("Unique", {"x"}, {"y"}), {}, x, 28), bf16_row({1, 2, 3})));
}

// A node over q [1, 2, 1, 1], k and v [1, 1, 2, 1]: scores are products, and two query heads share
// a key head.
Build flex(const std::vector<std::pair<std::string, GraphProto>>& changes) {
  Build b = newest();
  auto& import = *b.model.add_opset_import();
  import.set_domain("ai.onnx.preview"), import.set_version(1);
  NodeProto n = node("FlexAttention", {"q", "k", "v"}, {"y"});
  n.set_domain("ai.onnx.preview"), n.set_name("flex");
  for (const auto& [name, graph] : changes) n = with_graph(n, name, graph);
  b.input("q", DType::kF32, {"1", "2", "1", "1"}).input("k", DType::kF32, {"1", "1", "2", "1"});
  b.input("v", DType::kF32, {"1", "1", "2", "1"}).constant("bias", row({0, -INFINITY}));
  b.constant("half", row({0.5f}));
  b.add(n).output("y");
  return b;
}

TEST(Newest, FlexAttentionLetsTheModelChangeScoresAndWeights) {
  const std::vector<HostTensor> in = {HostTensor::of<float>(Shape{1, 2, 1, 1}, {0, 0}),
                                      HostTensor::of<float>(Shape{1, 1, 2, 1}, {1, 2}),
                                      HostTensor::of<float>(Shape{1, 1, 2, 1}, {10, 20})};
  const auto out = [&](const std::vector<std::pair<std::string, GraphProto>>& changes) {
    const HostTensor y = run_all(flex(changes), in)[0];
    EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 1}));
    return std::vector<float>(y.as<float>(), y.as<float>() + 2);
  };
  const GraphProto masked = body({node("Add", {"s", "bias"}, {"t"})}, {"s"}, {"t"});
  const GraphProto halved = body({node("Mul", {"p", "half"}, {"r"})}, {"p"}, {"r"});
  EXPECT_THAT(out({}), ElementsAre(15, 15));
  EXPECT_THAT(out({{"score_mod", masked}}), ElementsAre(10, 10));
  EXPECT_THAT(out({{"score_mod", masked}, {"prob_mod", halved}}), ElementsAre(5, 5));
  const GraphProto two = body({node("Add", {"s", "u"}, {"t"})}, {"s", "u"}, {"t"});
  EXPECT_THAT(error_of([&] {
                import_onnx_bytes(flex({{"score_mod", two}}).bytes());
              }),
              HasSubstr("FlexAttention 'flex': score_mod must take one tensor and give one"));
}

// In models newer than the newest known opset, known operators are read with a warning, and
// everything else is refused by name.
TEST(Newest, LaterModelsAreReadAsFarAsTheyAreKnown) {
  const auto later = [](int64_t opset, int64_t ir, const NodeProto& n) {
    Build b(opset);
    b.model.set_ir_version(ir);
    b.input("x", DType::kF32, {"2"}).add(n).output("y");
    return b;
  };
  const NodeProto relu = node("Relu", {"x"}, {"y"});
  const auto warned = [&](const Build& b) {
    std::vector<std::string> warnings;
    OnnxReadOptions options;
    options.warnings = &warnings;
    const ir::Graph g = import_onnx_bytes(b.bytes(), "", options);
    const std::vector<HostTensor> in = {row({-1, 2})};
    EXPECT_TRUE(same_bits(ir::run(g, in)[0], row({0, 2})));
    return warnings;
  };
  EXPECT_THAT(warned(later(28, 14, relu)), ElementsAre());
  EXPECT_THAT(
      warned(later(29, 14, relu)),
      ElementsAre("ONNX model: its opset 29 is newer than 28, the newest that is known; its "
                  "operators are all known, and are read as they are there"));
  EXPECT_THAT(warned(later(30, 15, relu)),
              ElementsAre(AllOf(HasSubstr("its IR version 15 is newer than 14"),
                                HasSubstr("its opset 30 is newer than 28"))));
  const auto refused = [&](const NodeProto& n) {
    const Build b = later(29, 14, n);
    return error_of([&] { import_onnx_bytes(b.bytes()); });
  };
  EXPECT_THAT(refused(node("Frobnicate", {"x"}, {"y"})),
              AllOf(HasSubstr("Frobnicate 'y': ONNX's default domain has no operator of this name"),
                    HasSubstr("its opset 29 is newer than 28")));
  EXPECT_THAT(refused(with_int(relu, "slope", 1)),
              AllOf(HasSubstr("Relu 'y': attribute 'slope' is unknown"),
                    HasSubstr("its opset 29 is newer than 28")));
}

}  // namespace
}  // namespace wick::test
