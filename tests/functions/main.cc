// test_functions: GoogleTest, and the queries of the rows for the scripts next to it.
//   --families         the families' names
//   --list             name and aliases of every row, one a line
//   --dump FAMILY      the samples' inputs and expressions as JSON, for make_goldens.py
//   --rows, --serve    all samples as JSON, and answers to cases of them, for random_shapes.py
//   --coverage         function: dtypes, one a line (coverage.txt)
#include <gtest/gtest.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/functions/families.h"
#include "tests/functions/inputs.h"
#include "tests/functions/totals.h"

namespace wick::test {

int describe_rows(), serve();  // serve.cc

#define X(family) std::vector<FunctionRow> family##_rows();
WICK_FUNCTION_FAMILIES(X)
#undef X

const std::vector<FunctionRow>& function_rows() {
  static const std::vector<FunctionRow> rows = [] {
    std::vector<FunctionRow> all;
#define X(f)                             \
  for (FunctionRow & row : f##_rows()) { \
    row.family = #f;                     \
    all.push_back(std::move(row));       \
  }
    WICK_FUNCTION_FAMILIES(X)
#undef X
    return all;
  }();
  return rows;
}

Totals& totals() {
  static Totals t;
  return t;
}

namespace {

const char* mark_text(Mark m) {
  switch (m) {
    case Mark::kSmooth: return "smooth";
    case Mark::kPiecewise: return "non-smooth points, sampled around";
    case Mark::kOnce: return "first order only";
    case Mark::kKink: return "at a non-smooth point, against PyTorch alone";
    case Mark::kIntegerOutput: return "integer output";
    case Mark::kPiecewiseConstant: return "piecewise constant";
    case Mark::kNotRecorded: return "without a history";
    case Mark::kRandom: return "random";
    case Mark::kCreation: return "no tensor input";
  }
  return "?";
}

void print_totals() {
  const Totals& t = totals();
  std::map<std::string, size_t> marks;
  size_t functions = 0, differentiable = 0;
  for (const FunctionRow& row : function_rows()) {
    if (row.family == "extremes" || row.family == "unchanged")
      continue;  // other families' functions again
    ++functions;
    ++marks[mark_text(row.diff.mark)];
    differentiable += row.diff.differentiable() ? 1 : 0;
  }
  printf(
      "COUNT: functions: %zu functions (%zu differentiable), %zu function x dtype x property "
      "cases\n",
      function_rows().size(), differentiable, t.cases);
  printf(
      "COUNT: functions: worst f64 value error %.2g (%s), worst gradient error against PyTorch "
      "%.2g (%s), worst gradcheck error %.2g (%s), worst gradgradcheck error %.2g (%s), worst "
      "forward mode error %.2g (%s)\n",
      t.f64_value, t.f64_value_at.c_str(), t.gradient, t.gradient_at.c_str(), t.gradcheck,
      t.gradcheck_at.c_str(), t.gradgradcheck, t.gradgradcheck_at.c_str(), t.forward,
      t.forward_at.c_str());
  printf("COUNT: functions: by mark:");
  for (const auto& [mark, n] : marks) printf(" %zu %s;", n, mark.c_str());
  printf("\n");
}

int dump(const std::string& family) {
  auto all = nlohmann::ordered_json::array();
  for (const FunctionRow& row : function_rows()) {
    if (row.family != family) continue;
    for (size_t s = 0; s < row.samples.size(); ++s) all.push_back(describe_sample(row, s));
  }
  std::cout << all.dump() << "\n";
  return 0;
}

int list() {
  for (const FunctionRow& row : function_rows()) {
    std::cout << row.name;
    for (const std::string& a : row.aliases) std::cout << " " << a;
    std::cout << "\n";
  }
  return 0;
}

int coverage() {
  for (const FunctionRow& row : function_rows()) {
    DTypeSet all = 0;
    for (const Sample& s : row.samples) all |= dtypes_of(row, s);
    std::cout << row.name << ":";
    for (DType t : listed(all)) std::cout << " " << dtype_name(t);
    std::cout << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace wick::test

int main(int argc, char** argv) {
  using namespace wick::test;
  std::string what = argc > 1 ? argv[1] : "";
  if (what == "--families") {
#define X(f) std::cout << #f << "\n";
    WICK_FUNCTION_FAMILIES(X)
#undef X
    return 0;
  }
  if (what == "--list") return list();
  if (what == "--dump" && argc == 3) return dump(argv[2]);
  if (what == "--coverage") return coverage();
  if (what == "--rows") return describe_rows();
  if (what == "--serve") return serve();
  testing::InitGoogleTest(&argc, argv);
  int result = RUN_ALL_TESTS();
  print_totals();
  return result;
}
