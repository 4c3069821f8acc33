// Models that converters made of estimators of scikit-learn, XGBoost and LightGBM, with ONNX
// Runtime's answers: tests/data/classical. tests/conformance/classical.py makes them, and compares
// more of them over more rows where those packages are installed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "exporter/onnx/test_case.h"
#include "tests/exporter/model_builder.h"
#include "tests/support/where.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;

std::string cases() { return source_dir("/tests/data/classical"); }

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(cases())) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Classical : public testing::TestWithParam<std::string> {};

// As the graph that is read, in a session of its program, and both again when written and read.
TEST_P(Classical, GivesOnnxRuntimesAnswers) {
  const OnnxCase test = load_onnx_case(cases() + "/" + GetParam(), CaseMode::kDyn);
  const ir::Graph graph = import_onnx_bytes(test.model, test.folder);
  const std::vector<HostTensor> got = run_all(graph, test.inputs);
  ASSERT_EQ(got.size(), test.outputs.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const auto bound = test.bounds.find(i);
    EXPECT_EQ(case_differs(got[i], test.outputs[i],
                           bound == test.bounds.end() ? nullptr : &bound->second),
              "")
        << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Kept, Classical, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

TEST(ClassicalModels, AreThere) { EXPECT_GE(case_names().size(), 14u); }

}  // namespace
}  // namespace wick::test
