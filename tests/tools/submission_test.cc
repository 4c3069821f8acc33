// The capstone by the command line: one model trained, exported, quantized and run, and its report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tools/command_line.h"
#include "tools/submission/submission.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

Ran submit(const std::string& model, std::vector<std::string> more) {
  std::vector<std::string> all = {"bench", model, "--seconds", "0.02"};
  all.insert(all.end(), more.begin(), more.end());
  return wick(all);
}

TEST(Capstone, TrainExportQuantizeRunReport) {
  const TrainedRun& t = trained_run();
  const std::string int8 = scratch() + "/capstone8.wick", out = scratch() + "/capstone.json";
  ASSERT_EQ(wick({"quantize", t.run, "-o", int8, "--seconds", "0.01", "--quiet"}).code, 0);
  for (const std::string& baseline : {t.run, t.wick, t.onnx}) {
    const Ran r = submit(int8, {"--baseline", baseline, "--eval", t.images, "--technique",
                                "static int8", "--author", "me", "--submission", out, "--json"});
    ASSERT_EQ(r.code, 0) << r.err;
    const json doc = parse_json(r.out);
    EXPECT_EQ(json::parse(read_file(out)), doc);
    validate_submission_schema(read_file(out));
    const json &a = doc.at("baseline").at("metrics"), &b = doc.at("optimized").at("metrics");
    // one network in all its forms
    constexpr int kParameters = 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10;
    EXPECT_EQ(a.at("parameter_count"), kParameters) << baseline;
    EXPECT_EQ(b.at("parameter_count"), kParameters);
    EXPECT_EQ(b.at("model_bytes"), fs::file_size(int8));
    if (baseline != t.run) {
      EXPECT_EQ(a.at("model_bytes"), fs::file_size(baseline));
    }
    EXPECT_GT(doc.at("improvements").at("compression_ratio"), 3.8);
    EXPECT_DOUBLE_EQ(doc["improvements"].at("accuracy_delta").get<double>(),
                     b.at("accuracy").get<double>() - a.at("accuracy").get<double>());
    // 100 images
    EXPECT_NEAR(a.at("accuracy").get<double>() * 100,
                t.report.at("test_accuracy").get<double>() * 100, 1e-6);
    EXPECT_GE(b.at("accuracy").get<double>(), a.at("accuracy").get<double>() - 0.02);
    EXPECT_GE(b.at("latency_runs"), 10);
    EXPECT_EQ(doc.at("targets").size(), 3U);
    EXPECT_EQ(doc.at("optimized").at("techniques_applied"), json({"static int8"}));
    EXPECT_EQ(doc.at("author"), "me");
  }
}

TEST(Capstone, AModelAloneAndInWords) {
  const TrainedRun& t = trained_run();
  const std::string out = scratch() + "/alone.json";
  const Ran alone = submit(t.wick, {"--eval", t.images, "--submission", out, "--batch", "8"});
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_THAT(alone.out, AllOf(HasSubstr("a batch of 8"), HasSubstr("alone.json: submission")));
  EXPECT_FALSE(json::parse(read_file(out)).contains("optimized"));
  const Ran both = submit(t.onnx, {"--baseline", t.wick, "--eval", t.images, "--submission", out});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, AllOf(HasSubstr("accuracy +0.00 points"), HasSubstr("(asked 10: not met)"),
                              HasSubstr("latency_ms")));
}

TEST(Capstone, WhatCannotBeMeasured) {
  const TrainedRun& t = trained_run();
  const std::string out = scratch() + "/none.json";
  struct Case {
    std::vector<std::string> options;
    int code;
    const char* says;
  };
  const Case cases[] = {
      {{"--submission", out}, 2, "needs --eval"},
      {{"--eval", t.images}, 2, "--submission FILE.json"},
      {{"--technique", "luck"}, 2, "--submission FILE.json"},
      {{"--eval", t.images, "--submission", out, "--split"}, 2, "as a whole"},
      {{"--eval", t.images, "--submission", out, "--batch", "1,8"}, 2, "one size"},
      {{"--eval", t.images, "--submission", out, "--batch", "251"}, 2, "100 rows"},
      {{"--eval", "sample", "--submission", out}, 2, "no labels"},
      {{"--eval", t.images, "--submission", out, "--baseline", scratch() + "/gone.wick"},
       1,
       "gone.wick"},
      {{"--eval", t.images, "--submission", "/no/such/folder/x.json"}, 1, "/no/such/folder"},
  };
  for (const Case& c : cases) {
    const Ran r = submit(t.wick, c.options);
    EXPECT_EQ(r.code, c.code) << c.says;
    EXPECT_THAT(r.err, HasSubstr(c.says));
  }
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace wick::test
