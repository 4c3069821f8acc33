// wick bench on one model: its figures, its forms of output, other runtimes in turn, wrong uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(Bench, JsonOfEachBatchSize) {
  Ran r = wick(
      {"bench", trained_run().wick, "--batch", "1,3", "--seconds", "0.02", "--split", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  nlohmann::json rows = parse_json(r.out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].at("batch"), 3);
  EXPECT_EQ(rows[1].at("inputs").at(0).at("shape"), nlohmann::json({3, 1, 28, 28}));
  for (const auto& row : rows) {
    EXPECT_GT(row.at("p50_ms"), 0);
    for (const std::string clock : {"", "cpu_"}) {
      EXPECT_GE(row.at(clock + "p50_ms"), row.at(clock + "min_ms")) << clock;
      EXPECT_GE(row.at(clock + "p95_ms"), row.at(clock + "p50_ms")) << clock;
      EXPECT_GE(row.at(clock + "p99_ms"), row.at(clock + "p95_ms")) << clock;
    }
    EXPECT_GE(row.at("runs"), 10);
    for (const char* key : {"items_per_s", "load_ms", "first_run_ms", "peak_rss_mb", "cpu_ms"})
      EXPECT_GT(row.at(key), 0) << key;
    EXPECT_DOUBLE_EQ(row.at("first_answer_ms").get<double>(),
                     row.at("load_ms").get<double>() + row.at("first_run_ms").get<double>());
    EXPECT_GE(row.at("load_average"), 0);
    EXPECT_TRUE(row.at("split_ms").contains("FusedLinear")) << row;
  }
}

// A machine shows counters or not; either way the row says so.
TEST(Bench, CountersAreCountsOrAReason) {
  const Ran text = wick({"bench", trained_run().wick, "--seconds", "0.02"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, ContainsRegex("\n  least [0-9.]+ ms; processor time p50 [0-9.]+ ms  p95 "
                                      "[0-9.]+  p99 [0-9.]+  least [0-9.]+; file to first answer "
                                      "[0-9.]+ ms; load of the machine [0-9.]+\n"));
  const Ran r = wick({"bench", trained_run().wick, "--seconds", "0.02", "--json"});
  const nlohmann::json counters = parse_json(r.out).at(0).at("counters");
  if (counters.contains("missing")) {
    EXPECT_NE(counters.at("missing"), "");
    EXPECT_THAT(text.out, HasSubstr("\n  counters of a run: none: "));
    return;
  }
  for (const char* key : {"cycles", "instructions"}) EXPECT_GT(counters.at(key), 0) << key;
  EXPECT_GE(counters.at("cache_misses"), 0);
  EXPECT_THAT(text.out, ContainsRegex("\n  counters of a run: [0-9.]+ M cycles, [0-9.]+ M "
                                      "instructions [(][0-9.]+ a cycle[)], [0-9.]+ M cache"));
}

TEST(BenchRoofline, EveryNodeHasSharesOfThePeaksAndAVerdict) {
  const std::vector<std::string> bench = {
      "bench", trained_run().wick, "--batch", "1,4",       "--threads",
      "2",     "--seconds",        "0.02",    "--roofline"};
  std::vector<std::string> as_json = bench;
  as_json.emplace_back("--json");
  const Ran r = wick(as_json);
  ASSERT_EQ(r.code, 0) << r.err;
  const nlohmann::json rows = parse_json(r.out);
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) {
    const nlohmann::json& roofline = row.at("roofline");
    ASSERT_EQ(roofline.at("peaks").size(), 2u);  // of one thread, and of those that ran
    const nlohmann::json& peak = roofline.at("peaks").at(1);
    EXPECT_EQ(roofline.at("peaks").at(0).at("threads"), 1);
    EXPECT_EQ(peak.at("threads"), 2);
    const double flops = peak.at("flops_per_second"), bytes = peak.at("bytes_per_second");
    EXPECT_GT(flops, 0);
    EXPECT_GT(bytes, 0);
    std::set<std::string> ops;
    double ms = 0, verdicts = 0;
    for (const auto& n : roofline.at("nodes")) {
      ops.insert(n.at("op").get<std::string>());
      ms += n.at("ms").get<double>();
      const double of_flops = n.at("of_peak_flops"), of_bytes = n.at("of_peak_bytes");
      EXPECT_NEAR(of_flops, n.at("gflops").get<double>() * 1e9 / flops, 1e-9) << n;
      EXPECT_NEAR(of_bytes, n.at("gbytes_per_s").get<double>() * 1e9 / bytes, 1e-9) << n;
      EXPECT_GT(of_bytes, 0) << n;
      const char* verdict = std::max(of_flops, of_bytes) < 0.1 ? "overhead"
                            : of_flops >= of_bytes             ? "compute-bound"
                                                               : "memory-bound";
      EXPECT_EQ(n.at("verdict"), verdict) << n;
    }
    EXPECT_EQ(ops.count("FusedLinear"), 1u);
    for (const auto& [name, part] : roofline.at("verdict_ms").items())
      verdicts += part.get<double>();
    EXPECT_NEAR(verdicts, ms, 1e-9);
  }
  const Ran text = wick(bench);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out,
              AllOf(ContainsRegex("\npeaks of this machine, [A-Z0-9_]+, 1 thread: [0-9.]+ GFLOP/s, "
                                  "[0-9.]+ GB/s"),
                    ContainsRegex("\npeaks of this machine, [A-Z0-9_]+, 2 threads: "),
                    ContainsRegex("\nbatch 4, threads 2:\nop +node +kernel +ms +GFLOP/s of peak +"
                                  "GB/s of peak  verdict\n"),
                    ContainsRegex("\n[0-9.]+ ms in nodes: [0-9]+ % compute-bound, ")));
}

// The other runtime is a program that says what it is and then, for each line, the times of runs.
class BenchAgainst : public ::testing::TestWithParam<std::vector<const char*>> {
 protected:
  static const char* name() { return GetParam()[0]; }
  static std::string title() { return GetParam()[1]; }
  static std::string command(const std::string& script, const std::string& model) {
    return std::string(GetParam()[2]) + "=" + shell_word(script) + " wick bench " +
           shell_word(model) + " --seconds 0.15 --against " + name();
  }
};

constexpr const char* kAbout =
    "import json, sys\nif '--serve' not in sys.argv:\n  sys.exit(1)\n"
    "print(json.dumps({'version': '9.8', 'first_answer_ms': 12.5, 'peak_rss_mb': 34.0}), "
    "flush=True)\n";

TEST_P(BenchAgainst, RunsInTurnWithWhatAnswers) {
  const std::string script = scratch() + "/serves.py", model = scratch() + "/in_turn.onnx",
                    asked = scratch() + "/asked." + name() + ".txt";
  export_onnx(small_graph(), model);
  write_file(script, std::string(kAbout) + "for line in sys.stdin:\n  open('" + asked +
                         "', 'a').write(line)\n"
                         "  print(json.dumps({'ms': [40.0, 60.0], 'cpu_ms': [3.0, 5.0]}), "
                         "flush=True)\n");
  const std::string with = command(script, model);
  Ran r = shell(with + " --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const nlohmann::json peers = parse_json(r.out).at(0).at("against");
  ASSERT_EQ(peers.size(), 1u);
  const nlohmann::json& all = peers.at(0);
  EXPECT_EQ(all.at("name"), name());
  EXPECT_EQ(all.at("version"), "9.8");
  EXPECT_EQ(all.at("first_answer_ms"), 12.5);
  EXPECT_EQ(all.at("peak_rss_mb"), 34.0);
  EXPECT_EQ(all.at("peer").at("min_ms"), 40.0);
  EXPECT_EQ(all.at("peer").at("p50_ms"), 60.0);
  EXPECT_EQ(all.at("peer").at("cpu_min_ms"), 3.0);
  EXPECT_EQ(all.at("peer").at("cpu_p50_ms"), 5.0);
  const auto turns = all.at("peer").at("runs").get<int>() / 2;
  EXPECT_GE(turns, 2) << "150 ms for each; the peer says 100 ms a turn";
  EXPECT_GE(all.at("wick").at("runs").get<int>(), turns);
  const nlohmann::json &ours = all.at("wick"), &fast = all.at("times_as_fast");
  // Where a processor's clock has coarse ticks, a short run takes none of them, and no ratio is
  // known.
  const auto is_ratio = [&](const char* key, double theirs, const char* our_key) {
    const double our_time = ours.at(our_key);
    if (our_time > 0)
      EXPECT_DOUBLE_EQ(fast.at(key).get<double>(), theirs / our_time);
    else
      EXPECT_TRUE(fast.at(key).is_null()) << fast;
  };
  is_ratio("min", 40.0, "min_ms");
  is_ratio("p50", 60.0, "p50_ms");
  is_ratio("cpu_min", 3.0, "cpu_min_ms");
  is_ratio("cpu", 5.0, "cpu_p50_ms");
  const std::string lines = read_file(asked);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), turns + 1) << "one of them warms up";
  r = shell(with);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(std::string("against ") + name() +
                               " 9.8: p50 60.0000 ms  min 40.0000  cpu 5.0000  min 3.0000; wick "
                               "p50 "));
}

TEST_P(BenchAgainst, WhatItSaysInsteadIsTheError) {
  const std::string script = scratch() + "/refuses.py", model = scratch() + "/refused.onnx";
  export_onnx(small_graph(), model);
  const auto error_of = [&](const std::string& program) {
    write_file(script, program);
    const Ran r = shell(command(script, model));
    EXPECT_EQ(r.code, 1) << r.out;
    return r.err;
  };
  EXPECT_THAT(error_of("import sys\nif '--serve' in sys.argv:\n  print('no such operator')\n"
                       "sys.exit(1)\n"),
              HasSubstr(title() + ": no such operator"));
  EXPECT_THAT(error_of("import sys\nsys.exit(3)\n"),
              HasSubstr(std::string(name()) + " not installed ("));
  EXPECT_THAT(error_of("import sys\nif '--serve' not in sys.argv:\n  sys.exit(1)\nprint('{}')\n"),
              AllOf(HasSubstr(title() + ": "), HasSubstr("version")));
  EXPECT_THAT(error_of(std::string(kAbout) +
                       "for line in sys.stdin:\n  print(json.dumps({'ms': [1.0, 2.0], 'cpu_ms': "
                       "[1.0]}), flush=True)\n"),
              HasSubstr(title() + ": 2 wall times and 1 processor times of its runs"));
}

INSTANTIATE_TEST_SUITE_P(
    Peers, BenchAgainst,
    ::testing::Values(std::vector<const char*>{"onnxruntime", "ONNX Runtime", "WICK_ORT_RUN"},
                      std::vector<const char*>{"openvino", "OpenVINO", "WICK_OPENVINO_RUN"}),
    [](const auto& info) { return std::string(info.param[0]); });

TEST(BenchUsage, WhatDoesNotGoTogetherExitsTwo) {
  const std::string file = trained_run().wick, onnx = trained_run().onnx;
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{file, "--against", "onnxruntime"}, "--against: needs the .onnx file, which both read"},
      {{file, "--against", "tensorrt"}, "tensorrt"},
      {{onnx, "--against", "onnxruntime,openvino", "--roofline"}, "--against: measures whole runs"},
      {{onnx, "--against", "openvino", "--load"}, "--against: measures whole runs"},
      {{file, "--roofline", "--load"}, "--roofline: measures runs on the CPU, beside its peaks"},
      {{file, "--roofline", "--backend", "vulkan"}, "--roofline: measures runs on the CPU"},
      {{file, "--page", "x.md"}, "--page: is the page of --zoo"},
      {{file, "--zoo", "--roofline"}, "--zoo: measures each model of a folder as a whole"},
      {{file, "--zoo", "--batch", "2"}, "--zoo: measures each model of a folder as a whole"},
      {{file, "--zoo", "--input", "x.npy"}, "--zoo: measures each model of a folder as a whole"},
      {{file, "--zoo", "--author", "me"}, "go with --submission FILE.json"}};
  for (const auto& [words, message] : wrong) {
    std::vector<std::string> all = {"bench"};
    all.insert(all.end(), words.begin(), words.end());
    const Ran r = wick(all);
    EXPECT_EQ(r.code, 2) << message;
    EXPECT_EQ(r.out, "") << message;
    EXPECT_THAT(r.err, HasSubstr(message));
  }
}

}  // namespace
}  // namespace wick::test
