// Programs on strings.
#pragma once

#include "runtime/core/string_ref.h"
#include "tests/runtime/programs.h"

namespace wick::test {

// Returns the file's form of n strings: n + 1 offsets, then the text.
inline std::vector<uint8_t> packed_strings(const std::vector<std::string>& values) {
  std::vector<uint64_t> offsets = {0};
  std::string text;
  for (const std::string& s : values) {
    text += s;
    offsets.push_back(text.size());
  }
  std::vector<uint8_t> bytes(offsets.size() * sizeof(uint64_t) + text.size());
  memcpy(bytes.data(), offsets.data(), offsets.size() * sizeof(uint64_t));
  if (!text.empty())
    memcpy(bytes.data() + offsets.size() * sizeof(uint64_t), text.data(), text.size());
  return bytes;
}

inline uint32_t strings(ProgramBuilder& p, const char* name, const std::vector<int64_t>& dims,
                        const std::vector<std::string>& values) {
  auto constant = p.constant_only(name, dims, packed_strings(values), 0, DType::kString);
  return p.value(name, DType::kString, dims, constant);
}

// x[n] -> "hello " x "!"
inline std::vector<uint8_t> greeting() {
  ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kString, {kSym});
  auto hello = strings(p, "hello", {}, {"hello "}), end = strings(p, "end", {1}, {"!"});
  auto begun = p.value("begun", DType::kString, {kSym}), y = p.value("y", DType::kString, {kSym});
  p.node(OpId::kStringConcat, {hello, x}, {begun}, NoAttrs{}, "begin");
  p.node(OpId::kStringConcat, {begun, end}, {y}, NoAttrs{}, "finish");
  p.entry("main", {x}, {y});
  return p.finish(kFeatureNonTensor);
}

// trips, go, s[k] -> s with "and then" behind it once a trip; and what each trip said.
inline std::vector<uint8_t> telling_loop() {
  ProgramBuilder p;
  for (const char* name : {"k", "inside", "made"}) p.symbol(name);
  auto trips = p.value("trips", DType::kI64, {}), go = p.value("go", DType::kBool, {});
  auto s = p.value("s", DType::kString, {kSym});
  auto i = p.value("i", DType::kI64, {}), c = p.value("c", DType::kBool, {});
  auto s_in = p.value("s_in", DType::kString, {kSym - 1});
  auto s_out = p.value("s_out", DType::kString, {kSym - 2});
  auto said = p.value("said", DType::kString, {1}), line = p.value("line", DType::kString, {});
  auto more = p.value("more", DType::kBool, {});
  auto one = strings(p, "one", {1}, {"and "}), two = strings(p, "two", {1}, {"then"});
  auto scalar = p.constant<int64_t>("scalar", {0}, {});
  auto end = p.value("end", DType::kString, {}, kNoIndex, kNoIndex, 0, true);
  auto lines = p.value("lines", DType::kString, {}, kNoIndex, kNoIndex, 0, true);
  p.node(OpId::kStringConcat, {one, two}, {said}, NoAttrs{}, "say");
  p.node(OpId::kReshape, {said, scalar}, {line}, ReshapeAttrs{}, "line");
  p.node(OpId::kConcat, {s_in, said}, {s_out}, AxisAttrs{0}, "append");
  p.node(OpId::kIdentity, {c}, {more}, NoAttrs{}, "go_on");
  p.region({i, c, s_in}, {more, s_out, line}, false);
  p.control(OpId::kLoop, {trips, go, s}, {end, lines}, 1, LoopAttrs{1}, "tell");
  p.entry("main", {trips, go, s}, {end, lines});
  return p.finish(kFeatureRegions | kFeatureNonTensor);
}

}  // namespace wick::test
