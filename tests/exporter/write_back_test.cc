// Every op's samples, written as ONNX and read again: the same bits, and from then on the same
// text.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "exporter/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "runtime/core/packed_sequence.h"
#include "runtime/registry/registry.h"
#include "tests/ops/rows.h"
#include "tests/ops/values.h"
#include "tests/support/error_of.h"
#include "wick/error.h"

namespace wick::test {
namespace {

constexpr const TestRow* kRows[] = {
#define WICK_WRITTEN_kInfer(Name) &kTest_##Name,
#define WICK_WRITTEN_kTrain(Name)    // never written
#define WICK_WRITTEN_kControl(Name)  // tests/exporter/control_test.cc
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_WRITTEN_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

// ONNX has no such operator: a formula stands for it, which rounds otherwise. Allowed difference in
// units of 2^-24 of the largest magnitude of the output, 1 at least.
const std::map<OpId, double> kFormulas = {{OpId::kLog1p, 8}, {OpId::kExpm1, 8}, {OpId::kLog2, 4},
                                          {OpId::kLog10, 4}, {OpId::kErfc, 8},  {OpId::kAtan2, 4}};
// The formula of Atan2 divides, which two infinities do not stand, and loses the sign of y = -0.
// The smallest of numbers with a NaN among them is NaN there.
const std::set<std::string> kOutsideFormulas = {"DynamicLinear/odd", "Atan2/infinite",
                                                "Atan2/axes"};

// Ops that ONNX cannot express, with the words of the error.
const std::map<OpId, std::string> kUnsaid = {
    {OpId::kFusedLinear, "fused ops have no ONNX form"},
    {OpId::kFusedConv, "fused ops have no ONNX form"},
    {OpId::kFusedElementwise, "fused ops have no ONNX form"},
    {OpId::kFusedMatMul, "fused ops have no ONNX form"},
    {OpId::kFusedAttention, "fused ops have no ONNX form"},
    {OpId::kBlockLinear, "fused ops have no ONNX form"},
    {OpId::kQLinearAveragePool, "com.microsoft's QLinearAveragePool has no dilations"},
    {OpId::kScatterND, "ONNX has no ScatterND whose input 0 is float8"},
    {OpId::kSplitToSequence, "ONNX has no SplitToSequence whose input 0 is uint4"},
    {OpId::kResize, "tf_half_pixel_for_nn ended with opset 12"},
    {OpId::kTfIdfVectorizer, "its tables must be constants"},
    {OpId::kTreeEnsemble, "its tables must be constants"},
    {OpId::kLookUp, "its keys must be constants"},
    {OpId::kStringSplit, "the delimiter must be constant"},
    {OpId::kStringNormalizer, "the stop words must be constant"},
    {OpId::kRegexFullMatch, "the pattern must be constant"}};

struct Case {
  ir::Graph graph;
  std::vector<HostTensor> inputs;
};

ir::Value type_of(const HostTensor& t) {
  ir::Value type;
  type.dtype = t.dtype();
  if (is_container(t.dtype())) {
    type.element = PackedSequence::open(t.view()).value().dtype();
  } else {
    type.ranked = true;
    type.shape = to_symbolic(t.shape());
  }
  return type;
}

// The sample's node; `constants`: all inputs but the first are constants.
Case make_case(const TestRow& row, const Sample& s, bool constants) {
  Case c;
  std::vector<ir::ValueId> in;
  std::vector<Value> values = make_inputs(s);
  for (size_t i = 0; i < values.size(); ++i) {
    if (s.in[i].dtype == DType::kNone) {
      in.push_back(ir::kNoValue);
      continue;
    }
    const TensorView v = values[i].view();
    HostTensor t(v.dtype, v.shape, v.data, v.nbytes());
    if (constants && i > 0 && !is_container(t.dtype())) {
      in.push_back(c.graph.add_constant(t));
      continue;
    }
    in.push_back(c.graph.add_input(fmt::format("x{}", i), type_of(t)));
    c.inputs.push_back(std::move(t));
  }
  const ir::NodeId node = c.graph.add_node(row.op, s.attrs, in, s.outputs, "node");
  const std::vector<ir::ValueId> outputs = c.graph.node(node).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) c.graph.add_output(fmt::format("y{}", i), outputs[i]);
  return c;
}

// "" when equal by bits, or within `room`.
std::string differs(const HostTensor& a, const HostTensor& b, double room) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape()))
    return fmt::format("{}{} for {}{}", dtype_name(a.dtype()), to_text(a.shape()).text,
                       dtype_name(b.dtype()), to_text(b.shape()).text);
  if (same_bits(a, b)) return "";
  if (room == 0 || !is_float(a.dtype())) return bits_differ(a.view(), b.view());
  double largest = 1;
  for (int64_t i = 0; i < b.numel(); ++i) {
    if (std::isfinite(element_as_double(b, i)))
      largest = std::fmax(largest, std::fabs(element_as_double(b, i)));
  }
  for (int64_t i = 0; i < b.numel(); ++i) {
    const double x = element_as_double(a, i), y = element_as_double(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::fabs(x - y) <= room * 0x1p-24 * largest))
      return fmt::format("element {}: {:.9g}, expected {:.9g}", i, x, y);
  }
  return "";
}

class WriteBack : public testing::TestWithParam<const TestRow*> {};

std::string row_name(const testing::TestParamInfo<const TestRow*>& info) {
  return find_op(info.param->op)->name;
}

TEST_P(WriteBack, GivesTheSameBitsAndText) {
  const TestRow& row = *GetParam();
  const auto formula = kFormulas.find(row.op);
  int written = 0;
  for (const Sample& s : row.samples()) {
    for (bool constants : {false, true}) {
      SCOPED_TRACE(s.name + (constants ? " with constants" : ""));
      const Case c = make_case(row, s, constants);
      std::vector<uint8_t> file;
      const std::string error = error_of([&] { file = onnx_bytes(c.graph); });
      if (error != "no error") {
        const auto unsaid = kUnsaid.find(row.op);
        ASSERT_NE(unsaid, kUnsaid.end()) << error;
        EXPECT_THAT(error, testing::HasSubstr(unsaid->second));
        continue;
      }
      ++written;
      ir::Graph back = import_onnx_bytes(file);
      const std::vector<HostTensor> want = ir::run(c.graph, c.inputs),
                                    got = ir::run(back, c.inputs);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size() && kOutsideFormulas.count(s.name) == 0; ++i) {
        EXPECT_EQ(differs(got[i], want[i], formula == kFormulas.end() ? 0 : formula->second), "")
            << "output " << i;
      }
      ir::Graph again = import_onnx_bytes(onnx_bytes(back));
      EXPECT_EQ(ir::print(again, true), ir::print(back, true));
    }
  }
  const bool fused = row.op == OpId::kFusedLinear || row.op == OpId::kFusedConv ||
                     row.op == OpId::kFusedMatMul || row.op == OpId::kFusedAttention ||
                     row.op == OpId::kBlockLinear || row.op == OpId::kFusedElementwise;
  EXPECT_EQ(written > 0, !fused);
}
INSTANTIATE_TEST_SUITE_P(All, WriteBack, testing::ValuesIn(kRows), row_name);

// The formulas of functions that ONNX lacks are as good where a difference would cancel: near 0,
// and where erfc is small, in units in the last place of the result.
TEST(WriteBack, FormulasDoNotCancel) {
  struct Function {
    OpId op;
    double units;
    long double (*exact)(long double);
    std::vector<double> at;
  };
  const double kInf = INFINITY;
  const std::vector<Function> all = {
      {OpId::kLog1p,
       4,
       [](long double x) { return std::log1p(x); },
       {-1, -0.99, -0.5, -1e-3, -1e-9, -1e-20, 0, 1e-30, 1e-9, 1e-7, 3e-5, 0.1, 1, 7, 1e10, 1e30,
        kInf}},
      {OpId::kExpm1,
       4,
       [](long double x) { return std::expm1(x); },
       {-kInf, -90, -20, -1, -1e-3, -1e-9, 0, 1e-30, 1e-9, 1e-7, 3e-5, 0.1, 1, 7, 80, kInf}},
      {OpId::kLog2,
       3,
       [](long double x) { return std::log2(x); },
       {0, 1e-30, 1e-3, 0.5, 0.999, 1, 1.000001, 1.5, 8, 1e10, 1e30, kInf}},
      {OpId::kLog10,
       3,
       [](long double x) { return std::log10(x); },
       {0, 1e-30, 1e-3, 0.5, 0.999, 1, 1.000001, 1.5, 1000, 1e10, 1e30, kInf}},
      {OpId::kErfc,
       8,
       [](long double x) { return std::erfc(x); },
       {-kInf, -30, -3,    -0.5, -1e-9, 0, 1e-9, 0.1, 0.4999, 0.5,  0.5001, 0.7, 1,    1.5, 2.2,
        3,     4,   5.746, 6.3,  7.9,   9, 12,   20,  26,     29.9, 30,     31,  1e30, kInf}}};
  for (const Function& f : all) {
    for (DType dtype : {DType::kF32, DType::kF64}) {
      const bool single = dtype == DType::kF32;
      std::vector<double> at = f.at;
      at.push_back(NAN);
      const Shape shape{static_cast<int64_t>(at.size())};
      const HostTensor x = single ? HostTensor::of(shape, std::vector<float>(at.begin(), at.end()))
                                  : HostTensor::of(shape, at);
      ir::Graph g;
      g.add_output("y", g.emit(f.op, {g.add_input("x", dtype, to_symbolic(shape))}));
      const HostTensor y = ir::run(import_onnx_bytes(onnx_bytes(g)), {&x, 1})[0];
      for (int64_t i = 0; i < x.numel(); ++i) {
        const double given = element_as_double(x, i), got = element_as_double(y, i);
        const long double exact = f.exact(given);
        if (std::isnan(exact) || std::isinf(exact)) {
          EXPECT_TRUE(std::isnan(exact) ? std::isnan(got) : got == static_cast<double>(exact))
              << op_info(f.op)->name << " of " << given << " is " << got;
          continue;
        }
        // What is below the smallest normal number may be 0.
        const int lowest = single ? -126 : -1022, digits = single ? 23 : 52;
        const int scale = exact == 0 ? lowest : std::max(std::ilogb(exact), lowest);
        const long double unit = std::ldexp(1.0L, scale - digits);
        const bool tiny = std::fabs(exact) < std::ldexp(1.0L, lowest) && got == 0;
        EXPECT_TRUE(tiny || std::fabs(got - exact) <= f.units * unit)
            << op_info(f.op)->name << " of " << given << " as " << dtype_name(dtype) << " is "
            << got << ", " << static_cast<double>(std::fabs(got - exact) / unit) << " units off";
      }
    }
  }
}

}  // namespace
}  // namespace wick::test
