// Quantization against independent formulas: every dtype, axis, blocks, sums of bytes; packed
// tensors that move; arguments that the rules refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>

#include "runtime/core/narrow.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

// Runs the op on the fast kernels and on the plain ones, which must agree.
std::vector<Value> run(OpId op, const Sample& s) {
  std::vector<Value> got, plain;
  for (const auto& [sets, to] :
       {std::pair(cpu_sets(), &got), std::pair(reference_sets(), &plain)}) {
    Status status = run_op(op, s.attrs.get(), make_inputs(s), s.outputs, sets, nullptr, to);
    EXPECT_TRUE(status.ok()) << s.name << ": " << status.message();
  }
  for (size_t i = 0; i < got.size() && i < plain.size(); ++i)
    EXPECT_EQ(bits_differ(got[i].view(), plain[i].view()), "") << s.name;
  return got;
}
std::string error_of(OpId op, const Sample& s) {
  std::vector<Value> got;
  Status status = run_op(op, s.attrs.get(), make_inputs(s), s.outputs, cpu_sets(), nullptr, &got);
  return status.ok() ? "" : status.message();
}

double half_even(double v) { return v - std::remainder(v, 1.0); }

struct Limits {
  DType dtype;
  double lo, hi;
};
constexpr Limits kIntegers[] = {{DType::kI8, -128, 127},      {DType::kU8, 0, 255},
                                {DType::kI16, -32768, 32767}, {DType::kU16, 0, 65535},
                                {DType::kU4, 0, 15},          {DType::kI4, -8, 7},
                                {DType::kU2, 0, 3},           {DType::kI2, -2, 1}};

// A layout of scales over x[2, 5, 37]: lines behind an axis that fill vectors and leave a rest and
// where element (i, j, k) finds its own.
struct Layout {
  const char* name;
  int64_t axis, block;
  Shape shape;
  int64_t (*at)(int64_t i, int64_t j, int64_t k);
};
const Layout kLayouts[] = {
    {"tensor", 1, 0, {}, [](int64_t, int64_t, int64_t) -> int64_t { return 0; }},
    {"one", 7, 0, {1}, [](int64_t, int64_t, int64_t) -> int64_t { return 0; }},
    {"first", 0, 0, {2}, [](int64_t i, int64_t, int64_t) -> int64_t { return i; }},
    {"middle", -2, 0, {5}, [](int64_t, int64_t j, int64_t) -> int64_t { return j; }},
    {"last", 2, 0, {37}, [](int64_t, int64_t, int64_t k) -> int64_t { return k; }},
    {"blocks",
     1,
     2,
     {2, 3, 37},
     [](int64_t i, int64_t j, int64_t k) -> int64_t { return (i * 3 + j / 2) * 37 + k; }},
    {"last_blocks",
     -1,
     2,
     {2, 5, 19},
     [](int64_t i, int64_t j, int64_t k) -> int64_t { return (i * 5 + j) * 19 + k / 2; }},
    {"one_block",
     0,
     9,
     {1, 5, 37},
     [](int64_t, int64_t j, int64_t k) -> int64_t { return j * 37 + k; }},
};
constexpr int64_t kI = 2, kJ = 5, kK = 37;

TEST(Quantize, EveryLayoutAndInteger) {
  for (const Limits& t : kIntegers) {
    for (const Layout& l : kLayouts) {
      SCOPED_TRACE(std::string(dtype_name(t.dtype)) + " " + l.name);
      QuantizeAttrs a;
      a.axis = l.axis, a.block_size = l.block;
      const double reach = std::fmin(t.hi * 1.5 + 3, 90000);
      Sample s = sample(std::string(l.name),
                        {f32({kI, kJ, kK}, -reach, reach), f32(l.shape, 0.5, 2),
                         of(t.dtype, l.shape, t.lo, t.hi)},
                        a);
      auto in = make_inputs(s);
      auto got = run(OpId::kQuantizeLinear, s);
      ASSERT_EQ(got[0].view().dtype, t.dtype);
      for (int64_t i = 0, n = 0; i < kI; ++i) {
        for (int64_t j = 0; j < kJ; ++j) {
          for (int64_t k = 0; k < kK; ++k, ++n) {
            const int64_t at = l.at(i, j, k);
            const auto q = static_cast<double>(static_cast<float>(in[0].at(n)) /
                                               static_cast<float>(in[1].at(at)));
            const double want = std::fmin(std::fmax(half_even(q) + in[2].at(at), t.lo), t.hi);
            ASSERT_EQ(got[0].at(n), want) << i << " " << j << " " << k;
          }
        }
      }
      // and back
      DequantizeAttrs b;
      b.axis = l.axis, b.block_size = l.block;
      std::vector<Value> real;
      ASSERT_TRUE(
          run_op(OpId::kDequantizeLinear, &b, {got[0], in[1], in[2]}, 1, cpu_sets(), nullptr, &real)
              .ok());
      for (int64_t i = 0, n = 0; i < kI; ++i) {
        for (int64_t j = 0; j < kJ; ++j) {
          for (int64_t k = 0; k < kK; ++k, ++n) {
            const int64_t at = l.at(i, j, k);
            const float d = static_cast<float>(got[0].at(n) - in[2].at(at));
            ASSERT_EQ(static_cast<float>(real[0].at(n)), d * static_cast<float>(in[1].at(at)));
          }
        }
      }
    }
  }
}

// Small floats: the nearest of all values of the type, saturating or not.
TEST(Quantize, SmallFloats) {
  const double inf = INFINITY;
  auto quantize = [&](DType to, int64_t saturate, std::vector<double> zero) {
    QuantizeAttrs a;
    a.saturate = saturate;
    a.output_dtype = static_cast<int64_t>(to);
    Sample s = sample("floats",
                      {{DType::kF32, {7}, 0, 0, {0, 2, -0.2, 100000, -100000, inf, 200}},
                       {DType::kF32, {}, 0, 0, {2}}},
                      a);
    if (!zero.empty()) s.in.push_back({to, {}, 0, 0, zero});
    auto got = run(OpId::kQuantizeLinear, s);
    std::vector<double> v;
    for (int64_t i = 0; i < 7; ++i) v.push_back(got[0].at(i));
    return v;
  };
  using V = std::vector<double>;
  EXPECT_EQ(quantize(DType::kF8E4M3FN, 1, {}), (V{0, 1, -0.1015625, 448, -448, 448, 96}));
  EXPECT_EQ(quantize(DType::kF8E5M2, 1, {0}), (V{0, 1, -0.09375, 49152, -49152, 57344, 96}));
  EXPECT_EQ(quantize(DType::kF8E5M2, 0, {}), (V{0, 1, -0.09375, 49152, -49152, inf, 96}));
  EXPECT_EQ(quantize(DType::kF8E5M2FNUZ, 1, {0}), (V{0, 1, -0.09375, 49152, -49152, 57344, 96}));
  EXPECT_EQ(quantize(DType::kF4E2M1, 1, {0}), (V{0, 1, 0, 6, -6, 6, 6}));
  EXPECT_EQ(quantize(DType::kF4E2M1, 1, {1}), (V{1, 2, 1, 6, -6, 6, 6}));
}

// The division is rounded to the scale's dtype, or to `precision`: 2049 / 2 in float16 is 1024
// (both operands are rounded to it), in float32 1024.5, to even 1024; 2051 / 2 is 1026 and 1025.5
// -> 1026; 4099 / 2: 2048 + ... as listed.
TEST(Quantize, Precision) {
  auto quantize = [](DType x, DType scale, int64_t precision, double v, double by) {
    QuantizeAttrs a;
    a.precision = precision;
    a.output_dtype = static_cast<int64_t>(DType::kI16);
    Sample s = sample("precision", {{x, {1}, 0, 0, {v}}, {scale, {}, 0, 0, {by}}}, a);
    return run(OpId::kQuantizeLinear, s)[0].at(0);
  };
  const DType f32 = DType::kF32, f16 = DType::kF16, i32 = DType::kI32;
  EXPECT_EQ(quantize(f32, f32, 0, 4099, 2), 2050);  // 2049.5
  EXPECT_EQ(quantize(f32, f16, 0, 4099, 2), 2050);  // 4100 in float16
  EXPECT_EQ(quantize(f32, f32, 0, 4101, 2), 2050);  // 2050.5
  EXPECT_EQ(quantize(f32, f16, 0, 4105, 2), 2052);  // 4104 in float16
  EXPECT_EQ(quantize(f32, f32, 10, 4105, 2), 2052);
  EXPECT_EQ(quantize(f32, f32, 0, 4106, 2), 2053);
  EXPECT_EQ(quantize(f32, f32, 16, 4106, 2), 2048);  // 4096 in bfloat16
  EXPECT_EQ(quantize(i32, i32, 0, 16777217, 1024), 16384);
  EXPECT_EQ(quantize(i32, f32, 0, 33, 2), 16);  // 16.5
  EXPECT_EQ(quantize(f32, DType::kF8E8M0, 0, 33, 2), 16);
}

TEST(Dequantize, OutputDtypes) {
  DequantizeAttrs a;
  a.output_dtype = static_cast<int64_t>(DType::kF16);
  Sample s =
      sample("half", {{DType::kU8, {3}, 0, 0, {0, 3, 255}}, {DType::kF32, {}, 0, 0, {0.1}}}, a);
  auto got = run(OpId::kDequantizeLinear, s);
  EXPECT_EQ(got[0].view().dtype, DType::kF16);
  EXPECT_NEAR(got[0].at(2), 25.5, 0.02);
  a.output_dtype = 0;
  Sample blocks = sample(
      "e8m0", {{DType::kF4E2M1, {2, 2}, 0, 0, {0.5, -6, 3, 1}}, {DType::kF8E8M0, {}, 0, 0, {0.25}}},
      DequantizeAttrs{1, 0, static_cast<int64_t>(DType::kF32)});
  got = run(OpId::kDequantizeLinear, blocks);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(got[0].at(i), blocks.in[0].values[static_cast<size_t>(i)] / 4);
}

// int64 sums over zero points spread to full matrices.
TEST(Integer, MatMulAgainstSums) {
  const DType u8 = DType::kU8, i8 = DType::kI8;
  Sample s = sample("matmul", {of(u8, {2, 3, 5}, 0, 256), of(i8, {2, 5, 4}, -128, 128),
                               of(u8, {2, 3, 1}, 0, 256), of(i8, {2, 1, 4}, -128, 128)});
  auto in = make_inputs(s);
  auto got = run(OpId::kMatMulInteger, s);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 4; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 5; ++k) {
          sum += (in[0].at((b * 3 + i) * 5 + k) - in[2].at(b * 3 + i)) *
                 (in[1].at((b * 5 + k) * 4 + j) - in[3].at(b * 4 + j));
        }
        EXPECT_EQ(got[0].at((b * 3 + i) * 4 + j), sum) << b << i << j;
      }
    }
  }
  // One zero point a row and one a column, as vectors.
  Sample lines = sample("lines", {of(u8, {3, 5}, 0, 256), of(u8, {5, 4}, 0, 256),
                                  of(u8, {3}, 0, 256), of(u8, {4}, 0, 256)});
  in = make_inputs(lines);
  got = run(OpId::kMatMulInteger, lines);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 5; ++k)
        sum += (in[0].at(i * 5 + k) - in[2].at(i)) * (in[1].at(k * 4 + j) - in[3].at(j));
      EXPECT_EQ(got[0].at(i * 4 + j), sum);
    }
  }
}

// Padding written out with the zero point, then a window without any.
TEST(Integer, ConvAgainstPaddedSums) {
  const DType u8 = DType::kU8, i8 = DType::kI8;
  ConvAttrs a;
  a.pads = {1, 2, 0, 1}, a.strides = {1, 2}, a.dilations = {2, 1}, a.group = 2;
  Sample s = sample("conv",
                    {of(u8, {2, 4, 5, 6}, 0, 256),
                     of(i8, {6, 2, 2, 3}, -128, 128),
                     {u8, {}, 0, 0, {77}},
                     of(i8, {6}, -128, 128)},
                    a);
  auto in = make_inputs(s);
  auto got = run(OpId::kConvInteger, s);
  const int64_t oh = 4, ow = 4;
  ASSERT_TRUE(got[0].view().shape == (Shape{2, 6, oh, ow})) << to_text(got[0].view().shape).text;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t o = 0; o < 6; ++o) {
      for (int64_t r = 0; r < oh; ++r) {
        for (int64_t q = 0; q < ow; ++q) {
          double sum = 0;
          for (int64_t c = 0; c < 2; ++c) {
            for (int64_t i = 0; i < 2; ++i) {
              for (int64_t j = 0; j < 3; ++j) {
                const int64_t y = r + 2 * i - 1, x = 2 * q + j - 2;
                const bool inside = y >= 0 && y < 5 && x >= 0 && x < 6;
                const double v =
                    inside ? in[0].at(((n * 4 + o / 3 * 2 + c) * 5 + y) * 6 + x) : 77.0;
                sum += (v - 77) * (in[1].at(((o * 2 + c) * 2 + i) * 3 + j) - in[3].at(o));
              }
            }
          }
          ASSERT_EQ(got[0].at(((n * 6 + o) * oh + r) * ow + q), sum) << n << o << r << q;
        }
      }
    }
  }
}

// Ops that move packed elements give what they give for bytes.
TEST(Packed, MovesLikeBytes) {
  PadAttrs pad;
  pad.pads = {1, 0, 2, 1};
  PadAttrs reflect = pad;
  reflect.mode = static_cast<int64_t>(PadMode::kReflect);
  ShapeAttrs wide;
  wide.shape = {2, 3, 5};
  ReshapeAttrs flat;
  flat.shape = {5, 3};
  const std::tuple<OpId, AnyAttrs> kOps[] = {
      {OpId::kTranspose, AnyAttrs::of(TransposeAttrs{{1, 0}})},
      {OpId::kExpand, AnyAttrs::of(wide)},
      {OpId::kReshape, AnyAttrs::of(flat)},
      {OpId::kPad, AnyAttrs::of(pad)},
      {OpId::kPad, AnyAttrs::of(reflect)},
      {OpId::kIdentity, AnyAttrs::of(NoAttrs{})},
      {OpId::kUnsqueeze, AnyAttrs::of(AxesAttrs{{1}})}};
  for (DType t : {DType::kU4, DType::kU2}) {
    for (const auto& [op, attrs] : kOps) {
      SCOPED_TRACE(std::string(find_op(op)->name) + " of " + dtype_name(t));
      auto moved = [&, op = op, attrs = attrs](DType dtype) {
        Sample s{"moved", attrs, {of(dtype, {3, 5}, 0, t == DType::kU4 ? 16 : 4)}, 1};
        return run(op, s)[0];
      };
      Value got = moved(t), want = moved(DType::kU8);
      ASSERT_TRUE(got.view().shape == want.view().shape);
      for (int64_t i = 0; i < want.view().numel(); ++i) ASSERT_EQ(got.at(i), want.at(i)) << i;
      const int used = static_cast<int>(want.view().numel() * dtype_bits(t) % 8);
      if (used != 0) {
        EXPECT_EQ(static_cast<const uint8_t*>(got.view().data)[got.view().nbytes() - 1] >> used, 0);
      }
    }
  }
}

TEST(BitCast, KeepsEveryBit) {
  auto cast = [](Input x, DType to) {
    return run(OpId::kBitCast,
               sample("bits", {std::move(x)}, BitCastAttrs{static_cast<int64_t>(to)}))[0];
  };
  EXPECT_EQ(cast({DType::kI8, {2}, 0, 0, {-1, -128}}, DType::kU8).at(1), 128);
  EXPECT_EQ(cast({DType::kBF16, {1}, 0, 0, {-2}}, DType::kU16).at(0), 0xC000);
  EXPECT_EQ(cast({DType::kF64, {1}, 0, 0, {1}}, DType::kI64).at(0), 4607182418800017408.0);
  EXPECT_EQ(cast({DType::kI4, {3}, 0, 0, {-1, 3, -8}}, DType::kU4).at(2), 8);
  EXPECT_EQ(cast({DType::kU8, {1}, 0, 0, {0x7E}}, DType::kF8E4M3FN).at(0), 448);
}

TEST(Quantize, RulesRefuse) {
  const auto q = [](std::vector<Input> in, QuantizeAttrs a = {}) {
    return error_of(OpId::kQuantizeLinear, sample("bad", std::move(in), a));
  };
  QuantizeAttrs a;
  EXPECT_NE(q({f32({2, 3}), f32({2})}), "");
  EXPECT_NE(q({f32({2, 3}), f32({3, 1})}), "");
  EXPECT_NE(q({f32({2, 3}), f32({3}), of(DType::kU8, {2})}), "");
  EXPECT_NE(q({f32({2, 3}), f32({3}), of(DType::kU8, {})}), "");
  EXPECT_NE(q({f32({2, 3}), f32({}), of(DType::kU8, {3})}), "");
  EXPECT_NE(q({of(DType::kF64, {2, 3}), f32({})}), "");
  EXPECT_NE(q({f32({2, 3}), f32({}), of(DType::kI64, {})}), "");
  a.axis = 2;
  EXPECT_NE(q({f32({2, 3}), f32({3})}, a), "");
  a.axis = INT64_MIN;
  EXPECT_NE(q({f32({2, 3}), f32({3})}, a), "");
  EXPECT_EQ(q({f32({2, 3}), f32({1})}, a), "");  // one scale asks for no axis
  a.axis = 1, a.block_size = -1;
  EXPECT_NE(q({f32({2, 3}), f32({2, 2})}, a), "");
  a.block_size = INT64_MAX;
  EXPECT_EQ(q({f32({2, 3}), f32({2, 1})}, a), "");
  EXPECT_NE(q({f32({2, 3}), f32({2, 2})}, a), "");
  a = {};
  for (int64_t t : {int64_t{-1}, int64_t{27}, int64_t{1}, INT64_MAX}) {
    a.output_dtype = t;
    EXPECT_NE(q({f32({2, 3}), f32({})}, a), "") << t;
  }
  a = {};
  for (int64_t t : {int64_t{-1}, int64_t{3}, int64_t{24}, INT64_MAX}) {
    a.precision = t;
    EXPECT_NE(q({f32({2, 3}), f32({})}, a), "") << t;
  }
  DequantizeAttrs d;
  for (int64_t t : {int64_t{-1}, int64_t{2}, int64_t{11}, int64_t{27}}) {
    d.output_dtype = t;
    EXPECT_NE(error_of(OpId::kDequantizeLinear, sample("bad", {of(DType::kU8, {2}), f32({})}, d)),
              "")
        << t;
  }
  for (int64_t t : {int64_t{-1}, int64_t{0}, int64_t{8}, int64_t{7}, int64_t{27}}) {
    EXPECT_NE(error_of(OpId::kBitCast, sample("bad", {f32({2})}, BitCastAttrs{t})), "") << t;
  }
  CastAttrs mode{static_cast<int64_t>(DType::kF8E8M0), 1, 3};
  EXPECT_NE(error_of(OpId::kCast, sample("bad", {f32({2})}, mode)), "");
  EXPECT_NE(
      error_of(
          OpId::kDropout,
          sample("bad", {f32({2}), {DType::kF32, {}, 0, 0, {0.5}}, {DType::kBool, {}, 0, 0, {1}}},
                 NoAttrs{}, 2))
          .find("random dropout"),
      std::string::npos);
  const DType u8 = DType::kU8;
  EXPECT_NE(
      error_of(OpId::kMatMulInteger, sample("bad", {of(u8, {2, 3}), of(u8, {3, 4}), of(u8, {3})})),
      "");
  EXPECT_NE(error_of(OpId::kMatMulInteger,
                     sample("bad", {of(u8, {2, 3}), of(u8, {3, 4}), of(DType::kI8, {})})),
            "");
  EXPECT_NE(error_of(OpId::kConvInteger,
                     sample("bad", {of(u8, {1, 1, 3, 3}), of(u8, {2, 1, 2, 2}), of(u8, {2})},
                            ConvAttrs{})),
            "");
}

TEST(BlockLinear, RulesRefuse) {
  const DType u4 = DType::kU4;
  const auto refused = [](std::vector<Input> in, BlockLinearAttrs a = {}) {
    return error_of(OpId::kBlockLinear, sample("bad", std::move(in), a));
  };
  const Input x = f32({2, 64}), w = of(u4, {3, 64}, 0, 16), s = f32({3, 2});
  EXPECT_EQ(refused({x, w, s}), "");
  EXPECT_NE(refused({of(DType::kF16, {2, 64}), w, s}), "");
  EXPECT_NE(refused({f32({}), w, s}), "");
  EXPECT_NE(refused({f32({2, 63}), w, s}), "");
  EXPECT_NE(refused({x, of(DType::kU2, {3, 64}, 0, 4), s}), "");
  EXPECT_NE(refused({x, of(u4, {3, 64, 1}, 0, 16), s}), "");
  EXPECT_NE(refused({x, w, f32({3, 3})}), "");
  EXPECT_NE(refused({x, w, f32({2, 2})}), "");
  EXPECT_NE(refused({x, w, f32({6})}), "");
  EXPECT_NE(refused({x, w, of(DType::kBF16, {3, 2})}), "");
  EXPECT_NE(refused({x, w, s, of(DType::kU8, {3, 2}, 0, 16)}), "");
  EXPECT_NE(refused({x, w, s, of(u4, {3, 1}, 0, 16)}), "");
  EXPECT_NE(refused({x, w, s, Input::absent(), f32({2})}), "");
  EXPECT_NE(refused({x, w, s, Input::absent(), of(DType::kF16, {3})}), "");
  for (int64_t block :
       {INT64_MIN, int64_t{-32}, int64_t{0}, int64_t{8}, int64_t{48}, int64_t{512}, INT64_MAX}) {
    EXPECT_THAT(refused({x, w, s}, {block, 0}), testing::HasSubstr("block_size")) << block;
  }
  for (int64_t zero : {INT64_MIN, int64_t{-1}, int64_t{16}, INT64_MAX})
    EXPECT_THAT(refused({x, w, s}, {32, zero}), testing::HasSubstr("zero_point")) << zero;
  EXPECT_NE(refused({x, w, s, of(u4, {3, 2}, 0, 16)}, {32, 8}), "");
}

TEST(BlockLinear, WeightsAreDequantizedAsDequantizeLinearDoes) {
  for (const DType t : {DType::kU4, DType::kI4, DType::kU8, DType::kI8}) {
    const bool sign = t == DType::kI4 || t == DType::kI8;
    const double size = dtype_bits(t) == 4 ? 16 : 256, lo = sign ? -size / 2 : 0, hi = lo + size;
    DequantizeAttrs d;
    d.axis = 1, d.block_size = 32;
    const std::vector<Input> in = {of(t, {5, 75}, lo, hi), f32({5, 3}, -1e-3, 1e3),
                                   of(t, {5, 3}, lo, hi)};
    const std::vector<Value> w = run(OpId::kDequantizeLinear, sample("w", in, d));
    // the row k of an identity gives the weights' column k
    Input eye = f32({75, 75});
    eye.values.assign(75 * 75, 0);
    for (size_t i = 0; i < 75; ++i) eye.values[i * 76] = 1;
    std::vector<Value> values = make_inputs(sample("w", in, d));
    values.insert(values.begin(), make_inputs(sample("x", {eye}, d))[0]);
    std::vector<Value> got;
    const BlockLinearAttrs a{32, 0};
    ASSERT_TRUE(run_op(OpId::kBlockLinear, &a, values, 1, cpu_sets(), nullptr, &got).ok());
    for (int64_t n = 0; n < 5; ++n) {
      for (int64_t k = 0; k < 75; ++k)
        EXPECT_EQ(got[0].at(k * 5 + n), w[0].at(n * 75 + k)) << dtype_name(t) << n << " " << k;
    }
  }
}

}  // namespace
}  // namespace wick::test
