// Every operator of ONNX's default domain: read, or named with a reason; the table of their forms.
#include "exporter/onnx/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "exporter/onnx/onnx.h"
#include "exporter/onnx/operators/table.h"
#include "wick/error.h"

namespace wick {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Operators, AreReadOrNamedWithAReason) {
  int current = 0;
  for (const OnnxOperator& op : onnx_operators()) {
    current += op.until == kNewestOpset ? 1 : 0;
    const std::string why = op.why_out;
    for (const char* words : {"no operator of this name", "this operator of ONNX Runtime's"})
      EXPECT_THAT(why, Not(HasSubstr(words)))
          << op.name << ": neither read nor a WICK_ONNX_OUT of operators/default.def";
  }
  EXPECT_EQ(current, 201);  // at opset 28
}

TEST(Operators, KnowTheOpsetsAtWhichTheyChanged) {
  std::map<std::string, OnnxOperator> by_name;
  for (const OnnxOperator& op : onnx_operators()) by_name[op.name] = op;
  EXPECT_THAT(by_name["Abs"].changes, ElementsAre(1, 6, 13));
  EXPECT_THAT(by_name["Acos"].changes, ElementsAre(7, 22));
  EXPECT_THAT(by_name["Cast"].changes, ElementsAre(1, 6, 9, 13, 19, 21, 23, 24, 25, 28));
  EXPECT_THAT(by_name["SwiGLU"].changes, ElementsAre(28));
  EXPECT_THAT(by_name["Upsample"].changes, ElementsAre(1, 7, 9));
  EXPECT_EQ(by_name["Upsample"].until, 9);
  EXPECT_EQ(by_name["Scatter"].until, 10);
}

// An example that no dtype can be read in is a mistake of the row, or a reader that lacks the
// version.
TEST(Operators, AreReadInEveryVersionTheyEverHad) {
  size_t tried = 0;
  for (const onnx::OperatorVersion& v : onnx::operator_versions()) {
    if (v.read == nullptr || v.example.inputs == nullptr) continue;
    ++tried;
    std::string why;
    int read = 0;
    for (int t = 1; t < kDTypeCount; ++t) {
      try {
        const auto bytes = onnx_sample(v.name, v.since, static_cast<DType>(t));
        ASSERT_FALSE(bytes.empty()) << v.name << " has no example at opset " << v.since;
        import_onnx_bytes({bytes.data(), bytes.size()});
        ++read;
      } catch (const Error& e) {
        why = e.what();
      }
    }
    EXPECT_GT(read, 0) << v.name << " at opset " << v.since << ": " << why;
  }
  EXPECT_GT(tried, 600u);
}

// Each runs on at least one dtype.
TEST(Operators, OfOtherDomainsAreReadInTheirExamples) {
  for (const char* domain : {onnx::kMicrosoft, onnx::kMl, onnx::kPreview}) {
    for (const OnnxOperator& op : onnx_operators_of(domain)) {
      std::string why = "it has no example";
      int read = 0;
      for (int t = 1; t < kDTypeCount; ++t) {
        try {
          const auto bytes = onnx_sample(op.name, op.changes.back(), static_cast<DType>(t));
          if (bytes.empty()) continue;
          onnx_bytes(import_onnx_bytes({bytes.data(), bytes.size()}));
          ++read;
        } catch (const Error& e) {
          why = e.what();
        }
      }
      EXPECT_GT(read, 0) << op.name << ": " << why;
    }
  }
}

}  // namespace
}  // namespace wick
