// A program with state buffers: rows that are written one after the other, and what becomes of
// them.
#pragma once

#include "tests/runtime/programs.h"

namespace wick::test {

// "write": x [1,n] becomes row `at` of `rows` [4,n], `at` is one more, `last` [2] becomes last (1,
// 2), and sum [n] is that of the rows. "read": that sum, and -last. `copied`: another node reads
// the rows before they are written, so that they cannot be written in place.
inline std::vector<uint8_t> rows_program(bool copied = false) {
  ProgramBuilder p;
  p.symbol("n", 1, 8);
  auto rows = p.state("rows", DType::kF32, {4, kSym}, kNoIndex);
  auto at = p.state("at", DType::kI64, {1, 1}, kNoIndex);
  auto first = p.constant_only("first", {2}, std::vector<float>{3, 4});
  auto last = p.state("last", DType::kF32, {2}, first);

  auto x = p.value("x", DType::kF32, {1, kSym});
  auto r = p.value("rows", DType::kF32, {4, kSym}, kNoIndex, rows);
  auto a = p.value("at", DType::kI64, {1, 1}, kNoIndex, at);
  auto one = p.constant<int64_t>("one", {1, 1}, {1});
  auto scale = p.constant<float>("scale", {2}, {1, 2});
  auto made = p.value("made", DType::kF32, {4, kSym});
  auto next = p.value("next", DType::kI64, {1, 1});
  auto sum = p.value("sum", DType::kF32, {kSym});
  auto scaled = p.value("scaled", DType::kF32, {2});
  auto before = p.value("before", DType::kF32, {kSym});
  ReduceAttrs reduce;
  reduce.axes = {0};
  reduce.keepdims = 0;
  if (copied) p.node(OpId::kReduceSum, {r}, {before}, reduce, "before");
  p.node(OpId::kScatterND, {r, a, x}, {made}, ScatterNDAttrs{}, "write");
  p.node(OpId::kAdd, {a, one}, {next}, NoAttrs{}, "next");
  p.node(OpId::kReduceSum, {made}, {sum}, reduce, "sum");
  p.node(OpId::kMul, {p.value("last", DType::kF32, {2}, kNoIndex, last), scale}, {scaled},
         NoAttrs{}, "scaled");
  p.state_update(rows, made);
  p.state_update(at, next);
  p.state_update(last, scaled);
  p.entry("write", {x}, copied ? std::vector<uint32_t>{sum, before} : std::vector<uint32_t>{sum});

  auto r2 = p.value("rows", DType::kF32, {4, kSym}, kNoIndex, rows);
  auto sum2 = p.value("sum", DType::kF32, {kSym});
  auto l2 = p.value("last", DType::kF32, {2}, kNoIndex, last);
  auto told = p.value("told", DType::kF32, {2});
  p.node(OpId::kReduceSum, {r2}, {sum2}, reduce, "sum");
  p.node(OpId::kNeg, {l2}, {told}, NoAttrs{}, "told");
  p.entry("read", {}, {sum2, told});
  return p.finish(kFeatureState);
}

}  // namespace wick::test
