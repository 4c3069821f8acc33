// The differential fuzzer's findings, reduced: tests/conformance/fuzz/cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "exporter/onnx/onnx.h"
#include "exporter/onnx/test_case.h"
#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "tests/support/where.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string cases() { return source_dir("/tests/conformance/fuzz/cases"); }

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(cases()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void expect_outputs(const std::vector<HostTensor>& got, const OnnxCase& test, const char* what) {
  ASSERT_EQ(got.size(), test.outputs.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const auto bound = test.bounds.find(i);
    EXPECT_EQ(case_differs(got[i], test.outputs[i],
                           bound == test.bounds.end() ? nullptr : &bound->second),
              "")
        << what;
  }
}

class FuzzCases : public testing::TestWithParam<std::string> {};

TEST_P(FuzzCases, AgreeWithOnnxRuntime) {
  for (CaseMode mode : {CaseMode::kDyn, CaseMode::kConst}) {
    const OnnxCase test = load_onnx_case(cases() + "/" + GetParam(), mode);
    const ir::Graph graph = import_onnx_bytes(test.model, test.folder);
    expect_outputs(ir::run(graph, test.inputs), test, "as read");
    ir::Graph optimized = graph;
    ir::optimize(optimized);
    expect_outputs(ir::run(optimized, test.inputs), test, "optimized");
    ir::Graph again = import_onnx_bytes(onnx_bytes(graph));
    expect_outputs(ir::run(again, test.inputs), test, "written and read again");
    again.metadata = graph.metadata;
    EXPECT_EQ(ir::print(again, true), ir::print(graph, true));
  }
}

INSTANTIATE_TEST_SUITE_P(Kept, FuzzCases, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

// A bound replaces the suite's tolerance, tighter or wider.
TEST(CaseBound, DecidesInPlaceOfTheTolerance) {
  const HostTensor want = HostTensor::of<float>({2}, {1.0F, 2.0F});
  const HostTensor got = HostTensor::of<float>({2}, {1.0F, 2.001F});
  const HostTensor wide = HostTensor::of<double>({2}, {0.0, 0.01});
  const HostTensor tight = HostTensor::of<double>({2}, {0.0, 1e-6});
  EXPECT_EQ(case_differs(got, want), "");
  EXPECT_EQ(case_differs(got, want, &wide), "");
  EXPECT_NE(case_differs(got, want, &tight), "");
}

}  // namespace
}  // namespace wick
