// Wick::tools by its public header alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include "wick/compile.h"
#include "wick/quantize.h"
#include "wick/tools.h"

namespace wick {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// relu(x w + b), with a name for each node; `bias` is every element of b.
ir::Graph layer(float bias) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), 2});
  const ir::ValueId w =
      g.add_constant(HostTensor::of<float>({3, 2}, {1, 2, 3, -1, 0, 1}), "w", true);
  const ir::ValueId b = g.add_constant(HostTensor::of<float>({3}, {bias, bias, bias}), "b", true);
  g.add_output("y", g.emit(OpId::kRelu, {g.emit(OpId::kLinear, {x, w, b}, "fc")}, "act"));
  return g;
}

struct Folder {
  Folder()
      : path(std::filesystem::temp_directory_path() / ("wick-tools-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  std::filesystem::path path;
};

TEST(ToolsLibrary, TheFirstNodeThatDiffersIsNamed) {
  const Folder folder;
  const std::string first = folder.file("a.onnx"), second = folder.file("b.wick");
  export_onnx(layer(0.5F), first);
  export_wick(layer(0.25F), second);
  const tool::Model a = tool::Model::open(first), b = tool::Model::open(second);
  tool::NodeTrace values_a, values_b;
  tool::Runner run_a(a, {.trace = &values_a}), run_b(b, {.trace = &values_b});
  const tool::Sample made = tool::sample_inputs(run_a.session(), a.program(), {.batch = 3});
  const std::vector<HostTensor> x = made.inputs;
  const tool::Difference d = tool::difference(run_a.run(x)[0], run_b.run(x)[0]);
  if (!d.bits) std::puts(tool::first_difference(values_a, values_b, 0).c_str());
  EXPECT_EQ(made.batch, 3);
  EXPECT_FALSE(d.bits);
  EXPECT_GT(d.max_abs, 0);
  EXPECT_THAT(tool::first_difference(values_a, values_b, 0), StartsWith("FusedLinear fc ("));
  EXPECT_EQ(tool::first_difference(values_a, values_a, 0), "");
}

// A device ran the first of three nodes of one name: the trace of that run begins with the second.
TEST(ToolsLibrary, StepsThatADeviceRanDoNotShiftTheOthers) {
  const auto traced = [](tool::NodeTrace* to, const char* op, const char* backend, int64_t index,
                         float value) {
    const HostTensor y = HostTensor::of<float>({1}, {value});
    const TensorView out = y.view();
    to->on_op({op, "n", "kernel", backend, index, 0, 0, {}, {&out, 1}});
  };
  tool::NodeTrace a, b, other;
  traced(&a, "Reshape", "cpu", 0, 1);
  for (int i = 1; i < 4; ++i) traced(&a, "Linear", "cpu", i, static_cast<float>(i));
  traced(&b, "Linear", "vulkan", 1, 1);
  traced(&b, "Linear", "cpu", 2, 2);
  traced(&b, "Linear", "cpu", 3, 30);
  EXPECT_THAT(tool::first_difference(a, b, 0), StartsWith("Linear n, number 4 of that name ("));
  // In another program the numbers are others: a step is never compared with one of another op.
  traced(&other, "Linear", "cpu", 0, 1);
  traced(&other, "Linear", "cpu", 1, 2);
  traced(&other, "Linear", "cpu", 2, 4);
  EXPECT_THAT(tool::first_difference(a, other, 0), StartsWith("Linear n, number 4 of that name ("));
}

TEST(ToolsLibrary, SamplesOfEveryTypeHaveNumbers) {
  for (DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kI16, DType::kI32,
        DType::kI64, DType::kU8, DType::kU16, DType::kU32, DType::kU64, DType::kBool}) {
    ir::Graph g;
    g.add_output("y", g.emit(OpId::kIdentity, {g.add_input("x", dtype, {64})}, "same"));
    const tool::Model model = tool::Model::from_graph(g, false);
    tool::Runner runner(model, {});
    for (auto values :
         {tool::SampleValues::kUniform, tool::SampleValues::kTies, tool::SampleValues::kSpecials}) {
      const HostTensor x =
          tool::sample_inputs(runner.session(), model.program(), {.values = values}).inputs[0];
      double least = 0, most = 0;
      for (int64_t i = 0; i < x.numel(); ++i) {
        least = std::min(least, element_as_double(x, i));
        most = std::max(most, element_as_double(x, i));
        if (values == tool::SampleValues::kTies && is_float(dtype)) {
          EXPECT_EQ(std::round(element_as_double(x, i) * 2), element_as_double(x, i) * 2);
        }
      }
      EXPECT_GT(most, least) << dtype_name(dtype);
    }
  }
}

TEST(ToolsLibrary, EveryNodeHasItsTime) {
  const tool::Model model = tool::Model::from_graph(layer(0), false);
  tool::NodeTimes times;
  tool::Runner runner(model, {.trace = &times});
  const tool::Sample made = tool::sample_inputs(runner.session(), model.program(), {});
  for (int i = 0; i < 5; ++i) runner.run(made.inputs);
  ASSERT_EQ(times.in_order().size(), 2U);
  EXPECT_EQ(times.in_order()[0]->op, "Linear");
  EXPECT_EQ(times.in_order()[1]->op, "Relu");
  for (const tool::NodeTimes::Step* step : times.in_order()) EXPECT_EQ(step->ns.size(), 5U);
  EXPECT_EQ(times.ms_by_op(5).size(), 2U);
}

TEST(ToolsLibrary, FilesCalibrateAndScore) {
  const Folder folder;
  HostTensor x(DType::kF32, {40, 2});
  for (int64_t i = 0; i < x.numel(); ++i) x.as<float>()[i] = static_cast<float>(i % 7) - 3;
  tool::write_array(folder.file("x.npy"), x);
  const ir::Graph graph = layer(0);
  const tool::InputData data =
      tool::open_data(graph, folder.file("x.npy"), {.batches = 2, .batch = 16});
  EXPECT_EQ(data.items, 32);
  EXPECT_EQ(data.count, 2);
  const quantize::QuantizeResult q = quantize::quantize(graph, {}, data.batches);
  EXPECT_TRUE(q.stayed.empty());
  const tool::Model model = tool::Model::from_graph(graph, true);
  tool::Runner runner(model, {});
  tool::InputData labelled = data;
  labelled.labels = [&](int64_t batch) {  // the model's own answers
    const HostTensor y =
        runner.run(tool::session_inputs(runner.session(), *data.batches(batch), false))[0];
    std::vector<int64_t> labels;
    for (int64_t r = 0; r < y.shape()[0]; ++r) {
      const float* row = y.as<float>() + r * 3;
      labels.push_back(std::max_element(row, row + 3) - row);
    }
    return labels;
  };
  EXPECT_EQ(tool::accuracy_of(runner, labelled, {}), 1);
}

TEST(ToolsLibrary, WrongUsageIsAnErrorThatNamesTheOption) {
  const tool::Model model = tool::Model::from_graph(layer(0), false);
  tool::Runner runner(model, {});
  try {
    tool::sample_inputs(runner.session(), model.program(), {.named = {"height=3"}});
    FAIL() << "a size that the model does not have";
  } catch (const tool::UsageError& e) {
    EXPECT_EQ(e.option(), "--dim");
    EXPECT_THAT(e.what(), HasSubstr("--dim: the model has no size named 'height'; it has: batch"));
  }
  EXPECT_THROW(tool::Model::open("/nonexistent.onnx"), Error);
}

}  // namespace
}  // namespace wick
