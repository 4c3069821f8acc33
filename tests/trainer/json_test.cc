// Untrusted JSON: its cost, its numbers, its errors.
#include "trainer/checkpoint/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/error_of.h"

namespace wick {
namespace {

using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonReader, DepthSizeAndNumberOfValuesAreBounded) {
  EXPECT_EQ(read_json(nested(64), "f").size(), 1u);
  EXPECT_EQ(error_of([] { read_json(nested(65), "f"); }), "f: nested too deep: over 64 levels");
  EXPECT_THAT(error_of([] { read_json(std::string(3'000'000, '['), "f"); }),
              HasSubstr("nested too deep"));
  EXPECT_EQ(error_of([] { read_json("[1,2]", "f", {.bytes = 4}); }),
            "f: 5 bytes of JSON, of which at most 4 are read");
  EXPECT_EQ(read_json(R"([1,{"a":2}])", "f", {.values = 5}).size(), 2u);
  EXPECT_EQ(error_of([] { read_json(R"([1,{"a":2}])", "f", {.values = 4}); }), "f: over 4 values");
}

TEST(JsonReader, AKeyStandsOnce) {
  EXPECT_EQ(error_of([] { read_json(R"({"a":{"b":1,"c":{},"b":2}})", "f"); }),
            "f: 'b' appears twice in 'a'");
  EXPECT_EQ(read_json(R"([{"a":1},{"a":2}])", "f").size(), 2u);
}

TEST(JsonReader, MessagesAreShort) {
  const std::string word(100'000, 'w');
  for (const std::string& text :
       {"{\"" + word + "\":1,\"" + word + "\":2}", "[\"" + word + "\" \"" + word + "\"]",
        "[" + word, std::string("[1e999]"), std::string("{"), std::string("\"\xff\""),
        std::string()}) {
    const std::string said = error_of([&] { read_json(text, "f"); });
    EXPECT_THAT(said, testing::StartsWith("f: ")) << said;
    EXPECT_LT(said.size(), 300u) << said;
  }
  const nlohmann::json tree = {{"a", word}, {"b", nlohmann::json::parse(nested(60))}};
  const JsonPlace place(tree, "f");
  EXPECT_LT(error_of([&] { place.at("a").integer(0, 1); }).size(), 300u);
  EXPECT_EQ(error_of([&] { place.at("b").text(); }),
            "f: b is a list of 1 values; it must be a text");
  EXPECT_EQ(shortened(std::string(196, 'x') + "\u4e2d\u4e2d"), std::string(196, 'x') + "...");
}

TEST(JsonReader, NumbersAreTakenWithinTheirRange) {
  const nlohmann::json tree = read_json(
      R"({"big":9223372036854775808,"most":9223372036854775807,"least":-9223372036854775808,
          "real":3.5,"whole":3.0,"none":null,"list":[1,[-2]],"yes":true})",
      "f");
  const JsonPlace place(tree, "run.json");
  EXPECT_EQ(place.at("most").integer(0, INT64_MAX), INT64_MAX);
  EXPECT_EQ(place.at("least").integer(INT64_MIN, 0), INT64_MIN);
  EXPECT_EQ(place.at("big").count(), uint64_t{1} << 63);
  EXPECT_EQ(place.at("most").number(0, 1e300), 9223372036854775808.0);
  EXPECT_EQ(error_of([&] { place.at("big").integer(INT64_MIN, INT64_MAX); }),
            "run.json: big is 9223372036854775808; it must be a whole number from "
            "-9223372036854775808 to 9223372036854775807");
  for (const char* key : {"real", "whole", "none", "list", "yes"})
    EXPECT_THAT(error_of([&] { place.at(key).integer(0, 9); }), HasSubstr(key)) << key;
  EXPECT_THAT(error_of([&] { place.at("none").number(0, 1); }),
              HasSubstr("none is null; it must be a number from 0 to 1"));
  EXPECT_THAT(error_of([&] { place.at("real").number(0, 3); }), HasSubstr("real is 3.5"));
  EXPECT_THAT(error_of([&] { place.at("least").count(); }), HasSubstr("2^64 - 1"));
  EXPECT_EQ(error_of([&] { place.at("list").at(1).at(size_t{0}).integer(0, 9); }),
            "run.json: list[1][0] is -2; it must be a whole number from 0 to 9");
  EXPECT_EQ(error_of([&] { place.at("list").at("key"); }),
            "run.json: list is a list of 2 values; it must be an object with the key key");
  EXPECT_EQ(error_of([&] { place.at("lost"); }), "run.json: lost is missing");
  EXPECT_THAT(error_of([&] { place.at("list").at(2); }), HasSubstr("at least 3 values"));
}

TEST(JsonWriter, WritesWhatIsRead) {
  JsonWriter w;
  w.open('{').field("text", "a\"\n\u00e9").field("n", INT64_MIN).field("u", UINT64_MAX);
  w.field("x", 0.1).field("no", false).list("list", std::vector<double>{1, 2.5});
  w.key("in").open('{').close().key("raw").raw("[1]").list("empty", std::vector<int>()).close();
  EXPECT_EQ(w.done(),
            "{\"text\":\"a\\\"\\n\u00e9\",\"n\":-9223372036854775808,\"u\":18446744073709551615,"
            "\"x\":0.1,\"no\":false,\"list\":[1.0,2.5],\"in\":{},\"raw\":[1],\"empty\":[]}");
  EXPECT_EQ(read_json(w.done(), "f").size(), 9u);
  EXPECT_THAT(error_of([] { JsonWriter().value(std::string("\xff")); }), HasSubstr("no UTF-8"));
}

}  // namespace
}  // namespace wick
