// Programs on sequences and optionals.
#pragma once

#include "tests/runtime/programs.h"

namespace wick::test {

inline const SequenceAttrs kF32Elements{static_cast<int64_t>(DType::kF32)};

// sequence, position -> the element, the length, the sequence with the element behind it
inline std::vector<uint8_t> walk() {
  ProgramBuilder b;
  uint32_t s = b.packed("s", fbs::ValueKind::Sequence, DType::kF32),
           p = b.value("p", DType::kI64, {}),
           x = b.value("x", DType::kF32, {}, kNoIndex, kNoIndex, 0, true),
           n = b.value("n", DType::kI64, {}),
           t = b.packed("t", fbs::ValueKind::Sequence, DType::kF32);
  b.node(OpId::kSequenceAt, {s, p}, {x}, kF32Elements, "take");
  b.node(OpId::kSequenceLength, {s}, {n});
  b.node(OpId::kSequenceInsert, {s, x}, {t});
  b.entry("main", {s, p}, {x, n, t});
  return b.finish(kFeatureRegions | kFeatureNonTensor);
}

// trips, go, sequence, x[2] -> the sequence with 2x behind it once a trip, all of it concatenated
inline std::vector<uint8_t> grow() {
  ProgramBuilder b;
  auto sequence = [&](const char* name) {
    return b.packed(name, fbs::ValueKind::Sequence, DType::kF32);
  };
  auto trips = b.value("trips", DType::kI64, {}), go = b.value("go", DType::kBool, {}),
       x = b.value("x", DType::kF32, {2}), s = sequence("s"), i = b.value("i", DType::kI64, {}),
       c = b.value("c", DType::kBool, {}), s_in = sequence("s_in"),
       x_in = b.value("x_in", DType::kF32, {2}), y = b.value("y", DType::kF32, {2}),
       s_out = sequence("s_out"), end = sequence("end"),
       all = b.value("all", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  b.node(OpId::kAdd, {x_in, x_in}, {y}, NoAttrs{}, "double");
  b.node(OpId::kSequenceInsert, {s_in, y}, {s_out}, NoAttrs{}, "append");
  b.region({i, c, s_in, x_in}, {c, s_out}, false);
  b.control(OpId::kLoop, {trips, go, s, x}, {end}, 1, LoopAttrs{1}, "grow");
  b.node(OpId::kConcatFromSequence, {end}, {all},
         ConcatFromSequenceAttrs{0, 0, static_cast<int64_t>(DType::kF32)}, "join");
  b.entry("main", {trips, go, s, x}, {end, all});
  return b.finish(kFeatureRegions | kFeatureNonTensor);
}

// optional sequence -> whether it is there, and it
inline std::vector<uint8_t> maybe() {
  ProgramBuilder b;
  uint32_t o = b.packed("o", fbs::ValueKind::OptionalSequence, DType::kF32),
           has = b.value("has", DType::kBool, {}),
           s = b.packed("s", fbs::ValueKind::Sequence, DType::kF32);
  b.node(OpId::kOptionalHasElement, {o}, {has});
  b.node(OpId::kOptionalGetElement, {o}, {s}, kF32Elements, "get");
  b.entry("main", {o}, {has, s});
  return b.finish(kFeatureRegions | kFeatureNonTensor);
}

}  // namespace wick::test
