// Every public function with arguments that it cannot take: other shapes, ranks and dtypes, indices
// out of range, undefined tensors. Each answer is a result whose elements can be read, or an Error
// that begins with the [op], gives shapes, dtypes or what is undefined, and ends at the line of the
// caller. There is nothing else: no other exception, no crash, no line of Wick's own.
#include <gtest/gtest.h>

#include <regex>

#include "tests/functions/inputs.h"
#include "tests/functions/row_name.h"

namespace wick::test {

namespace {

struct Attack {
  std::string what;
  List in;
};

// Makes a sample's inputs wrong one at a time, then all of them together.
std::vector<Attack> attacks(const List& good) {
  std::vector<Attack> all;
  auto one = [&](size_t i, const std::string& what, const Tensor& bad) {
    List in = good;
    in[i] = bad;
    all.push_back({"x" + std::to_string(i) + " " + what, std::move(in)});
  };
  auto each = [&](const std::string& what, const auto& f) {
    List in;
    for (const Tensor& t : good) in.push_back(f(t));
    all.push_back({"every input " + what, std::move(in)});
  };
  const Shape shapes[] = {{},
                          {0},
                          {1},
                          {7},
                          {0, 3},
                          {3, 0},
                          {2, 5},
                          {2, 3, 5},
                          {1, 2, 3, 4},
                          {2, 1, 2, 1, 3},
                          {1, 2, 1, 1, 2, 1, 1, 2}};
  for (size_t i = 0; i < good.size(); ++i) {
    const DType dtype = good[i].dtype();
    one(i, "undefined", Tensor());
    for (const Shape& s : shapes)
      one(i, std::string("of shape ") + to_text(s).text, ones(s, dtype));
    Tensor longer = ones(
        [&] {
          Shape s = good[i].raw_shape();
          if (s.rank() > 0) ++s[s.rank() - 1];
          return s;
        }(),
        dtype);
    one(i, "one longer", longer);
    for (DType t : listed(kStored))
      if (t != dtype) one(i, std::string("as ") + dtype_name(t), good[i].to(t));
    if (is_int(dtype)) {
      one(i, "all 99", full(good[i].raw_shape(), 99, dtype));
      one(i, "all -99", full(good[i].raw_shape(), -99, dtype));
    }
  }
  if (good.size() < 2) return all;
  each("undefined", [](const Tensor&) { return Tensor(); });
  for (const Shape& s : shapes)
    each(std::string("of shape ") + to_text(s).text,
         [&](const Tensor& t) { return ones(s, t.dtype()); });
  for (DType d : listed(kStored))
    each(std::string("as ") + dtype_name(d), [&](const Tensor& t) { return t.to(d); });
  return all;
}

// Empty when the answer is as it should be.
std::string problem_of(const FunctionRow& row, const Sample& sample, const Attack& attack,
                       DType dtype, size_t* errors) {
  static const std::regex kName(R"(^\[[a-z_][\w:.]*\] )", std::regex::icase);
  static const std::regex kTells(
      R"(\[[-0-9, ]*\]|undefined|u?int(8|16|32|64)|b?float(16|32|64)|bool|rank|dimension|element|axis|index|size|is required|operand|min, a max|axes|integers|window|weights|repeats|start_dim|ord is|running_mean)");
  const std::string line = "(" + row.family + ".cc:";
  try {
    for (const Tensor& t : sample.body({attack.in, dtype})) {
      if (!t.defined()) continue;
      elements(t.detach());
    }
    return "";
  } catch (const Error& e) {
    ++*errors;
    std::string text = e.what(), bad;
    if (!std::regex_search(text, kName)) bad += "no [op] in front; ";
    if (text.find(line) == std::string::npos) bad += "not the caller's line; ";
    if (!std::regex_search(text.substr(std::min(text.size(), text.find(']') + 1)), kTells))
      bad += "tells neither shapes nor dtypes; ";
    return bad.empty() ? "" : bad + text;
  } catch (const std::exception& e) {
    return std::string("another exception: ") + e.what();
  }
}

class FunctionHostile : public testing::TestWithParam<const FunctionRow*> {};

TEST_P(FunctionHostile, AnswersOrSaysWhatAndWhere) {
  const FunctionRow& row = *GetParam();
  size_t errors = 0, inputs = 0;
  for (size_t s = 0; s < row.samples.size(); ++s) {
    const Sample& sample = row.samples[s];
    const DTypeSet types = dtypes_of(row, sample);
    const DType dtype = has(types, DType::kF32) ? DType::kF32 : listed(types).front();
    inputs += sample.in.size();
    for (const Attack& attack : attacks(input_tensors(row, s, dtype))) {
      manual_seed(11);
      std::string problem = problem_of(row, sample, attack, dtype, &errors);
      EXPECT_EQ(problem, "") << sample_key(row, s) << " " << sample.torch << " with "
                             << attack.what;
    }
  }
  EXPECT_TRUE(errors > 0 || inputs == 0) << "takes anything, even tensors that were never made";
}

std::vector<const FunctionRow*> every_row() {
  std::vector<const FunctionRow*> all;
  for (const FunctionRow& row : function_rows())
    if (row.family != "extremes") all.push_back(&row);  // other families' functions again
  return all;
}

INSTANTIATE_TEST_SUITE_P(Functions, FunctionHostile, testing::ValuesIn(every_row()), test_name);

}  // namespace
}  // namespace wick::test
