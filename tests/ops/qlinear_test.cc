// Operators of bytes against independent formulas, in exact integers and doubles that are rounded
// to float32 where the contract says so; known numbers; arguments that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

constexpr DType u8 = DType::kU8, i8 = DType::kI8;

Input bytes(DType t, std::vector<double> v) {
  return {t, {static_cast<int64_t>(v.size())}, 0, 0, std::move(v)};
}
Input one(DType t, double v) { return {t, {}, 0, 0, {v}}; }
Input scale(double v) { return one(DType::kF32, v); }

std::vector<Value> run(OpId op, const Sample& s, Span<const KernelSet* const> sets) {
  std::vector<Value> got;
  Status status = run_op(op, s.attrs.get(), make_inputs(s), s.outputs, sets, nullptr, &got);
  EXPECT_TRUE(status.ok()) << s.name << ": " << status.message();
  return got;
}
std::vector<double> numbers(OpId op, std::vector<Input> in) {
  const std::vector<Value> got = run(op, sample("known", std::move(in)), cpu_sets());
  std::vector<double> all;
  for (int64_t i = 0; i < got[0].view().numel(); ++i) all.push_back(got[0].at(i));
  return all;
}
std::string error_of(OpId op, std::vector<Input> in) {
  std::vector<Value> got;
  const Sample s = sample("bad", std::move(in));
  Status status = run_op(op, s.attrs.get(), make_inputs(s), 1, cpu_sets(), nullptr, &got);
  return status.ok() ? "" : status.message();
}

double rounded(double v) { return static_cast<float>(v); }
double half_even(double v) { return v - std::remainder(v, 1.0); }
double limit(DType t, bool high) { return (t == i8 ? -128 : 0) + (high ? 255 : 0); }
double kept(double real, DType t, double zero) {
  const double whole = half_even(real) + zero;  // rounding and a clamp to whole numbers commute
  return std::fmin(std::fmax(whole, limit(t, false)), limit(t, true));
}
// int32 that wraps
double wrapped(int64_t v) { return static_cast<int32_t>(static_cast<uint32_t>(v)); }
double ratio(double a, double b, double y) { return rounded(rounded(a * b) / y); }

// f(inputs, output) -> element i of the output, for each sample of a row on the reference kernels.
using Oracle = std::function<double(const std::vector<Value>&, const TensorView&, int64_t)>;
void agrees(const TestRow& row, const std::function<Oracle(const Sample&)>& oracle_of) {
  size_t elements = 0;
  for (const Sample& s : row.samples()) {
    const std::vector<Value> in = make_inputs(s), got = run(row.op, s, reference_sets());
    const Oracle oracle = oracle_of(s);
    for (int64_t i = 0; i < got[0].view().numel(); ++i, ++elements)
      ASSERT_EQ(got[0].at(i), oracle(in, got[0].view(), i)) << s.name << " element " << i;
  }
  EXPECT_GT(elements, 500u);
}
double channel(const Value& v, int64_t i) { return v.at(v.view().numel() == 1 ? 0 : i); }
bool given(const std::vector<Value>& in, size_t i) {
  return i < in.size() && in[i].view().present();
}
int64_t whole(double v) { return static_cast<int64_t>(v); }

TEST(QLinear, ConvIsTheExactSumRoundedOnce) {
  agrees(kTest_QLinearConv, [](const Sample& s) -> Oracle {
    const ConvAttrs a = *static_cast<const ConvAttrs*>(s.attrs.get());
    return [a](const std::vector<Value>& in, const TensorView& y, int64_t at) {
      const Shape x = in[0].view().shape, w = in[3].view().shape;
      const int spatial = x.rank() - 2;
      int64_t o[3] = {}, rest = at;
      for (int d = spatial - 1; d >= 0; --d) o[d] = rest % y.shape[2 + d], rest /= y.shape[2 + d];
      const int64_t m = rest % w[0], image = rest / w[0], first = m / (w[0] / a.group) * w[1];
      int64_t taps = 1, sum = given(in, 8) ? whole(in[8].at(m)) : 0;
      for (int d = 0; d < spatial; ++d) taps *= w[2 + d];
      for (int64_t c = 0; c < w[1]; ++c) {
        for (int64_t t = 0; t < taps; ++t) {
          int64_t pos = 0, left = t, place[3];
          bool inside = true;
          for (int d = spatial - 1; d >= 0; --d) place[d] = left % w[2 + d], left /= w[2 + d];
          for (int d = 0; d < spatial; ++d) {
            const int64_t p = o[d] * a.strides.at_or(d, 1) + place[d] * a.dilations.at_or(d, 1) -
                              a.pads.at_or(d, 0);
            inside = inside && p >= 0 && p < x[2 + d];
            pos = pos * x[2 + d] + p;
          }
          if (!inside) continue;
          int64_t plane = 1;
          for (int d = 0; d < spatial; ++d) plane *= x[2 + d];
          const double xv = in[0].at((image * x[1] + first + c) * plane + pos) - in[2].at(0);
          const double wv = in[3].at((m * w[1] + c) * taps + t) - channel(in[5], m);
          sum += whole(xv * wv);
        }
      }
      const double f = ratio(in[1].at(0), channel(in[4], m), in[6].at(0));
      return kept(rounded(rounded(wrapped(sum)) * f), y.dtype, in[7].at(0));
    };
  });
}

TEST(QLinear, GemmIsTheExactSumRoundedOnce) {
  agrees(kTest_QGemm, [](const Sample&) -> Oracle {
    return [](const std::vector<Value>& in, const TensorView& y, int64_t at) {
      const int64_t n = in[3].view().dim(0), k = in[3].view().dim(1), j = at % n, row = at / n;
      int64_t sum = given(in, 6) ? whole(in[6].at(j)) : 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += whole((in[0].at(row * k + l) - in[2].at(0)) *
                     (in[3].at(j * k + l) - channel(in[5], j)));
      }
      const double acc = rounded(wrapped(sum)), b = channel(in[4], j);
      if (!given(in, 7)) return rounded(acc * rounded(in[1].at(0) * b));
      return kept(rounded(acc * ratio(in[1].at(0), b, in[7].at(0))), y.dtype, in[8].at(0));
    };
  });
}

TEST(QLinear, MatMulIsMatMulIntegerRoundedOnce) {
  agrees(kTest_QLinearMatMul, [](const Sample& s) -> Oracle {
    std::vector<Value> in = make_inputs(s), sums;
    const NoAttrs none;
    const std::vector<Value> plain = {in[0], in[3], in[2], in[5]};
    EXPECT_TRUE(
        run_op(OpId::kMatMulInteger, &none, plain, 1, reference_sets(), nullptr, &sums).ok());
    return [sums](const std::vector<Value>& v, const TensorView& y, int64_t at) {
      const Shape b = v[3].view().shape;
      const int64_t j = b.rank() > 1 ? at % b[b.rank() - 1] : 0;
      const double f = ratio(v[1].at(0), channel(v[4], j), v[6].at(0));
      return kept(rounded(rounded(sums[0].at(at)) * f), y.dtype, v[7].at(0));
    };
  });
}

int64_t broadcast_index(const Shape& in, const Shape& out, int64_t i) {
  int64_t offset = 0, step = 1;
  for (int d = out.rank() - 1; d >= 0; --d) {
    const int at = d - (out.rank() - in.rank());
    if (at >= 0 && in[at] != 1) offset += i % out[d] * step;
    if (at >= 0) step *= in[at];
    i /= out[d];
  }
  return offset;
}
Oracle binary(bool sum) {
  return [sum](const std::vector<Value>& in, const TensorView& y, int64_t at) {
    const double a = in[0].at(broadcast_index(in[0].view().shape, y.shape, at)) - in[2].at(0);
    const double b = in[3].at(broadcast_index(in[3].view().shape, y.shape, at)) - in[5].at(0);
    const double s = in[6].at(0);
    if (!sum)
      return kept(rounded(a * b * ratio(in[1].at(0), in[4].at(0), s)), y.dtype, in[7].at(0));
    const double left = rounded(a * rounded(in[1].at(0) / s));
    return kept(rounded(left + rounded(b * rounded(in[4].at(0) / s))), y.dtype, in[7].at(0));
  };
}
TEST(QLinear, SumsAndProductsOfElements) {
  agrees(kTest_QLinearAdd, [](const Sample&) { return binary(true); });
  agrees(kTest_QLinearMul, [](const Sample&) { return binary(false); });
}

TEST(QLinear, GlobalAverageIsTheExactSumRoundedOnce) {
  const TestRow& row = kTest_QLinearGlobalAveragePool;
  for (const Sample& s : row.samples()) {
    const std::vector<Value> in = make_inputs(s), got = run(row.op, s, reference_sets());
    const int64_t planes = got[0].view().numel();
    for (int64_t p = 0; p < planes; ++p) {
      const int64_t n = in[0].view().numel() / planes;
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += in[0].at(p * n + i) - in[2].at(0);
      const double m = rounded(in[1].at(0) / rounded(in[3].at(0) * static_cast<double>(n)));
      EXPECT_EQ(got[0].at(p), kept(rounded(sum * m), got[0].view().dtype, in[4].at(0))) << s.name;
    }
  }
}

// 2x2 windows of a plane whose corners hang over: 3 and 5 lie outside where pads do not count.
TEST(QLinear, AveragesDivideByWhatCounts) {
  PoolAttrs a;
  a.kernel_shape = {2, 2}, a.strides = {2, 2}, a.pads = {1, 1, 0, 0};
  const auto pool = [&](int64_t counts) {
    a.count_include_pad = counts;
    const Input x{u8, {1, 1, 3, 3}, 0, 0, {10, 20, 30, 40, 50, 60, 70, 80, 90}};
    const Sample s = sample("known", {x, scale(1), one(u8, 6), scale(1), one(u8, 3)}, a);
    const std::vector<Value> got = run(OpId::kQLinearAveragePool, s, cpu_sets());
    std::vector<double> all;
    for (int i = 0; i < 4; ++i) all.push_back(got[0].at(i));
    return all;
  };
  // less the zero point 6: 4 14 24 / 34 44 54 / 64 74 84
  EXPECT_EQ(pool(0), (std::vector<double>{4 + 3, 19 + 3, 49 + 3, 64 + 3}));
  EXPECT_EQ(pool(1), (std::vector<double>{1 + 3, 10 + 3, 24 + 3, 64 + 3}));  // 9.5 and 24.5: even
}

TEST(QLinear, TiesGoToTheEvenNeighbourAndExtremesSaturate) {
  // halves: 0.5 1.5 2.5 -0.5 -1.5 -2.5 behind a zero point of 100
  EXPECT_EQ(
      numbers(OpId::kQLinearAdd, {bytes(u8, {101, 103, 105, 99, 97, 95}), scale(0.5), one(u8, 100),
                                  one(u8, 0), scale(1), one(u8, 0), scale(1), one(u8, 100)}),
      (std::vector<double>{100, 102, 102, 100, 98, 98}));
  EXPECT_EQ(numbers(OpId::kQLinearMul, {bytes(i8, {-128, 127, 1, -1, 3}), scale(1), one(i8, 0),
                                        bytes(i8, {-128, -128, 1, 1, 1}), scale(0.5), one(i8, 0),
                                        scale(1), one(i8, 0)}),
            (std::vector<double>{127, -128, 0, 0, 2}));  // 0.5, -0.5, 1.5
  // a sum beyond int32 wraps, as the contract says of every kernel
  const Input w{i8, {1, 2}, 0, 0, {1, 1}};
  const Input bias{DType::kI32, {1}, 0, 0, {2147483647}};
  EXPECT_EQ(numbers(OpId::kQGemm,
                    {bytes(u8, {1, 1}), scale(1), one(u8, 0), w, scale(1), one(i8, 0), bias})[0],
            -2147483648.0);
}

double broadcast_at(const Value& v, const Shape& y, int64_t i) {
  int64_t offset = 0, step = 1;
  const Shape s = v.view().shape;
  for (int d = 1; d <= s.rank(); ++d) {
    int64_t at = i;
    for (int k = 1; k < d; ++k) at /= y[y.rank() - k];
    if (s[s.rank() - d] != 1) offset += at % y[y.rank() - d] * step;
    step *= s[s.rank() - d];
  }
  return v.at(offset);
}

TEST(QLinear, PReluRoundsAsTheFloatOpsDo) {
  agrees(kTest_QLinearPRelu, [](const Sample&) -> Oracle {
    return [](const std::vector<Value>& in, const TensorView& y, int64_t i) {
      // What is far beyond bytes is as good as infinity.
      const auto near = [](double v, double most) {
        return std::fabs(v) > most ? std::copysign(most, v) : v;
      };
      double real = rounded((in[0].at(i) - in[2].at(0)) * in[1].at(0));
      if (real < 0) real = rounded(near(real * broadcast_at(in[3], y.shape, i), 3e38));
      const double steps = rounded(near(real / in[4].at(0), 1e9));
      return kept(std::isnan(steps) ? 0 : steps, y.dtype, in[5].at(0));
    };
  });
}

// The ops that a file has in its place, on the same bytes.
TEST(QLinear, PReluHasTheBytesOfItsPieces) {
  const AnyAttrs quantize = AnyAttrs::of(QuantizeAttrs{}), none = AnyAttrs::of(NoAttrs{}),
                 dequantize = AnyAttrs::of(DequantizeAttrs{});
  const TestRow& row = kTest_QLinearPRelu;
  for (const Sample& s : row.samples()) {
    const std::vector<Value> in = make_inputs(s);
    const auto step = [&](OpId op, const AnyAttrs& attrs, std::vector<Value> values) {
      std::vector<Value> made;
      const Status status = run_op(op, attrs.get(), values, 1, reference_sets(), nullptr, &made);
      EXPECT_TRUE(status.ok()) << s.name << ": " << status.message();
      return made[0];
    };
    const Value reals = step(OpId::kDequantizeLinear, dequantize, {in[0], in[1], in[2]});
    const Value leaked = step(OpId::kPRelu, none, {reals, in[3]});
    const Value want = step(OpId::kQuantizeLinear, quantize, {leaked, in[4], in[5]});
    for (Span<const KernelSet* const> sets : {reference_sets(), cpu_sets()})
      EXPECT_EQ(bits_differ(run(row.op, s, sets)[0].view(), want.view()), "") << s.name;
  }
}

TEST(QLinear, PReluOfNumbersThatNoFloatHolds) {
  const Input none{DType::kF32, {}, 0, 0, {0}};
  const Input far = bytes(i8, {-128, 127, 0});  // -inf times 0 is NaN, which is the zero point
  EXPECT_EQ(
      numbers(OpId::kQLinearPRelu, {far, scale(3e38), one(i8, 0), none, scale(1), one(i8, 5)}),
      (std::vector<double>{5, 127, 5}));
  EXPECT_NE(error_of(OpId::kQLinearPRelu, {far, scale(0), one(i8, 0), none, scale(1), one(i8, 5)}),
            "");
  EXPECT_NE(
      error_of(OpId::kQLinearPRelu, {far, scale(1), one(i8, 0), none, scale(INFINITY), one(i8, 5)}),
      "");
  const Input two = f32({2, 1});
  EXPECT_THAT(error_of(OpId::kQLinearPRelu, {far, scale(1), one(i8, 0), two, scale(1), one(i8, 5)}),
              testing::HasSubstr("the slope does not broadcast to x: [2,1] and [3]"));
}

TEST(QLinear, TableIsIndexedFromTheLowestByte) {
  Input table{u8, {256}, 0, 0, {}};
  for (int i = 0; i < 256; ++i) table.values.push_back(255 - i);
  EXPECT_EQ(numbers(OpId::kByteTable, {bytes(u8, {0, 1, 255}), table}),
            (std::vector<double>{255, 254, 0}));
  EXPECT_EQ(numbers(OpId::kByteTable, {bytes(i8, {-128, 0, 127}), table}),
            (std::vector<double>{255, 127, 0}));
}

TEST(QLinear, SoftmaxIsWithinAStepOfTheReals) {
  const TestRow& row = kTest_QLinearSoftmax;
  for (const Sample& s : row.samples()) {
    const std::vector<Value> in = make_inputs(s), got = run(row.op, s, reference_sets());
    const Shape x = in[0].view().shape;
    const int64_t n = x[x.rank() - 1];
    for (int64_t r = 0; n > 0 && r < got[0].view().numel() / n; ++r) {
      double most = -1e9, sum = 0;
      for (int64_t i = 0; i < n; ++i) most = std::fmax(most, in[0].at(r * n + i));
      const auto e = [&](int64_t i) {
        return std::exp((in[0].at(r * n + i) - most) * in[1].at(0));
      };
      for (int64_t i = 0; i < n; ++i) sum += e(i);
      for (int64_t i = 0; i < n; ++i) {
        const double real = e(i) / sum / in[3].at(0), zero = in[4].at(0);
        const double top = limit(got[0].view().dtype, true) - zero;
        EXPECT_NEAR(got[0].at(r * n + i) - zero, std::fmin(real, top), 0.5 + 1e-4) << s.name;
      }
    }
  }
}

// Within half a step of x and the row's scale; a row of zeros gives the bias.
TEST(QLinear, DynamicLinearQuantizesEachRowByItsRange) {
  const TestRow& row = kTest_DynamicLinear;
  for (const Sample& s : row.samples()) {
    if (s.name == "DynamicLinear/odd") continue;  // has NaN and infinity
    const std::vector<Value> in = make_inputs(s), got = run(row.op, s, reference_sets());
    const int64_t n = in[1].view().dim(0), k = in[1].view().dim(1);
    for (int64_t at = 0; at < got[0].view().numel(); ++at) {
      const int64_t r = at / n, j = at % n;
      double lo = 0, hi = 0, real = 0, weights = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double x = in[0].at(r * k + l), w = in[1].at(j * k + l) * channel(in[2], j);
        lo = std::fmin(lo, x), hi = std::fmax(hi, x);
        real += x * w, weights += std::fabs(w);
      }
      if (given(in, 3)) real += in[3].at(j);
      const double step = (hi - lo) / 255;
      EXPECT_NEAR(got[0].at(at), real, step * weights * 0.5001 + 1e-4 * std::fabs(real) + 1e-6)
          << s.name << " " << at;
    }
  }
  // 255 steps from -1 to 1.55, zero at the hundredth
  const Input x{DType::kF32, {1, 2}, 0, 0, {-1, 1.55}}, w{i8, {2, 2}, 0, 0, {1, 0, 0, 1}};
  const float step = 2.55f / 255;
  EXPECT_EQ(
      numbers(OpId::kDynamicLinear, {x, w, scale(1)}),
      (std::vector<double>{static_cast<double>(-100 * step), static_cast<double>(155 * step)}));
}

// The range is that of the whole tensor, as ONNX says: -1 .. 1.55 in 255 steps.
TEST(QLinear, DynamicQuantizeLinearTakesTheRangeOfAll) {
  const Sample s =
      sample("known", {{DType::kF32, {2, 2}, 0, 0, {-1, 1.55, 0, static_cast<double>(NAN)}}},
             NoAttrs{}, 3);
  for (const auto& sets : {reference_sets(), cpu_sets()}) {
    const std::vector<Value> got = run(OpId::kDynamicQuantizeLinear, s, sets);
    EXPECT_EQ(got[1].at(0), static_cast<double>(2.55f / 255));
    EXPECT_EQ(got[2].at(0), 100);
    const double want[] = {0, 255, 100, 100};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got[0].at(i), want[i]) << i;
  }
}

// The same row, alone or among others, gives the same.
TEST(QLinear, DynamicRowsDoNotKnowEachOther) {
  const Sample all = sample("rows", {f32({5, 37}), of(i8, {19, 37}, -128, 128), scale(0.01)});
  const std::vector<Value> in = make_inputs(all),
                           whole_batch = run(OpId::kDynamicLinear, all, cpu_sets());
  for (int64_t r = 0; r < 5; ++r) {
    std::vector<Value> alone = in, got;
    alone[0] = Value(DType::kF32, {37});
    for (int64_t l = 0; l < 37; ++l) alone[0].set(l, in[0].at(r * 37 + l));
    ASSERT_TRUE(
        run_op(OpId::kDynamicLinear, all.attrs.get(), alone, 1, cpu_sets(), nullptr, &got).ok());
    for (int64_t j = 0; j < 19; ++j) EXPECT_EQ(got[0].at(j), whole_batch[0].at(r * 19 + j));
  }
}

TEST(QLinear, ScalesMustBeFiniteAndAboveZero) {
  const auto add = [](double a, double b, double y) {
    return error_of(OpId::kQLinearAdd, {bytes(u8, {1}), scale(a), one(u8, 0), bytes(u8, {1}),
                                        scale(b), one(u8, 0), scale(y), one(u8, 0)});
  };
  EXPECT_EQ(add(1, 1, 1), "");
  for (const double bad : {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    EXPECT_THAT(add(bad, 1, 1), testing::HasSubstr("finite and > 0")) << bad;
    EXPECT_THAT(add(1, bad, 1), testing::HasSubstr("finite and > 0")) << bad;
    EXPECT_THAT(add(1, 1, bad), testing::HasSubstr("finite and > 0")) << bad;
    for (const OpId op : {OpId::kQLinearGlobalAveragePool, OpId::kQLinearSoftmax}) {
      const Input x = of(u8, {1, 1, 4}, 0, 9);
      EXPECT_NE(error_of(op, {x, scale(bad), one(u8, 0), scale(1), one(u8, 0)}), "") << bad;
      EXPECT_NE(error_of(op, {x, scale(1), one(u8, 0), scale(bad), one(u8, 0)}), "") << bad;
    }
    const Input w = of(i8, {2, 3}, 0, 9), two{DType::kF32, {2}, 0, 0, {1, bad}};
    EXPECT_NE(error_of(OpId::kDynamicLinear, {f32({3}), w, two}), "") << bad;
    EXPECT_NE(error_of(OpId::kQGemm,
                       {of(u8, {3}, 0, 9), scale(1), one(u8, 0), w, two, of(i8, {2}, 0, 1)}),
              "")
        << bad;
  }
  EXPECT_THAT(add(1e30, 1, 1e-30), testing::HasSubstr("not finite"));
}

TEST(QLinear, RulesRefuse) {
  const Input x = of(u8, {2, 3}, 0, 9), w = of(i8, {4, 3}, 0, 9);
  const auto gemm = [&](std::vector<Input> in) { return error_of(OpId::kQGemm, std::move(in)); };
  EXPECT_EQ(gemm({x, scale(1), one(u8, 0), w, scale(1), one(i8, 0)}), "");
  EXPECT_NE(gemm({x, scale(1), one(u8, 0), of(i8, {4, 2}), scale(1), one(i8, 0)}), "");
  EXPECT_NE(gemm({x, scale(1), one(i8, 0), w, scale(1), one(i8, 0)}), "");
  EXPECT_NE(gemm({x, f32({2}), one(u8, 0), w, scale(1), one(i8, 0)}), "");
  EXPECT_NE(gemm({x, scale(1), one(u8, 0), w, f32({3}), one(i8, 0)}), "");
  EXPECT_NE(gemm({x, scale(1), one(u8, 0), w, scale(1), of(i8, {3})}), "");
  EXPECT_NE(gemm({f32({2, 3}), scale(1), one(u8, 0), w, scale(1), one(i8, 0)}), "");
  EXPECT_NE(gemm({x, scale(1), one(u8, 0), w, scale(1), one(i8, 0), f32({4})}), "");
  EXPECT_NE(gemm({x, scale(1), one(u8, 0), w, scale(1), one(i8, 0), Input::absent(), scale(1)}),
            "");
  EXPECT_NE(error_of(OpId::kByteTable, {x, of(u8, {255}, 0, 9)}), "");
  EXPECT_NE(error_of(OpId::kByteTable, {f32({3}), of(u8, {256}, 0, 9)}), "");
  EXPECT_NE(error_of(OpId::kQLinearAdd, {x, scale(1), one(u8, 0), of(u8, {4}, 0, 9), scale(1),
                                         one(u8, 0), scale(1), one(u8, 0)}),
            "");
}

}  // namespace
}  // namespace wick::test
