// Windows over sizes that are known only at run time, and over nothing.
#include "tests/exporter/node_model.h"

namespace wick::test {
namespace {

using Ints = std::vector<int64_t>;

NodeModel same(const std::string& op, int64_t opset, const char* how, HostTensor x) {
  NodeModel m(op, opset);
  m.in(std::move(x)).set("auto_pad", std::string(how)).set("strides", Ints{2, 2});
  return m;
}

// `run` compares the pads that the graph computes with those known when reading, by bits. The
// windows divide by powers of two, so that the average of what is no padding is exact too.
TEST(Window, SamePadsComputedWhenRunning) {
  for (const char* how : {"SAME_UPPER", "SAME_LOWER"}) {
    SCOPED_TRACE(how);
    const Shape image{1, 2, 5, 6}, out{1, 2, 3, 3};
    auto pool = [&](const char* op, int64_t opset) {
      return same(op, opset, how, floats(image, 1)).set("kernel_shape", Ints{2, 4});
    };
    for (int64_t counted : {0, 1})
      EXPECT_EQ(pool("AveragePool", 11).set("count_include_pad", counted).run()[0].shape(), out);
    EXPECT_EQ(pool("LpPool", 11).run()[0].shape(), out);
    for (int64_t order : {0, 1}) {
      auto made = pool("MaxPool", 12).set("storage_order", order).run(2);
      EXPECT_EQ(made[1].shape(), out);
    }
    EXPECT_EQ(same("Conv", 11, how, floats(image, 1))
                  .in(floats({4, 1, 2, 3}, 2))
                  .set("group", 2)
                  .run()[0]
                  .shape(),
              (Shape{1, 4, 3, 3}));
  }
}

// A zero point stands for 0: the padding holds it.
TEST(Window, SamePadsOfIntegersHoldTheZeroPoint) {
  HostTensor x(DType::kU8, Shape{1, 1, 3, 3}), w(DType::kU8, Shape{1, 1, 2, 2}),
      zero(DType::kU8, Shape{1});
  for (int i = 0; i < 9; ++i) x.as<uint8_t>()[i] = 7;
  for (int i = 0; i < 4; ++i) w.as<uint8_t>()[i] = 1;
  *zero.as<uint8_t>() = 7;
  auto y = same("ConvInteger", 10, "SAME_UPPER", x).in(w).in(zero).run();
  expect_near(y[0], Shape{1, 1, 2, 2}, {0, 0, 0, 0});
}

// Sizes that no pad needs are not read: a written graph has the nodes that were read.
TEST(Window, UnknownKernelsLeaveNoNodes) {
  NodeModel m("Conv", 11);
  m.in(floats({1, 1, 3, 3}, 1)).in(floats({1, 1, 2, 2}, 2));
  EXPECT_EQ(import_onnx_bytes(m.bytes(true, 1)).nodes().size(), 1u);
}

// Four spatial dims: each element against the sum that the operator is.
TEST(Window, ConvOfFourDims) {
  const HostTensor x = floats({2, 2, 3, 4, 3, 3}, 1), w = floats({2, 1, 2, 2, 1, 2}, 2),
                   b = floats({2}, 3);
  const Ints stride = {1, 2, 1, 1}, dilation = {2, 1, 1, 1}, pads = {1, 0, 0, 1, 0, 1, 0, 0};
  auto y = NodeModel("Conv", 11)
               .in(x)
               .in(w)
               .in(b)
               .set("group", 2)
               .set("strides", stride)
               .set("kernel_shape", Ints{2, 2, 1, 2})
               .set("dilations", dilation)
               .set("pads", pads)
               .run()[0];
  ASSERT_EQ(y.shape(), (Shape{2, 2, 2, 2, 3, 3}));
  const int64_t out[] = {2, 2, 3, 3}, in[] = {3, 4, 3, 3}, kernel[] = {2, 2, 1, 2};
  for (int64_t i = 0; i < y.numel(); ++i) {
    int64_t at[4], rest = i;
    for (int d = 3; d >= 0; --d) at[d] = rest % out[d], rest /= out[d];
    const int64_t channel = rest % 2;
    double sum = b.as<float>()[channel];
    for (int64_t k = 0; k < 8; ++k) {
      int64_t left = k, place = 0, scale = 1;
      bool inside = true;
      for (int d = 3; d >= 0; --d) {
        const int64_t p = at[d] * stride[d] + left % kernel[d] * dilation[d] - pads[d];
        left /= kernel[d];
        inside = inside && p >= 0 && p < in[d];
        place += p * scale, scale *= in[d];
      }
      if (inside) sum += x.as<float>()[rest * scale + place] * w.as<float>()[channel * 8 + k];
    }
    EXPECT_NEAR(y.as<float>()[i], sum, 1e-5) << i;
  }
}

// No image, no channel, no row: as many results, none of them an error.
TEST(Window, NothingToStandOn) {
  for (const Shape& shape : {Shape{0, 3, 4}, Shape{2, 0, 4}, Shape{2, 3, 0}}) {
    auto y = NodeModel("LRN", 13).in(HostTensor(DType::kF32, shape)).set("size", 3).run();
    EXPECT_EQ(y[0].shape(), shape);
  }
  HostTensor x(DType::kF32, Shape{0, 4, 3});
  auto y = NodeModel("GroupNormalization", 21)
               .in(x)
               .in(floats({4}, 1))
               .in(floats({4}, 2))
               .set("num_groups", 2)
               .run();
  EXPECT_EQ(y[0].shape(), (Shape{0, 4, 3}));
  HostTensor row(DType::kF32, Shape{1, 2, 0, 5});
  y = NodeModel("Conv", 11).in(row).in(floats({3, 2, 1, 2}, 1)).run();
  EXPECT_EQ(y[0].shape(), (Shape{1, 3, 0, 4}));
}

// The graph that was read for any length runs without a token: the state goes on.
TEST(Window, CausalConvOfNoToken) {
  for (int64_t length : {0, 1, 3}) {
    NodeModel m("CausalConvWithState", 27);
    m.in(floats({1, 2, length}, 1)).in(floats({2, 1, 3}, 2)).in(floats({2}, 3));
    m.in(floats({1, 2, 2}, 4));
    ir::Graph any = import_onnx_bytes(
        m.bytes([&](const std::string& name, int d) { return name == "x0" && d == 2; }, 2));
    auto y = ir::run(any, m.inputs()), want = m.run(2);
    EXPECT_EQ(y[0].shape(), (Shape{1, 2, length}));
    for (size_t o = 0; o < 2; ++o) {
      for (int64_t i = 0; i < want[o].numel(); ++i)
        EXPECT_EQ(y[o].as<float>()[i], want[o].as<float>()[i]) << length << " " << o << " " << i;
    }
  }
}

}  // namespace
}  // namespace wick::test
