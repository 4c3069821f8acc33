// Ops on strings, against answers written here; and the ops that only move elements, on strings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

Texts texts(const Value& v) {
  Texts all;
  for (int64_t i = 0; i < v.view().numel(); ++i) all.push_back(v.string_at(i));
  return all;
}
std::vector<int64_t> ints_of(const Value& v) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < v.view().numel(); ++i) all.push_back(static_cast<int64_t>(v.at(i)));
  return all;
}

template <class A = NoAttrs>
std::vector<Value> run(OpId op, std::vector<Input> in, const A& attrs = {}, int outputs = 1) {
  Sample s = sample("s", std::move(in), attrs, outputs);
  std::vector<Value> out;
  Status status = run_op(op, s.attrs.get(), make_inputs(s), outputs, cpu_sets(), nullptr, &out);
  EXPECT_TRUE(status.ok()) << find_op(op)->name << ": " << status.message();
  if (!status.ok()) out.assign(static_cast<size_t>(outputs), Value(DType::kString, {0}));
  return out;
}
template <class A = NoAttrs>
std::string error_of(OpId op, std::vector<Input> in, const A& attrs = {}, int outputs = 1) {
  Sample s = sample("s", std::move(in), attrs, outputs);
  std::vector<Value> out;
  return run_op(op, s.attrs.get(), make_inputs(s), outputs, cpu_sets(), nullptr, &out).message();
}
Input bools(Shape s, std::vector<double> v) { return {DType::kBool, s, 0, 0, std::move(v)}; }

TEST(StringOps, Concat) {
  auto z = run(OpId::kStringConcat, {words({2, 1}, {"a", ""}), words({3}, {"x", "y", ""})});
  EXPECT_EQ(z[0].view().shape, (Shape{2, 3}));
  EXPECT_THAT(texts(z[0]), ElementsAre("ax", "ay", "a", "x", "y", ""));
  EXPECT_THAT(error_of(OpId::kStringConcat, {words({2}, {"a", "b"}), f32({2})}),
              HasSubstr("one dtype"));
}

struct Split {
  Texts text;
  Texts delimiter;  // none: white space
  int64_t maxsplit;
  int64_t most;
  Texts pieces;
  std::vector<int64_t> counts;
};

TEST(StringOps, Split) {
  const std::vector<Split> cases = {
      {{"hello world", "def.net"}, {}, -1, 2, {"hello", "world", "def.net", ""}, {2, 1}},
      {{"  a  b ", "   ", ""}, {}, -1, 2, {"a", "b", "", "", "", ""}, {2, 0, 0}},
      {{" a  b  c "}, {""}, 1, 2, {"a", "b  c"}, {2}},
      {{" a b "}, {}, 0, 1, {"a b"}, {1}},
      {{"a\xC2\xA0"
        "b\xE3\x80\x80"
        "c\xE2\x80\x83"},
       {},
       -1,
       3,
       {"a", "b", "c"},
       {3}},
      {{"a\xE3\x80"}, {}, -1, 1, {"a\xE3\x80"}, {1}},  // cut UTF-8 is no space
      {{"-a--b-", "", "c"},
       {"-"},
       -1,
       5,
       {"", "a", "", "b", "", "", "", "", "", "", "c", "", "", "", ""},
       {5, 1, 1}},
      {{"a, b,c, d"}, {", "}, 1, 2, {"a", "b,c, d"}, {2}},
      {{"aaa"}, {"aa"}, -1, 2, {"", "a"}, {2}},
      {{"ab"}, {"abc"}, -1, 1, {"ab"}, {1}},
  };
  for (const Split& c : cases) {
    SCOPED_TRACE(c.text[0]);
    std::vector<Input> in = {words({static_cast<int64_t>(c.text.size())}, c.text)};
    if (!c.delimiter.empty()) in.push_back(words({}, c.delimiter));
    auto out = run(OpId::kStringSplit, in, StringSplitAttrs{c.maxsplit}, 2);
    EXPECT_EQ(out[0].view().shape, (Shape{static_cast<int64_t>(c.text.size()), c.most}));
    EXPECT_EQ(texts(out[0]), c.pieces);
    EXPECT_EQ(ints_of(out[1]), c.counts);
  }
  auto none = run(OpId::kStringSplit, {words({0}, {})}, StringSplitAttrs{}, 2);
  EXPECT_EQ(none[0].view().shape, (Shape{0, 0}));
  auto scalar = run(OpId::kStringSplit, {words({}, {"a b"})}, StringSplitAttrs{}, 2);
  EXPECT_EQ(scalar[0].view().shape, Shape{2});
  EXPECT_EQ(scalar[1].view().shape, Shape{});
  EXPECT_THAT(error_of(OpId::kStringSplit, {words({1}, {"a"}), words({2}, {"a", "b"})},
                       StringSplitAttrs{}, 2),
              HasSubstr("the delimiter must be one string"));
}

TEST(StringOps, Normalizer) {
  const auto lower = static_cast<int64_t>(CaseChange::kLower),
             upper = static_cast<int64_t>(CaseChange::kUpper);
  auto normal = [](std::vector<Input> in, StringNormalizerAttrs a) {
    return texts(run(OpId::kStringNormalizer, std::move(in), a)[0]);
  };
  const Texts days = {"Monday", "tuesday", "MONDAY"};
  EXPECT_THAT(normal({words({3}, days)}, {}), ElementsAre("Monday", "tuesday", "MONDAY"));
  EXPECT_THAT(normal({words({3}, days), words({2}, {"x", "monday"})}, {}), ElementsAre("tuesday"));
  EXPECT_THAT(normal({words({3}, days), words({1}, {"Monday"})}, {upper, 1, {}}),
              ElementsAre("TUESDAY", "MONDAY"));
  auto none = run(OpId::kStringNormalizer, {words({1, 2}, {"a", "A"}), words({1}, {"a"})},
                  StringNormalizerAttrs{});
  EXPECT_EQ(none[0].view().shape, (Shape{1, 1}));
  EXPECT_THAT(texts(none[0]), ElementsAre(""));
  EXPECT_EQ(run(OpId::kStringNormalizer, {words({0}, {})}, StringNormalizerAttrs{})[0].view().shape,
            Shape{1});
  // beyond ASCII, one letter for one; what is no UTF-8 stays
  EXPECT_THAT(normal({words({6}, {"éàñ", "жук", "straße", "ÿ", "ᾳ", "a\xFFz"})}, {upper, 1, {}}),
              ElementsAre("ÉÀÑ", "ЖУК", "STRAßE", "Ÿ", "ᾼ", "A\xFFZ"));
  EXPECT_THAT(normal({words({5}, {"ÉÀÑ", "ЖУК", "Σ", "Ⱥ", "𐐀"})}, {lower, 1, {}}),
              ElementsAre("éàñ", "жук", "σ", "ⱥ", "𐐨"));
  EXPECT_THAT(normal({words({2}, {"ÉTÉ", "x"}), words({1}, {"été"})}, {}), ElementsAre("x"));
  IntList<32> turkish{'t', 'r', '_', 'T', 'R'}, english{'e', 'n'};
  EXPECT_THAT(normal({words({2}, {"iı", "x"})}, {upper, 1, turkish}), ElementsAre("İI", "X"));
  EXPECT_THAT(normal({words({2}, {"Iİ", "X"})}, {lower, 1, turkish}), ElementsAre("ıi", "x"));
  EXPECT_THAT(normal({words({1}, {"iı"})}, {upper, 1, english}), ElementsAre("II"));
  EXPECT_THAT(
      error_of(OpId::kStringNormalizer, {words({2, 1}, {"a", "b"})}, StringNormalizerAttrs{}),
      HasSubstr("[C] or [1,C]"));
}

Texts printed(DType t, std::vector<double> v) {
  Input in{t, {static_cast<int64_t>(v.size())}, 0, 0, std::move(v)};
  return texts(run(OpId::kCastString, {in}, CastAttrs{static_cast<int64_t>(DType::kString)})[0]);
}

TEST(StringOps, NumbersAsText) {
  EXPECT_THAT(
      printed(DType::kF32, {0.5, 3, 1e-5, 1e-4, 123456792, 1e15, 1e16, 1.25e20, -0.0, 0.1, INFINITY,
                            -INFINITY, NAN, 0.73926359, 16777216}),
      ElementsAre("0.5", "3.0", "1e-05", "0.0001", "123456790.0", "1000000000000000.0", "1e+16",
                  "1.25e+20", "-0.0", "0.1", "INF", "-INF", "NaN", "0.7392636", "16777216.0"));
  EXPECT_THAT(printed(DType::kF64, {0.1, 1.0 / 3, 5e-324, 123456789.25}),
              ElementsAre("0.1", "0.3333333333333333", "5e-324", "123456789.25"));
  EXPECT_THAT(printed(DType::kF16, {0.0999755859375, 65504, 3.140625, 6e-8}),
              ElementsAre("0.1", "65500.0", "3.14", "6e-08"));
  EXPECT_THAT(printed(DType::kBF16, {0.10009765625, 256}), ElementsAre("0.1", "256.0"));
  EXPECT_THAT(printed(DType::kF8E4M3FN, {448, 0.1015625}), ElementsAre("450.0", "0.1"));
  EXPECT_THAT(printed(DType::kF4E2M1, {-6, 0.5}), ElementsAre("-6.0", "0.5"));
  EXPECT_THAT(printed(DType::kI8, {-128, 7}), ElementsAre("-128", "7"));
  EXPECT_THAT(printed(DType::kU8, {200}), ElementsAre("200"));
  EXPECT_THAT(printed(DType::kI4, {-8, 7}), ElementsAre("-8", "7"));
  EXPECT_THAT(printed(DType::kBool, {1, 0}), ElementsAre("True", "False"));
}

std::vector<double> read_as(DType t, Texts v) {
  auto out = run(OpId::kCastString, {words({static_cast<int64_t>(v.size())}, v)},
                 CastAttrs{static_cast<int64_t>(t)});
  std::vector<double> all;
  for (int64_t i = 0; i < out[0].view().numel(); ++i) all.push_back(out[0].at(i));
  return all;
}

TEST(StringOps, TextAsNumbers) {
  const double inf = INFINITY;
  EXPECT_THAT(read_as(DType::kF32, {"3.14", "1000", "1e-5", "1E8", "+INF", "inf", "-Inf", " 7 ",
                                    "+2", "-.5", "1e400", "-1e-400", "0.00001e50"}),
              ElementsAre(3.14f, 1000, 1e-5f, 1e8f, inf, inf, -inf, 7, 2, -0.5, inf, 0, inf));
  EXPECT_TRUE(std::isnan(read_as(DType::kF32, {"NaN"})[0]));
  EXPECT_TRUE(std::isnan(read_as(DType::kF16, {"nan"})[0]));
  EXPECT_THAT(read_as(DType::kF64, {"0.1", "1.7976931348623157e308", "1e309", "1e99999999999999"}),
              ElementsAre(0.1, 1.7976931348623157e308, inf, inf));
  EXPECT_THAT(
      read_as(DType::kF32, {"100000000000000000000000000000000000000000", "1e-99999999999"}),
      ElementsAre(inf, 0));
  EXPECT_THAT(read_as(DType::kI32, {"100.5", "-3", "1e3", "99999999999", "-99999999999"}),
              ElementsAre(100, -3, 1000, 2147483647.0, -2147483648.0));
  EXPECT_THAT(read_as(DType::kU8, {"300", "-1", "7"}), ElementsAre(255, 0, 7));
  auto exact =
      run(OpId::kCastString, {words({3}, {"9223372036854775807", "-9223372036854775808", "1e30"})},
          CastAttrs{static_cast<int64_t>(DType::kI64)});
  EXPECT_EQ(exact[0].view().as<int64_t>()[0], INT64_MAX);
  EXPECT_EQ(exact[0].view().as<int64_t>()[1], INT64_MIN);
  EXPECT_EQ(exact[0].view().as<int64_t>()[2], INT64_MAX);
  auto large = run(OpId::kCastString, {words({1}, {"18446744073709551615"})},
                   CastAttrs{static_cast<int64_t>(DType::kU64)});
  EXPECT_EQ(large[0].view().as<uint64_t>()[0], UINT64_MAX);
  EXPECT_THAT(read_as(DType::kBool, {"1", "0", "true", "False", "-2.5"}),
              ElementsAre(1, 0, 1, 0, 1));
  EXPECT_THAT(read_as(DType::kF8E4M3FN, {"448", "0.1"}), ElementsAre(448, 0.1015625));
  EXPECT_THAT(read_as(DType::kI4, {"-8", "7", "3"}), ElementsAre(-8, 7, 3));
  for (const char* bad : {"", "abc", "1x", "0x10", "1_0", "+-1", "++1", "--1", ".", "e5", "1e"}) {
    EXPECT_THAT(error_of(OpId::kCastString, {words({2}, {"1", bad})},
                         CastAttrs{static_cast<int64_t>(DType::kF32)}),
                HasSubstr("string 1, \"" + std::string(bad) + "\", is no number for float32"));
  }
}

TEST(StringOps, EveryNumberReadsBack) {
  for (DType t : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    Sample s =
        sample("back", {of(t, {2000}, -1e4, 1e4)}, CastAttrs{static_cast<int64_t>(DType::kString)});
    std::vector<Value> in = make_inputs(s), text, back;
    ASSERT_TRUE(run_op(OpId::kCastString, s.attrs.get(), in, 1, cpu_sets(), nullptr, &text).ok());
    AnyAttrs to = AnyAttrs::of(CastAttrs{static_cast<int64_t>(t)});
    ASSERT_TRUE(run_op(OpId::kCastString, to.get(), text, 1, cpu_sets(), nullptr, &back).ok());
    EXPECT_EQ(bits_differ(in[0].view(), back[0].view()), "") << dtype_name(t);
  }
}

TEST(StringOps, RegexFullMatch) {
  auto matches = [](Texts v, const std::string& pattern) {
    return ints_of(run(OpId::kRegexFullMatch,
                       {words({static_cast<int64_t>(v.size())}, v), words({}, {pattern})})[0]);
  };
#ifndef WICK_HAS_RE2
  EXPECT_THAT(error_of(OpId::kRegexFullMatch, {words({1}, {"a"}), words({}, {"a"})}),
              HasSubstr("this build has no RE2"));
  return;
#endif
  EXPECT_THAT(matches({"abc", "aéc", "a\nc", "xabc", "abcx", ""}, "a.c"),
              ElementsAre(1, 1, 0, 0, 0, 0));
  EXPECT_THAT(matches({"", "aa", "b"}, "a*"), ElementsAre(1, 1, 0));
  EXPECT_THAT(error_of(OpId::kRegexFullMatch, {words({1}, {"a"}), words({}, {"("})}),
              HasSubstr("the pattern is not RE2's"));
}

TEST(StringOps, Equal) {
  auto y = run(OpId::kEqual, {words({2, 2}, {"a", "ab", "", "b"}), words({2}, {"a", "b"})});
  EXPECT_THAT(ints_of(y[0]), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(error_of(OpId::kLess, {words({1}, {"a"}), words({1}, {"b"})}),
              HasSubstr("cannot compare string"));
}

TEST(StringOps, UniqueInByteOrder) {
  auto y = run(OpId::kUnique, {words({6}, {"b", "", "é", "ab", "b", "a"})}, UniqueAttrs{{}, 1}, 4);
  EXPECT_THAT(texts(y[0]), ElementsAre("", "a", "ab", "b", "é"));
  EXPECT_THAT(ints_of(y[1]), ElementsAre(1, 5, 3, 0, 2));
  EXPECT_THAT(ints_of(y[2]), ElementsAre(3, 0, 4, 2, 3, 1));
  EXPECT_THAT(ints_of(y[3]), ElementsAre(1, 1, 1, 2, 1));
  auto rows =
      run(OpId::kUnique, {words({3, 2}, {"b", "x", "a", "y", "b", "x"})}, UniqueAttrs{{0}, 0}, 4);
  EXPECT_THAT(texts(rows[0]), ElementsAre("b", "x", "a", "y"));
}

TEST(StringOps, NGramsOfWords) {
  auto y = run(OpId::kTfIdfVectorizer,
               {words({2, 4}, {"the", "cat", "sat", "the", "cat", "the", "cat", "x"}),
                words({5}, {"the", "cat", "dog", "the", "cat"}), ints({0, 3}), ints({0, 1, 2, 3})},
               TfIdfAttrs{1, 2, 0, 0, 4});
  EXPECT_THAT(ints_of(y[0]), ElementsAre(2, 1, 0, 1, 1, 2, 0, 1));
  EXPECT_THAT(error_of(OpId::kTfIdfVectorizer, {words({1}, {"a"}), ints({1}), ints({0}), ints({0})},
                       TfIdfAttrs{1, 1, 0, 0, 1}),
              HasSubstr("must be string"));
}

TEST(StringOps, MovedLikeAnyElement) {
  const Input x = words({2, 3}, {"a", "b", "c", "d", "e", ""});
  EXPECT_THAT(texts(run(OpId::kTranspose, {x}, TransposeAttrs{})[0]),
              ElementsAre("a", "d", "b", "e", "c", ""));
  EXPECT_THAT(texts(run(OpId::kReshape, {x}, ReshapeAttrs{{3, 2}, 0})[0]),
              ElementsAre("a", "b", "c", "d", "e", ""));
  EXPECT_THAT(texts(run(OpId::kExpand, {words({2, 1}, {"x", "y"})}, ShapeAttrs{{2, 2}})[0]),
              ElementsAre("x", "x", "y", "y"));
  EXPECT_THAT(texts(run(OpId::kConcat, {x, words({2, 1}, {"p", "q"})}, AxisAttrs{1})[0]),
              ElementsAre("a", "b", "c", "p", "d", "e", "", "q"));
  EXPECT_THAT(texts(run(OpId::kSlice, {x}, SliceAttrs{{2}, {0}, {1}, {-1}})[0]),
              ElementsAre("c", "b", "", "e"));
  auto parts = run(OpId::kSplit, {x}, SplitAttrs{1, {1, 2}, 0}, 2);
  EXPECT_THAT(texts(parts[1]), ElementsAre("b", "c", "e", ""));
  EXPECT_THAT(texts(run(OpId::kPad, {words({1}, {"m"})}, PadAttrs{{1, 1}, 0, 0, {}})[0]),
              ElementsAre("", "m", ""));
  EXPECT_THAT(
      texts(run(OpId::kPad, {words({1}, {"m"}), ints({0, 2}), words({}, {"-"})}, PadAttrs{})[0]),
      ElementsAre("m", "-", "-"));
  EXPECT_THAT(texts(run(OpId::kGather, {x, ints({1, -1})}, AxisAttrs{0})[0]),
              ElementsAre("d", "e", "", "d", "e", ""));
  Input at{DType::kI64, {2, 1}, 0, 0, {2, 0}};
  EXPECT_THAT(texts(run(OpId::kGatherElements, {x, at}, AxisAttrs{1})[0]), ElementsAre("c", "d"));
  EXPECT_THAT(
      texts(run(OpId::kScatterElements, {x, at, words({2, 1}, {"P", "Q"})}, ScatterAttrs{1, 0})[0]),
      ElementsAre("a", "b", "P", "Q", "e", ""));
  EXPECT_THAT(texts(run(OpId::kGatherND, {x, at}, GatherNDAttrs{1})[0]), ElementsAre("c", "d"));
  Input row{DType::kI64, {1, 1}, 0, 0, {1}};
  EXPECT_THAT(
      texts(run(OpId::kScatterND, {x, row, words({1, 3}, {"1", "2", "3"})}, ScatterNDAttrs{})[0]),
      ElementsAre("a", "b", "c", "1", "2", "3"));
  EXPECT_THAT(error_of(OpId::kScatterND, {x, row, words({1, 3}, {"1", "2", "3"})},
                       ScatterNDAttrs{static_cast<int64_t>(ScatterReduction::kAdd)}),
              HasSubstr("no kernel"));
  EXPECT_THAT(texts(run(OpId::kWhere,
                        {bools({3}, {1, 0, 1}), words({3}, {"a", "b", "c"}), words({}, {"-"})})[0]),
              ElementsAre("a", "-", "c"));
  EXPECT_THAT(texts(run(OpId::kTrilu, {words({2, 2}, {"a", "b", "c", "d"})}, TriluAttrs{1, 0})[0]),
              ElementsAre("a", "b", "", "d"));
}

}  // namespace
}  // namespace wick::test
