#include "tests/ops/rows.h"

namespace wick::test {
namespace {

std::vector<Sample> reductions(const char* op, double lo, double hi) {
  std::string n = op;
  return {sample(n + "/all", {f32({3, 4, 5}, lo, hi)}, ReduceAttrs{}),
          sample(n + "/last", {f32({6, 37}, lo, hi)}, ReduceAttrs{{-1}, 0, 0}),
          sample(n + "/first", {f32({37, 21}, lo, hi)}, ReduceAttrs{{0}, 0, 0}),
          sample(n + "/middle", {f32({2, 35, 3}, lo, hi)}, ReduceAttrs{{1}, 1, 0}),
          sample(n + "/spatial", {f32({2, 3, 7, 7}, lo, hi)}, ReduceAttrs{{2, 3}, 1, 0}),
          sample(n + "/batch_spatial", {f32({4, 3, 5, 9}, lo, hi)}, ReduceAttrs{{0, 2, 3}, 0, 0}),
          sample(n + "/axes_input", {f32({4, 3, 5}, lo, hi), ints({0, 2})}, ReduceAttrs{{}, 0, 0}),
          sample(n + "/noop", {f32({4, 3}, lo, hi)}, ReduceAttrs{{}, 1, 1}),
          sample(n + "/i64", {of(DType::kI64, {4, 3}, 1, 5)}, ReduceAttrs{{1}, 0, 0}),
          sample(n + "/i32", {of(DType::kI32, {4, 3}, 1, 5)}, ReduceAttrs{{0}, 0, 0})};
}
std::vector<Sample> with_long(const char* op) {
  auto s = reductions(op, -2, 2);
  s.push_back(sample(std::string(op) + "/10000", {f32({2, 10000})}, ReduceAttrs{{1}, 0, 0}));
  return s;
}
std::vector<Sample> with_empty(const char* op) {
  auto s = with_long(op);
  s.push_back(sample(std::string(op) + "/empty", {f32({3, 0})}, ReduceAttrs{{1}, 0, 0}));
  return s;
}
std::vector<Sample> args(const char* op) {
  std::string n = op;
  return {sample(n + "/last", {f32({6, 37})}, ArgAttrs{-1, 0, 0}),
          sample(n + "/first", {f32({6, 7})}, ArgAttrs{0, 1, 0}),
          sample(n + "/ties", {of(DType::kI32, {5, 9}, 0, 2)}, ArgAttrs{1, 0, 0}),
          sample(n + "/ties_last", {of(DType::kI32, {5, 9}, 0, 2)}, ArgAttrs{1, 0, 1})};
}

}  // namespace

WICK_TEST_ROW(
    ReduceSum, [] { return with_empty("ReduceSum"); }, nullptr, 64);
WICK_TEST_ROW(
    ReduceMean, [] { return with_long("ReduceMean"); }, nullptr, 64);
WICK_TEST_ROW(
    ReduceMax, [] { return with_long("ReduceMax"); }, nullptr, 1);
WICK_TEST_ROW(
    ReduceMin, [] { return with_long("ReduceMin"); }, nullptr, 1);
WICK_TEST_ROW(
    ReduceProd, [] { return reductions("ReduceProd", 0.7, 1.3); }, nullptr, 256);
WICK_TEST_ROW(
    ArgMax, [] { return args("ArgMax"); }, nullptr, 1);
WICK_TEST_ROW(
    ArgMin, [] { return args("ArgMin"); }, nullptr, 1);

}  // namespace wick::test
