// Operators on strings. Delimiters, stop words and patterns are constants of the graph and
// attributes of the ONNX nodes.
#include <algorithm>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

constexpr const char* kCases[] = {"NONE", "LOWER", "UPPER"};

ValueId one_string(ReadCtx& c, const std::string& text) {
  return c.constant(HostTensor::strings(Shape{}, {text}));
}

void read_concat(ReadCtx& c) { c.set(0, c.emit(OpId::kStringConcat, {c.in(0), c.in(1)})); }

void read_split(ReadCtx& c) {
  StringSplitAttrs a;
  // All negative numbers mean no limit, so they become one form.
  if (c.attr("maxsplit") != nullptr) a.maxsplit = std::max<int64_t>(-1, c.attr_int("maxsplit", -1));
  std::vector<ValueId> in = {c.in(0)};
  const std::string delimiter = c.attr_string("delimiter", "");
  if (!delimiter.empty()) in.push_back(one_string(c, delimiter));
  NodeId id = c.g.add_node(OpId::kStringSplit, AnyAttrs::of(a), in, 2, c.node.name());
  for (int i = 0; i < 2; ++i) c.set(i, c.g.node(id).outputs[static_cast<size_t>(i)]);
}

void read_normalizer(ReadCtx& c) {
  StringNormalizerAttrs a;
  const std::string change = c.attr_string("case_change_action", "NONE");
  a.case_change_action = std::find(kCases, kCases + 3, change) - kCases;
  if (a.case_change_action == 3) c.fail("unknown case_change_action '" + change + "'");
  a.is_case_sensitive = c.attr_int("is_case_sensitive", 0) != 0;
  const std::string locale = c.attr_string("locale", "");
  c.fill(a.locale, {locale.begin(), locale.end()}, "locale");
  std::vector<ValueId> in = {c.in(0)};
  const std::vector<std::string> words = c.attr_strings("stopwords");
  if (!words.empty()) {
    in.push_back(c.constant(HostTensor::strings(Shape{static_cast<int64_t>(words.size())}, words)));
  }
  c.set(0, c.emit(OpId::kStringNormalizer, a, in));
}

void read_regex(ReadCtx& c) {
  if (c.attr("pattern") == nullptr) c.fail("attribute 'pattern' is required");
  c.set(0, c.emit(OpId::kRegexFullMatch, {c.in(0), one_string(c, c.attr_string("pattern", ""))}));
}

// Returns the strings of constant input i.
std::vector<std::string> strings_of(WriteCtx& c, size_t i, const char* what) {
  if (!c.g.is_constant(c.node.inputs[i])) c.fail(std::string(what) + " must be constant");
  const HostTensor& t = c.g.value(c.node.inputs[i]).constant;
  std::vector<std::string> strings;
  for (int64_t k = 0; k < t.numel(); ++k) strings.push_back(t.string_at(k));
  return strings;
}

}  // namespace

WICK_READ(StringConcat, read_concat);
WICK_READ(StringSplit, read_split);
WICK_READ(StringNormalizer, read_normalizer);
WICK_READ(RegexFullMatch, read_regex);

WICK_ONNX_PLAIN(StringConcat);
WICK_ONNX_ROW(StringSplit, [](WriteCtx& c) {
  NodeProto& n = c.add("StringSplit", {c.in(0)}, {c.out(0), c.out(1)});
  if (c.has(1)) set_string(n, "delimiter", strings_of(c, 1, "the delimiter").at(0));
  if (c.as<StringSplitAttrs>().maxsplit >= 0)
    set_int(n, "maxsplit", c.as<StringSplitAttrs>().maxsplit);
});
WICK_ONNX_ROW(StringNormalizer, [](WriteCtx& c) {
  const auto& a = c.as<StringNormalizerAttrs>();
  NodeProto& n = c.add("StringNormalizer", {c.in(0)}, {c.out(0)});
  set_string(n, "case_change_action", kCases[a.case_change_action]);
  set_int(n, "is_case_sensitive", a.is_case_sensitive);
  const auto letters = a.locale.span();
  if (!letters.empty()) set_string(n, "locale", {letters.begin(), letters.end()});
  if (!c.has(1)) return;
  AttributeProto& words = *n.add_attribute();
  words.set_name("stopwords");
  words.set_type(AttributeProto::STRINGS);
  for (const std::string& word : strings_of(c, 1, "the stop words")) words.add_strings(word);
});
WICK_ONNX_ROW(CastString, [](WriteCtx& c) { write_cast(c); });
WICK_ONNX_ROW(RegexFullMatch, [](WriteCtx& c) {
  set_string(c.add("RegexFullMatch", {c.in(0)}, {c.out(0)}), "pattern",
             strings_of(c, 1, "the pattern").at(0));
});

}  // namespace wick::onnx
