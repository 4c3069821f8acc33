#include "tests/ops/rows.h"

namespace wick::test {
namespace {

using S = std::vector<Sample>;

Input numbers(DType t, std::vector<double> v) {
  return {t, {static_cast<int64_t>(v.size())}, 0, 0, std::move(v)};
}

}  // namespace

WICK_TEST_ROW(
    StringConcat,
    [] {
      return S{
          sample("StringConcat/same", {words({3}, {"a", "", "的"}), words({3}, {"b", "c", ""})}),
          sample("StringConcat/broadcast", {words({2, 1}, {"x", "y"}), words({3}, {"1", "2", ""})}),
          sample("StringConcat/scalar", {words({}, {"cat"}), words({}, {"s"})}),
          sample("StringConcat/long", {words({200, 300}, {}), words({300}, {})}),
          sample("StringConcat/empty", {words({0, 2}, {}), words({2}, {"a", "b"})})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    StringSplit,
    [] {
      return S{sample("StringSplit/spaces",
                      {words({4}, {"  a b  c ", "", "d",
                                   "\t e\xE3\x80\x80"
                                   "f"})},
                      StringSplitAttrs{}, 2),
               sample("StringSplit/delimiter", {words({2, 1}, {"a--b-", "c"}), words({}, {"-"})},
                      StringSplitAttrs{}, 2),
               sample("StringSplit/most", {words({2}, {"a, b, c, d", ", "}), words({1}, {", "})},
                      StringSplitAttrs{2}, 2),
               sample("StringSplit/none", {words({2}, {" a b ", "c"})}, StringSplitAttrs{0}, 2),
               sample("StringSplit/empty", {words({0, 3}, {})}, StringSplitAttrs{}, 2)};
    },
    nullptr, 0);
WICK_TEST_ROW(
    StringNormalizer,
    [] {
      Input text = words({5}, {"Monday", "Ünder", "x", "MONDAY", ""});
      return S{sample("StringNormalizer/none", {text}, StringNormalizerAttrs{}),
               sample("StringNormalizer/lower", {text, words({2}, {"monday", "X"})},
                      StringNormalizerAttrs{1, 0, {}}),
               sample("StringNormalizer/upper", {text, words({1}, {"Monday"})},
                      StringNormalizerAttrs{2, 1, {}}),
               sample("StringNormalizer/row", {words({1, 2}, {"a", "B"}), words({1}, {"b"})},
                      StringNormalizerAttrs{2, 0, {}}),
               sample("StringNormalizer/all", {words({2}, {"a", "A"}), words({1}, {"a"})},
                      StringNormalizerAttrs{}),
               sample("StringNormalizer/empty", {words({0}, {})}, StringNormalizerAttrs{})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    CastString,
    [] {
      S all;
      const std::vector<std::string> text = {"0", "-1.5", "3", " 1e1 ", "+2", "6"};
      for (DType t : {DType::kF32,        DType::kF64,      DType::kF16,        DType::kBF16,
                      DType::kI8,         DType::kI16,      DType::kI32,        DType::kI64,
                      DType::kU8,         DType::kU16,      DType::kU32,        DType::kU64,
                      DType::kBool,       DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2,
                      DType::kF8E5M2FNUZ, DType::kF8E8M0,   DType::kF4E2M1,     DType::kI4,
                      DType::kU4,         DType::kI2,       DType::kU2}) {
        const std::string name = dtype_name(t);
        all.push_back(sample("CastString/to_" + name, {words({2, 3}, text)},
                             CastAttrs{static_cast<int64_t>(t)}));
        all.push_back(sample("CastString/from_" + name, {numbers(t, {1, 1, 1})},
                             CastAttrs{static_cast<int64_t>(DType::kString)}));
      }
      all.push_back(sample("CastString/long", {of(DType::kF64, {1500}, -1e9, 1e9)},
                           CastAttrs{static_cast<int64_t>(DType::kString)}));
      all.push_back(sample("CastString/none", {words({0}, {})}, CastAttrs{}));
      return all;
    },
    nullptr, 0);
WICK_TEST_ROW(
    RegexFullMatch,
    [] {
      S all = {sample("RegexFullMatch/empty", {words({2, 0}, {}), words({1}, {"(\\W|^)x"})})};
#ifdef WICK_HAS_RE2
      all.push_back(sample("RegexFullMatch/x",
                           {words({2, 2}, {"abc", "a\nc", "", "aéc"}), words({}, {"a.c"})}));
#endif
      return all;
    },
    nullptr, 0);

}  // namespace wick::test
