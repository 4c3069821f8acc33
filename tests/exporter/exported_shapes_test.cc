// PyTorch exports of modules that compute sizes (tests/exporter/models, made by
// tools/scripts/export_shapes.py): shapes stay expressions over the dynamic axes, so that a plan
// needs no cut, and the passes keep the bits at every size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "exporter/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "tests/support/where.h"

namespace wick {
namespace {

struct Exported {
  const char* name;
  std::vector<Shape> inputs;         // sizes it is run at
  std::vector<const char*> outputs;  // of the optimised graph
};

class ExportedShapes : public testing::TestWithParam<Exported> {};

std::string path_of(const Exported& model) {
  return source_dir() + "/tests/exporter/models/" + model.name + ".onnx";
}

HostTensor input_of(const ir::Graph& g, const Shape& shape) {
  HostTensor t(g.value(g.inputs()[0]).dtype, shape);
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (t.dtype() == DType::kI64) {
      t.as<int64_t>()[i] = i * 7 % 12;
    } else {
      t.as<float>()[i] = static_cast<float>(i * 37 % 211) / 105.0f - 1;
    }
  }
  return t;
}

TEST_P(ExportedShapes, StaySymbolic) {
  ir::Graph g = import_onnx(path_of(GetParam()));
  EXPECT_EQ(ir::optimize(g).numerics, ir::Numerics::kExact);
  std::set<std::string> named;
  for (const SymDim& d : g.value(g.inputs()[0]).shape)
    d.each_symbol([&](const std::string& name, int64_t, int64_t) { named.insert(name); });
  for (size_t i = 0; i < g.value_count(); ++i) {
    const ir::Value& v = g.value(static_cast<ir::ValueId>(i));
    EXPECT_TRUE(v.ranked && !v.declared) << v.name;
    for (const SymDim& d : v.shape) {
      d.each_symbol([&](const std::string& name, int64_t, int64_t) {
        EXPECT_EQ(named.count(name), 1u) << v.name << " is " << shape_text(v.shape);
      });
    }
  }
  std::vector<std::string> outputs;
  for (const ir::GraphOutput& o : g.outputs())
    outputs.push_back(shape_text(g.value(o.value).shape));
  EXPECT_THAT(outputs, testing::ElementsAreArray(GetParam().outputs));
}

TEST_P(ExportedShapes, KeepTheirBitsAtEverySize) {
  const ir::Graph g = import_onnx(path_of(GetParam()));
  ir::Graph optimized = g;
  ir::optimize(optimized);
  EXPECT_LT(optimized.node_count(), g.node_count());
  ir::InterpreterOptions simd;
  simd.kernels = {&kCpuKernels, &kReferenceKernels};
  for (const Shape& shape : GetParam().inputs) {
    const HostTensor x = input_of(g, shape);
    const std::vector<HostTensor> want = ir::run(g, {&x, 1}),
                                  got = ir::run(optimized, {&x, 1}, simd);
    for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(same_bits(got[k], want[k])) << k;
  }
}

const Exported kModels[] = {
    {"transformer", {{2, 7}, {3, 1}, {1, 30}}, {"[b,t,5]"}},
    {"attention", {{2, 7, 8}, {3, 1, 8}, {1, 20, 8}}, {"[b,t,8]"}},
    {"residual", {{1, 3, 16, 16}, {3, 3, 9, 21}}, {"[b,5]"}},
    {"resampled",
     {{1, 3, 16, 16}, {2, 3, 7, 10}},
     {"[b,2,2*floor(h+1,2),2*floor(w+1,2)]", "[b,4*h*w]", "[b,5,4]"}},
    {"shuffled", {{1, 4, 16, 16}, {2, 4, 5, 8}}, {"[b,4,floor(h,2),max(1,w)-1]", "[b,4*h*w]"}}};

INSTANTIATE_TEST_SUITE_P(Models, ExportedShapes, testing::ValuesIn(kModels),
                         [](const testing::TestParamInfo<Exported>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace wick
