// The capstone's report: its measurements, its file, and the reports that the schema refuses.
#include "tools/submission/submission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "tests/support/where.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

using nlohmann::json;
using test::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

json cases() {
  std::ifstream file(source_dir("/tests/submission/submissions.json"));
  return json::parse(file);
}

BenchmarkReport figures(const std::string& name, int64_t bytes, double accuracy,
                        std::vector<double> ms) {
  BenchmarkReport r(name);
  r.parameters = 1000, r.bytes = bytes, r.accuracy = accuracy;
  r.latency = BenchmarkResult("latency", std::move(ms), "ms");
  return r;
}

TEST(SimpleMlp, HasTheCapstonesSizes) {
  nn::SimpleMLP net;
  EXPECT_EQ(net.count_parameters(), 10 * 20 + 20 + 20 * 3 + 3);
  EXPECT_EQ(net(zeros({5, 10})).raw_shape(), (Shape{5, 3}));
  EXPECT_EQ(net.state_dict()[0].first, "fc1.weight");
  EXPECT_EQ(nn::SimpleMLP(4, 8, 2).count_parameters(), 4 * 8 + 8 + 8 * 2 + 2);
}

TEST(BenchmarkReport, MeasuresAModule) {
  // A model that says class 1 of whatever it sees.
  nn::Linear net(2, 2);
  {
    const NoGrad guard;
    net.weight.zero_();
    net.bias.copy_(tensor({0.0F, 1.0F}));
  }
  BenchmarkReport r("constant");
  r.benchmark_model(net, zeros({4, 2}), tensor(std::vector<int64_t>{1, 0, 1, 1}), {.runs = 5});
  EXPECT_EQ(r.model_name, "constant");
  EXPECT_EQ(r.parameters, 6);
  EXPECT_EQ(r.bytes, 24);
  EXPECT_EQ(r.accuracy, 0.75);
  EXPECT_EQ(r.latency.count, 5);
  EXPECT_EQ(r.batch, 4);
  EXPECT_DOUBLE_EQ(r.throughput(), 4000 / r.latency.mean);
  EXPECT_THAT(r.text(), HasSubstr("constant: 6 parameters, 24 bytes, accuracy 75.00 %"));
  EXPECT_THAT(error_of([&] {
                r.benchmark_model(net, zeros({4, 2}), zeros({4}, DType::kI64), {.runs = 1});
              }),
              HasSubstr("at least two runs"));
  EXPECT_NE(error_of([&] {
              r.benchmark_model(net, zeros({4, 2}), zeros({3}, DType::kI64));
            }),
            "no error");
}

TEST(Submission, HoldsBothReportsAndWhatWasWon) {
  const BenchmarkReport a = figures("float", 4000, 0.9, {10, 12, 14}),
                        b = figures("int8", 1000, 0.875, {1, 1, 4});
  const json doc = json::parse(
      generate_submission(a, b, {.author = "me", .techniques = {"int8"}, .threads = 3}));
  EXPECT_EQ(doc.at("author"), "me");
  EXPECT_EQ(doc.at("system").at("threads"), 3);
  const json& m = doc.at("optimized").at("metrics");
  EXPECT_EQ(m.at("latency_ms_mean"), 2);
  EXPECT_DOUBLE_EQ(m.at("latency_ms_std"), std::sqrt(3.0));
  EXPECT_EQ(m.at("latency_ms_median"), 1);
  EXPECT_EQ(m.at("throughput_samples_per_sec"), 500);
  EXPECT_EQ(m.at("model_size_mb"), 0.001);
  EXPECT_EQ(doc.at("optimized").at("techniques_applied"), json({"int8"}));
  EXPECT_EQ(doc.at("improvements").at("speedup"), 12);
  EXPECT_EQ(doc.at("improvements").at("compression_ratio"), 4);
  EXPECT_NEAR(doc.at("improvements").at("accuracy_delta").get<double>(), -0.025, 1e-12);
  for (const json& t : doc.at("targets")) EXPECT_TRUE(t.at("met")) << t;

  const json missed =
      json::parse(generate_submission(a, figures("int8", 1001, 1, {1.3, 130, 500})));
  EXPECT_EQ(missed.at("targets")[0].at("name"), "speedup");
  for (const json& t : missed.at("targets")) EXPECT_FALSE(t.at("met")) << t;
  const json alone = json::parse(generate_submission(a));
  EXPECT_FALSE(alone.contains("optimized") || alone.contains("author"));
}

TEST(Submission, IsMadeOfMeasurementsAlone) {
  const BenchmarkReport good = figures("m", 10, 0.5, {1, 2});
  EXPECT_THAT(error_of([] { generate_submission(BenchmarkReport()); }),
              StartsWith("[validate_submission_schema] "));
  EXPECT_THAT(error_of([&] {
                generate_submission(good, figures("m", 10, 1.5, {1, 2}));
              }),
              HasSubstr("optimized.metrics.accuracy"));
  EXPECT_THAT(error_of([&] {
                generate_submission(good, figures("", 10, 0.5, {1, 2}));
              }),
              HasSubstr("optimized.model_name"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error_of([&] {
                generate_submission(figures("m", 10, nan, {1, 2}));
              }),
              HasSubstr("baseline.metrics.accuracy"));
  EXPECT_THAT(error_of([&] {
                generate_submission(figures("m", 0, 0.5, {1, 2}));
              }),
              HasSubstr("baseline.metrics.model_bytes"));
  EXPECT_THAT(error_of([&] { generate_submission(figures("m", 10, 0.5, {1})); }),
              HasSubstr("baseline.metrics.latency_runs"));
}

TEST(Submission, SchemaTakesWhatIsSound) {
  const json c = cases();
  validate_submission_schema(c.at("sound").dump());
  ASSERT_EQ(c.at("also_sound").size(), 3U);
  for (const json& other : c.at("also_sound"))
    validate_submission_schema(c.at("sound").patch(other.at("patch")).dump());
}

TEST(Submission, SchemaRefusesEachBrokenOne) {
  const json c = cases();
  ASSERT_GE(c.at("broken").size(), 12U);
  for (const json& broken : c.at("broken")) {
    const std::string doc = c.at("sound").patch(broken.at("patch")).dump();
    EXPECT_THAT(error_of([&] { validate_submission_schema(doc); }),
                HasSubstr(broken.at("place").get<std::string>()))
        << broken.at("name");
    EXPECT_NE(error_of([&] { save_submission(doc, "/nowhere/s.json"); }), "no error");
  }
  EXPECT_THAT(error_of([] { validate_submission_schema("{\"schema\": "); }),
              HasSubstr("the text is no JSON"));
  EXPECT_THAT(error_of([] { validate_submission_schema(""); }), HasSubstr("the text is no JSON"));
}

TEST(Submission, IsSavedAsAWhole) {
  const std::string text = generate_submission(figures("m", 10, 0.5, {1, 2})),
                    path = wick::test::temp_folder() + "wick_submission.json";
  save_submission(text, path);
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  EXPECT_EQ(read.str(), text);
  // what is broken leaves the file alone
  EXPECT_NE(error_of([&] { save_submission("{}", path); }), "no error");
  EXPECT_EQ(std::filesystem::file_size(path), text.size());
  std::filesystem::remove(path);
  EXPECT_THAT(error_of([&] { save_submission(text, "/no/such/folder/s.json"); }),
              HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace wick
