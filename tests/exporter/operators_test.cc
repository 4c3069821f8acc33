// Every operator of ONNX's default domain: read, or named with a reason; the table of their forms.
#include "exporter/onnx/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "exporter/onnx/onnx.h"
#include "exporter/onnx/read.h"
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
      EXPECT_THAT(why, Not(HasSubstr(words))) << op.name << ": neither read nor in read.cc's kOut";
  }
  EXPECT_EQ(current, 201);  // of opset 28
}

TEST(Operators, KnowTheOpsetsAtWhichTheyChanged) {
  std::map<std::string, OnnxOperator> by_name;
  for (const OnnxOperator& op : onnx_operators()) by_name[op.name] = op;
  EXPECT_THAT(by_name["Abs"].changes, ElementsAre(1, 6, 13));
  EXPECT_THAT(by_name["Acos"].changes, ElementsAre(7, 22));
  EXPECT_THAT(by_name["Cast"].changes, ElementsAre(1, 6, 9, 13, 19, 21, 23, 24, 25));
  EXPECT_THAT(by_name["SwiGLU"].changes, ElementsAre(28));
  EXPECT_THAT(by_name["Upsample"].changes, ElementsAre(1, 7, 9));
  EXPECT_EQ(by_name["Upsample"].until, 9);
  EXPECT_EQ(by_name["Scatter"].until, 10);
}

// A form that no dtype can be read in is a mistake of the table, or a reader that lacks the form.
TEST(Operators, AreReadInEveryFormTheyEverHad) {
  std::map<std::string, bool> forms;  // whether there is something to try
  for (const onnx::OperatorForm& form : onnx::operator_forms())
    forms[form.name] = form.inputs != nullptr;
  for (const OnnxOperator& op : onnx_operators()) {
    if (!op.why_out.empty()) {
      EXPECT_EQ(forms.count(op.name), 0u) << op.name << " has a form, and no reader";
      continue;
    }
    ASSERT_EQ(forms.count(op.name), 1u)
        << op.name << " has no form in operator_forms.cc (null inputs where none is a tensor)";
    if (!forms[op.name]) continue;
    for (int opset : op.changes) {
      std::string why;
      int read = 0;
      for (int t = 1; t < kDTypeCount; ++t) {
        try {
          const auto bytes = onnx_sample(op.name, opset, static_cast<DType>(t));
          ASSERT_FALSE(bytes.empty()) << op.name << " has no form at opset " << opset;
          import_onnx_bytes({bytes.data(), bytes.size()});
          ++read;
        } catch (const Error& e) {
          why = e.what();
        }
      }
      EXPECT_GT(read, 0) << op.name << " at opset " << opset << ": " << why;
    }
  }
}

// Each has a form of which at least one dtype runs on.
TEST(Operators, OfMicrosoftAreReadInTheirForms) {
  const auto list = microsoft_operators();
  EXPECT_EQ(list.size(), onnx::microsoft_operator_forms().size());
  for (const OnnxOperator& op : list) {
    std::string why = "it has no form in ms_operator_forms.cc";
    int read = 0;
    for (int t = 1; t < kDTypeCount; ++t) {
      try {
        const auto bytes = onnx_sample(op.name, 1, static_cast<DType>(t));
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

}  // namespace
}  // namespace wick
