// Programs with If, Loop and data-dependent sizes.
#pragma once

#include "tests/runtime/programs.h"

namespace wick::test {

// trips, go, s[k,2], x[n,2] -> s with x behind it once a trip, and the sum of each trip's s.
// Ends when the sum is not below 100.
inline std::vector<uint8_t> growing_loop() {
  ProgramBuilder p;
  for (const char* name : {"k", "n", "inside", "made"}) p.symbol(name);
  auto trips = p.value("trips", DType::kI64, {}), go = p.value("go", DType::kBool, {});
  auto s = p.value("s", DType::kF32, {kSym, 2}), x = p.value("x", DType::kF32, {kSym - 1, 2});
  auto i = p.value("i", DType::kI64, {}), c = p.value("c", DType::kBool, {});
  auto s_in = p.value("s_in", DType::kF32, {kSym - 2, 2});
  auto x_in = p.value("x_in", DType::kF32, {kSym - 1, 2});
  auto s_out = p.value("s_out", DType::kF32, {kSym - 3, 2});
  auto sum = p.value("sum", DType::kF32, {}), more = p.value("more", DType::kBool, {});
  auto limit = p.constant<float>("limit", {}, {100});
  auto end = p.value("end", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  auto sums = p.value("sums", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  auto twice = p.value("twice", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  ReduceAttrs all;
  all.keepdims = 0;
  p.node(OpId::kConcat, {s_in, x_in}, {s_out}, AxisAttrs{0}, "append");
  p.node(OpId::kReduceSum, {s_out}, {sum}, all, "total");
  p.node(OpId::kLess, {sum, limit}, {more}, NoAttrs{}, "below");
  p.region({i, c, s_in, x_in}, {more, s_out, sum}, false);
  p.control(OpId::kLoop, {trips, go, s, x}, {end, sums}, 1, LoopAttrs{1}, "grow");
  p.node(OpId::kAdd, {end, end}, {twice}, NoAttrs{}, "double");
  p.entry("main", {trips, go, s, x}, {twice, sums});
  return p.finish(kFeatureRegions);
}

// go, x[n] -> go: the places where x is not 0, as f32; else: x and x again
inline std::vector<uint8_t> branches() {
  ProgramBuilder p;
  p.symbol("n");
  auto unknown = [&](const char* name, DType t) {
    return p.value(name, t, {}, kNoIndex, kNoIndex, 0, true);
  };
  auto go = p.value("go", DType::kBool, {1}), x = p.value("x", DType::kF32, {kSym});
  auto a = p.value("a", DType::kF32, {kSym}), b = p.value("b", DType::kF32, {kSym});
  auto places = unknown("places", DType::kI64), as_float = unknown("as_float", DType::kF32);
  auto row = unknown("row", DType::kF32), both = unknown("both", DType::kF32);
  auto made = unknown("made", DType::kF32), y = unknown("y", DType::kF32);
  auto to = p.constant<int64_t>("to", {1}, {-1});
  p.node(OpId::kNonZero, {a}, {places}, NoAttrs{}, "nonzero");
  p.node(OpId::kCast, {places}, {as_float}, CastAttrs{static_cast<int64_t>(DType::kF32)}, "cast");
  p.node(OpId::kReshape, {as_float, to}, {row}, ReshapeAttrs{}, "row");
  p.region({a}, {row}, false);
  p.node(OpId::kConcat, {b, b}, {both}, AxisAttrs{0}, "twice");
  p.region({b}, {both}, false);
  p.control(OpId::kIf, {go, x}, {made}, 1, NoAttrs{}, "if");
  p.node(OpId::kNeg, {made}, {y}, NoAttrs{}, "neg");
  p.entry("main", {go, x}, {y});
  return p.finish(kFeatureRegions);
}

}  // namespace wick::test
