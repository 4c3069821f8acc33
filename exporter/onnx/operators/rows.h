// Parses the rows of default.def and its siblings at compile time: an unknown word, a row out of
// order or a "same" without a row above it does not compile.
#pragma once

#include <array>
#include <string_view>

#include "exporter/onnx/operators/table.h"

namespace wick::onnx {

struct Same {};
inline constexpr Same same;                         // NOLINT: a word of the tables
inline constexpr const char* no_tensors = nullptr;  // NOLINT

struct TypeName {
  std::string_view name;
  uint32_t set;
};

constexpr uint32_t type_bit(DType t) { return uint32_t{1} << static_cast<int>(t); }

// The single dtypes, and the classes that ONNX's versions use: bfloat16 came with opset 13, the
// small dtypes bit by bit.
consteval auto type_names() {
  constexpr auto f32 = type_bit(DType::kF32), f64 = type_bit(DType::kF64),
                 f16 = type_bit(DType::kF16), bf16 = type_bit(DType::kBF16),
                 i8 = type_bit(DType::kI8), i16 = type_bit(DType::kI16),
                 i32 = type_bit(DType::kI32), i64 = type_bit(DType::kI64),
                 u8 = type_bit(DType::kU8), u16 = type_bit(DType::kU16),
                 u32 = type_bit(DType::kU32), u64 = type_bit(DType::kU64),
                 boolean = type_bit(DType::kBool), str = type_bit(DType::kString),
                 c64 = type_bit(DType::kC64), c128 = type_bit(DType::kC128),
                 i4 = type_bit(DType::kI4), u4 = type_bit(DType::kU4), i2 = type_bit(DType::kI2),
                 u2 = type_bit(DType::kU2), f4 = type_bit(DType::kF4E2M1),
                 e8m0 = type_bit(DType::kF8E8M0);
  constexpr uint32_t sint = i8 | i16 | i32 | i64, uint = u8 | u16 | u32 | u64,
                     real = f16 | f32 | f64, num = sint | uint | real,
                     all = num | boolean | str | c64 | c128, all13 = all | bf16,
                     f8 = type_bit(DType::kF8E4M3FN) | type_bit(DType::kF8E4M3FNUZ) |
                          type_bit(DType::kF8E5M2) | type_bit(DType::kF8E5M2FNUZ),
                     all19 = all13 | f8, all21 = all19 | i4 | u4, all23 = all21 | f4,
                     all24 = all23 | e8m0, all25 = all24 | i2 | u2;
  return std::array{
      TypeName{"f32", f32},
      TypeName{"f64", f64},
      TypeName{"f16", f16},
      TypeName{"bf16", bf16},
      TypeName{"i8", i8},
      TypeName{"i16", i16},
      TypeName{"i32", i32},
      TypeName{"i64", i64},
      TypeName{"u8", u8},
      TypeName{"u16", u16},
      TypeName{"u32", u32},
      TypeName{"u64", u64},
      TypeName{"bool", boolean},
      TypeName{"str", str},
      TypeName{"c64", c64},
      TypeName{"c128", c128},
      TypeName{"i4", i4},
      TypeName{"u4", u4},
      TypeName{"i2", i2},
      TypeName{"u2", u2},
      TypeName{"f4e2m1", f4},
      TypeName{"f8e8m0", e8m0},
      TypeName{"sint", sint},
      TypeName{"uint", uint},
      TypeName{"int", sint | uint},
      TypeName{"float", real},
      TypeName{"float13", real | bf16},
      TypeName{"num", num},
      TypeName{"num13", num | bf16},
      TypeName{"all", all},
      TypeName{"f8", f8},
      TypeName{"all13", all13},
      TypeName{"all19", all19},
      TypeName{"all21", all21},
      TypeName{"all23", all23},
      TypeName{"all24", all24},
      TypeName{"all25", all25},
      TypeName{"seq", Inputs::kContainer},
  };
}

consteval uint32_t parse_types(std::string_view text) {
  uint32_t set = 0;
  while (!text.empty()) {
    const size_t end = text.find('|') == text.npos ? text.size() : text.find('|');
    bool known = false;
    for (const TypeName& t : type_names()) {
      if (t.name == text.substr(0, end)) set |= t.set, known = true;
    }
    if (!known) throw "no dtype, nor a class of them";
    text.remove_prefix(end == text.size() ? end : end + 1);
  }
  return set;
}

// Parses "rr:float13 o:i64".
consteval Inputs parse_inputs(std::string_view text) {
  Inputs inputs;
  size_t count = 0;
  while (!text.empty()) {
    const size_t space = text.find(' '), end = space == text.npos ? text.size() : space;
    const std::string_view word = text.substr(0, end);
    const size_t colon = word.find(':');
    const uint32_t set = colon == word.npos ? 0 : parse_types(word.substr(colon + 1));
    for (char letter : word.substr(0, colon)) {
      const bool ended = count > 0 && (inputs.letters[count - 1] | 0x20) == 'v';
      if (std::string_view("rovV").find(letter) == std::string_view::npos || ended)
        throw "an input is r or o, the last one may be v or V";
      inputs.letters[count] = letter;
      if (count < Inputs::kMostTypes) {
        inputs.types[count] = set;
        inputs.typed = static_cast<uint32_t>(count) + 1;
      } else if (set != inputs.types[Inputs::kMostTypes - 1]) {
        throw "more inputs of different types than there is room for";
      }
      ++count;
    }
    text.remove_prefix(end == text.size() ? end : end + 1);
  }
  return inputs;
}

consteval const char* checked_attributes(const char* text) {
  std::string_view rest = text, last;
  while (!rest.empty()) {
    const size_t space = rest.find(' '), end = space == rest.npos ? rest.size() : space;
    std::string_view word = rest.substr(0, end);
    if (word.ends_with('!')) word.remove_suffix(1);
    const size_t colon = word.find(':');
    if (colon == word.npos || colon + 2 != word.size() ||
        std::string_view("fistgFISpy").find(word[colon + 1]) == std::string_view::npos)
      throw "an attribute is name:type, its type a letter";
    if (word.substr(0, colon) <= last) throw "the attributes are not in order";
    last = word.substr(0, colon);
    rest.remove_prefix(end == rest.size() ? end : end + 1);
  }
  return text;
}

// A column as it is written, or that of the row above.
struct InputColumn {
  Inputs inputs;
  bool above = false;
  consteval InputColumn(const char* text) : inputs(parse_inputs(text)) {}  // NOLINT: a column
  consteval InputColumn(Same) : above(true) {}                             // NOLINT
};
struct AttributeColumn {
  const char* text = "";
  bool above = false;
  consteval AttributeColumn(const char* words) : text(checked_attributes(words)) {}  // NOLINT
  consteval AttributeColumn(Same) : above(true) {}                                   // NOLINT
};
struct ExampleColumn {
  Example example;
  bool above = false;
  // NOLINTNEXTLINE: a column
  consteval ExampleColumn(const char* inputs, const char* attributes = "", int outputs = 1,
                          const char* for_strings = nullptr)
      : example{inputs, attributes, outputs, for_strings} {}
  consteval ExampleColumn(Same) : above(true) {}  // NOLINT
};

struct Row {
  const char* name;
  int since;
  InputColumn inputs;
  AttributeColumn attributes;
  ExampleColumn example;
  void (*read)(ReadCtx&);
  const char* why_out = "";
  bool listed = true;
};

constexpr void join(Inputs& all, const Inputs& more) {
  const size_t count = more.count() > all.count() ? more.count() : all.count();
  Inputs joined;
  for (size_t i = 0; i < count; ++i) joined.letters[i] = i < more.count() ? more.letters[i] : 'o';
  joined.typed = static_cast<uint32_t>(count < Inputs::kMostTypes ? count : Inputs::kMostTypes);
  const auto has = [](const Inputs& of, size_t i) {
    const size_t n = of.count();
    return i < n || (n > 0 && (of.letters[n - 1] | 0x20) == 'v');
  };
  for (size_t i = 0; i < joined.typed; ++i) {
    const uint32_t a = all.taken(i), b = more.taken(i);
    const bool anything = (has(all, i) && a == 0) || (has(more, i) && b == 0);
    joined.types[i] = anything ? 0 : (has(all, i) ? a : 0) | (has(more, i) ? b : 0);
  }
  all = joined;
}

template <size_t N>
consteval std::array<OperatorVersion, N> complete(const Row (&rows)[N]) {
  std::array<OperatorVersion, N> all = {};
  for (size_t i = 0; i < N; ++i) {
    const Row& row = rows[i];
    OperatorVersion& to = all[i];
    const bool first = i == 0 || std::string_view(rows[i - 1].name) != row.name;
    if (i > 0 &&
        (first ? std::string_view(rows[i - 1].name) > row.name : rows[i - 1].since >= row.since))
      throw "the rows are not in order";
    if (first && (row.inputs.above || row.attributes.above || row.example.above))
      throw "the first row of an operator has none above it";
    to.name = row.name;
    to.since = row.since;
    to.inputs = row.inputs.above ? all[i - 1].inputs : row.inputs.inputs;
    to.attributes = row.attributes.above ? all[i - 1].attributes : row.attributes.text;
    to.example = row.example.above ? all[i - 1].example : row.example.example;
    to.read = row.read;
    to.why_out = row.why_out;
    to.listed = row.listed;
  }
  for (size_t from = 0; from < N;) {
    size_t to = from;
    Inputs ever = all[from].inputs;
    while (to < N && std::string_view(all[to].name) == all[from].name) join(ever, all[to++].inputs);
    while (from < to) all[from++].ever = ever;
  }
  return all;
}

}  // namespace wick::onnx
