// Quantized files that cannot be right, and models that cannot be quantized: one clear message
// each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "exporter/include/wick/compile.h"
#include "runtime/registry/registry.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ir::Graph;
using ir::ValueId;
using ::testing::AllOf;
using ::testing::HasSubstr;

ValueId number(Graph& g, float v) {
  return g.add_constant(HostTensor::of(Shape{}, std::vector<float>{v}));
}
ValueId zero(Graph& g, DType t = DType::kU8) { return g.add_constant(HostTensor(t, Shape{})); }

// x bytes[1,2,5,5] through one op named "odd" whose scale number `which` is `bad`.
Graph with_scale(OpId op, int which, float bad) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kU8, {SymDim(1), SymDim(2), SymDim(5), SymDim(5)});
  const auto scale = [&](int i) { return number(g, i == which ? bad : 0.1F); };
  ValueId y;
  if (op == OpId::kQLinearConv) {
    const ValueId w = g.add_constant(HostTensor(DType::kI8, {3, 2, 3, 3}), "w", true);
    y = g.emit(op, ConvAttrs{{}, {}, {}, 1},
               {x, scale(0), zero(g), w, scale(1), zero(g, DType::kI8), scale(2), zero(g)}, "odd");
  } else if (op == OpId::kQLinearAdd) {
    y = g.emit(op, {x, scale(0), zero(g), x, scale(1), zero(g), scale(2), zero(g)}, "odd");
  } else if (op == OpId::kQLinearGlobalAveragePool) {
    y = g.emit(op, {x, scale(0), zero(g), scale(2), zero(g)}, "odd");
  } else {
    y = g.emit(op, DequantizeAttrs{}, {x, scale(0), zero(g)}, "odd");
  }
  g.add_output("y", y);
  return g;
}

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST(QuantizedFiles, AScaleThatIsNoneIsNamed) {
  const std::string file = scratch() + "/scale.onnx", program = scratch() + "/scale.wick",
                    x = scratch() + "/scale.npy";
  write_npy_u8(x, {1, 2, 5, 5});
  struct Case {
    OpId op;
    int scales;
  };
  for (const Case& c : {Case{OpId::kQLinearConv, 3}, Case{OpId::kQLinearAdd, 3}}) {
    export_onnx(with_scale(c.op, -1, 1), file);
    EXPECT_EQ(wick({"run", file, "--input", x, "-o", scratch() + "/scale"}).code, 0);
    for (int which = 0; which < c.scales; ++which) {
      for (const float bad : {0.0F, -0.5F, NAN, INFINITY}) {
        export_onnx(with_scale(c.op, which, bad), file);
        for (const Ran& r : {wick({"run", file, "--input", x, "-o", scratch() + "/scale"}),
                             wick({"convert", file, "-o", program}),
                             wick({"convert", file, "-o", program, "--qdq", "float"})}) {
          EXPECT_EQ(r.code, 1) << op_info(c.op)->name << which << bad;
          EXPECT_THAT(r.err, AllOf(HasSubstr(op_info(c.op)->name), HasSubstr("'odd'"),
                                   HasSubstr("must be finite and > 0, element 0 is")));
          EXPECT_EQ(lines(r.err), 1) << r.err;
        }
      }
    }
  }
}

// It multiplies, whatever the scale: ONNX Runtime's quantizer makes an infinite one of a mask.
TEST(QuantizedFiles, DequantizeLinearTakesAnyScale) {
  const std::string file = scratch() + "/any_scale.onnx", x = scratch() + "/any_scale.npy";
  write_npy_u8(x, {1, 2, 5, 5});
  for (const float scale : {0.0F, -0.5F, NAN, INFINITY}) {
    export_onnx(with_scale(OpId::kDequantizeLinear, 0, scale), file);
    const Ran r = wick({"run", file, "--input", x, "-o", scratch() + "/any_scale"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.err.find("its scale is infinite or NaN") != std::string::npos,
              !std::isfinite(scale))
        << scale << ": " << r.err;
  }
}

// A program that somebody else wrote: said before anything is computed.
TEST(QuantizedFiles, AProgramsScaleThatIsNoneIsNamed) {
  const std::string program = scratch() + "/scale.wick", x = scratch() + "/scale.npy";
  write_npy_u8(x, {1, 2, 5, 5});
  for (const OpId op : {OpId::kQLinearConv, OpId::kQLinearAdd, OpId::kQLinearGlobalAveragePool}) {
    for (const float bad : {0.0F, -0.5F, NAN}) {
      write_program(with_scale(op, 2, bad), program);
      const Ran r = wick({"run", program, "--input", x, "-o", scratch() + "/scale"});
      EXPECT_EQ(r.code, 1) << op_info(op)->name << bad;
      EXPECT_THAT(r.err, AllOf(HasSubstr("node odd"), HasSubstr("must be finite and > 0")));
      EXPECT_EQ(lines(r.err), 1) << r.err;
    }
  }
}

TEST(QuantizedFiles, AnUnknownOperatorIsNamed) {
  const std::string good = scratch() + "/known.onnx", bad = scratch() + "/unknown.onnx";
  export_onnx(small_graph(), good);
  std::string bytes = read_file(good);
  const size_t at = bytes.find("Relu");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 4, "Rolu");
  write_file(bad, bytes);
  for (const char* recipe : {"static", "dynamic", "weight-only"}) {
    const Ran r = wick({"quantize", bad, "--recipe", recipe, "--calib", "sample", "-o",
                        scratch() + "/never.wick"});
    EXPECT_EQ(r.code, 1);
    EXPECT_THAT(r.err, HasSubstr("Rolu"));
    EXPECT_NE(wick({"run", scratch() + "/never.wick"}).code, 0);
  }
}

}  // namespace
}  // namespace wick::test
