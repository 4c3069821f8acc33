// The same layers in other forms: a bias that is one row or one number, shape changes before
// QuantizeLinear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes/lower_qdq.h"
#include "tests/graph/qdq_builder.h"

namespace wick::ir {
namespace {

using testing::IsEmpty;

HostTensor bytes(const Shape& shape) {
  HostTensor x(DType::kU8, shape);
  for (int64_t i = 0; i < x.numel(); ++i)
    x.as<uint8_t>()[i] = static_cast<uint8_t>(i * 89 + i / 256);
  return x;
}
// Without a float op that is not a pair, and at most a step from the float form.
Graph check(const Graph& g, const HostTensor& x) {
  LowerReport report;
  Graph l = lowered(g, &report);
  EXPECT_THAT(report.stayed, IsEmpty()) << report.text();
  const std::vector<HostTensor> in = {x}, want = run(g, in), got = run(l, in);
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ(got[k].shape(), want[k].shape());
    EXPECT_EQ(l.outputs()[k].name, g.outputs()[k].name);
    for (int64_t i = 0; i < want[k].numel(); ++i)
      EXPECT_NEAR(element_as_double(got[k], i), element_as_double(want[k], i), 1) << i;
  }
  return l;
}

TEST(LowerForms, ABiasOfARowOrOfOneNumberIsABias) {
  const float unit = 0.02F * 0.01F;
  for (const Shape& shape : {Shape{5}, Shape{1, 5}, Shape{1}, Shape{1, 1}, Shape{}}) {
    for (const bool integers : {true, false}) {
      for (const bool to_bytes : {true, false}) {
        QdqBuilder b;
        HostTensor q(DType::kI32, shape), reals(DType::kF32, shape);
        for (int64_t i = 0; i < q.numel(); ++i) {
          q.as<int32_t>()[i] = static_cast<int32_t>(900 - 450 * i);
          reals.as<float>()[i] = static_cast<float>(900 - 450 * i) * unit;
        }
        const ValueId x = b.input("x", Shape{3, 8}, DType::kU8);
        const ValueId bias = integers ? b.g.emit(OpId::kDequantizeLinear, DequantizeAttrs{},
                                                 {b.g.add_constant(std::move(q)), b.number(unit)})
                                      : b.g.add_constant(std::move(reals));
        const ValueId product = b.g.emit(
            OpId::kMatMul, {b.dequantize(x, {0.02F, 120}), b.weight(Shape{8, 5}, {0.01F})}, "fc");
        const ValueId y = b.g.emit(OpId::kAdd, {product, bias}, "sum");
        b.g.add_output("y", to_bytes ? b.quantize(y, {0.1F, 128}) : y);
        const Graph l = check(b.g, bytes(Shape{3, 8}));
        EXPECT_EQ(count_of(l, OpId::kQGemm), 1) << to_text(shape).text;
        EXPECT_EQ(count_of(l, OpId::kAdd), 0) << to_text(shape).text;
      }
    }
  }
}

// A column is one number a row, and not one an output; a row more than the product has makes more.
TEST(LowerForms, OtherSumsAreNoBias) {
  for (const Shape& shape : {Shape{3, 1}, Shape{3, 5}, Shape{1, 1, 5}}) {
    QdqBuilder b;
    HostTensor reals(DType::kF32, shape);
    const ValueId x = b.input("x", Shape{3, 8}, DType::kU8);
    const ValueId product = b.g.emit(
        OpId::kMatMul, {b.dequantize(x, {0.02F, 120}), b.weight(Shape{8, 5}, {0.01F})}, "fc");
    b.g.add_output("y", b.quantize(b.g.emit(OpId::kAdd, {product, b.g.add_constant(reals)}, "sum"),
                                   {0.1F, 128}));
    EXPECT_EQ(count_of(lowered(b.g), OpId::kAdd), 1) << to_text(shape).text;
  }
}

// Files before opset 13 flatten to a matrix and back around Softmax; attention heads use Reshape
// and Transpose.
TEST(LowerForms, ShapesThatChangeBeforeTheQuantizerChangeBytes) {
  QdqBuilder b;
  const ValueId x = b.input("x", Shape{2, 3, 4}, DType::kU8);
  const auto shape = [&](const std::vector<int64_t>& v) {
    return b.g.add_constant(HostTensor::of<int64_t>(Shape{static_cast<int64_t>(v.size())}, v));
  };
  ValueId v =
      b.g.emit(OpId::kReshape, ReshapeAttrs{}, {b.dequantize(x, {0.02F, 120}), shape({2, 12})});
  v = b.g.emit(OpId::kSoftmax, AxisAttrs{-1}, {v}, "softmax");
  v = b.g.emit(OpId::kReshape, ReshapeAttrs{}, {v, shape({2, 3, 4})});
  b.g.add_output("shares", b.quantize(v, {1 / 256.0F, 0}, "shares"));
  v = b.g.emit(OpId::kLinear, {b.dequantize(x, {0.02F, 120}), b.weight(Shape{6, 4}, {0.01F})},
               "fc");
  v = b.g.emit(OpId::kReshape, ReshapeAttrs{}, {v, shape({2, 3, 2, 3})});
  v = b.g.emit(OpId::kTranspose, TransposeAttrs{{0, 2, 1, 3}}, {v});
  b.g.add_output("heads", b.pair(v, {0.1F, 128}));
  const Graph l = check(b.g, bytes(Shape{2, 3, 4}));
  EXPECT_EQ(count_of(l, OpId::kQLinearSoftmax), 1);
  EXPECT_EQ(count_of(l, OpId::kQGemm), 1);
  EXPECT_EQ(count_of(l, OpId::kQuantizeLinear), 0);
}

// An importer's form of a product with a scale for each row; there is no pair.
TEST(LowerForms, SumsOfBytesAreListed) {
  QdqBuilder b;
  const ValueId x = b.input("x", Shape{3, 8}, DType::kU8),
                w = b.input("w", Shape{8, 5}, DType::kI8);
  const ValueId sum = b.g.emit(OpId::kMatMulInteger, {x, w}, "product");
  b.g.add_output("y", b.g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(DType::kF32)}, {sum}));
  LowerReport report;
  lowered(b.g, &report);
  EXPECT_EQ(report.integer, (std::map<std::string, int>{{"MatMulInteger", 1}}));
  EXPECT_THAT(report.stayed, IsEmpty());
  EXPECT_FALSE(report.quantized);
}

// Somebody else reads the reals in their new shape: they stay.
TEST(LowerForms, AShapeThatOthersReadStays) {
  QdqBuilder b;
  const ValueId x = b.input("x", Shape{2, 4}, DType::kU8);
  ValueId v = b.g.emit(OpId::kSoftmax, AxisAttrs{-1}, {b.dequantize(x, {0.02F, 120})}, "softmax");
  v = b.g.emit(OpId::kFlatten, AxisAttrs{0}, {v}, "flat");
  b.g.add_output("reals", v);
  b.g.add_output("bytes", b.quantize(v, {1 / 256.0F, 0}));
  const Graph l = lowered(b.g);
  EXPECT_EQ(count_of(l, OpId::kSoftmax), 1);
  EXPECT_EQ(count_of(l, OpId::kQuantizeLinear), 1);
}

// A decoder's queries: both the projection and the sum behind it read the same shape. The quantizer
// of the one is moved before its transpose, and still reads the shape when the other's is looked
// at.
TEST(LowerForms, AShapeThatAMovedQuantizerReadsStays) {
  QdqBuilder b;
  const ValueId x = b.input("x", Shape{6, 4});
  ValueId v = b.g.emit(OpId::kSigmoid, {x}, "queries");
  v = b.g.emit(OpId::kUnsqueeze, AxesAttrs{{1}}, {v}, "shape");
  const ValueId turned = b.g.emit(OpId::kTranspose, TransposeAttrs{{1, 0, 2}}, {v});
  b.g.add_output("turned", b.quantize(turned, {0.01F, 3}));
  b.g.add_output("as it is", b.quantize(v, {0.02F, 5}));
  const Graph l = lowered(b.g);
  const std::vector<HostTensor> in = {wave(Shape{6, 4}, 2)}, want = run(b.g, in), got = run(l, in);
  for (size_t i : {size_t{0}, size_t{1}}) EXPECT_TRUE(same_bits(got[i], want[i])) << i;
}

}  // namespace
}  // namespace wick::ir
