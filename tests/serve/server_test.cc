// The server as its clients see it, over HTTP: documents, answers to the bit, limits, reload, and
// its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <thread>

#include "tests/serve/http_test.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "wick/compile.h"

namespace wick {
namespace {

using serve::ModelFile;
using test::alone;
using test::Body;
using test::ClosedGate;
using test::error_text;
using test::infer;
using test::output_of;
using test::raw;
using test::rows;
using test::Served;
using test::status;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string& mlp_file() {
  static const std::string path = test::wick_file("mlp", test::mlp());
  return path;
}
const std::string& gate_file() {
  static const std::string path = test::wick_file("gate", test::gated());
  return path;
}

nlohmann::json document(httplib::Client* client, const std::string& path) {
  const httplib::Result got = client->Get(path);
  EXPECT_EQ(status(got), 200) << path << " " << error_text(got);
  return got ? nlohmann::json::parse(got->body, nullptr, false) : nlohmann::json();
}

void wait_for(const Served& served, const std::string& metric, double value) {
  while (served.metric(metric) != value) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

TEST(Server, DescribesItselfAndItsModels) {
  const Served served({{"m", mlp_file()}});
  httplib::Client c = served.client();
  EXPECT_EQ(document(&c, "/v2").at("name"), "wick");
  for (const char* path : {"/v2/health/live", "/v2/health/ready", "/v2/models/m/ready",
                           "/v2/models/m/versions/1/ready"})
    document(&c, path);
  for (const char* path : {"/v2/models/m", "/v2/models/m/versions/1"}) {
    const nlohmann::json m = document(&c, path);
    EXPECT_EQ(m.at("versions"), nlohmann::json({"1"}));
    EXPECT_EQ(m.at("inputs")[0],
              nlohmann::json({{"name", "x"}, {"datatype", "FP32"}, {"shape", {-1, 33}}}));
    EXPECT_EQ(m.at("outputs")[0].at("shape"), nlohmann::json({-1, 7}));
  }
  const nlohmann::json config = document(&c, "/v2/models/m/config");
  EXPECT_EQ(config.at("max_batch_size"), 8);
  EXPECT_EQ(config.at("input")[0].at("dims"), nlohmann::json({33}));
  EXPECT_EQ(document(&c, "/v2/models/stats").at("model_stats")[0].at("name"), "m");
  EXPECT_EQ(status(c.Head("/v2/health/live")), 200);
}

// Requests have nothing that remembers: a program with states is refused when it is opened.
TEST(Server, RefusesProgramsThatKeepState) {
  std::vector<ir::Entry> entries = {{"main", {}, {{"total", "total", "total.next"}}}};
  ir::Graph& g = entries[0].graph;
  const ir::ValueId total = g.add_input("total", DType::kF32, {SymDim(2)});
  const ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(2)});
  g.add_output("total.next", g.emit(OpId::kAdd, {total, x}, "sum"));
  const std::string path = test::temp_folder() + "total.wick";
  export_wick(entries, path);
  EXPECT_THAT(test::error_of([&] {
                serve::Repository({{"total", path}}, test::test_options(), nullptr);
              }),
              HasSubstr("the program keeps state between runs (total ...)"));
}

// A request names a model and no entry point.
TEST(Server, OfSeveralEntryPointsTheFirstIsServed) {
  std::vector<ir::Entry> entries = {{"first", {}, {}}, {"second", {}, {}}};
  for (ir::Entry& entry : entries) {
    const ir::ValueId x = entry.graph.add_input("x", DType::kF32, {SymDim(2)});
    entry.graph.add_output("y", entry.graph.emit(OpId::kNeg, {x}));
  }
  const std::string path = test::temp_folder() + "several.wick";
  export_wick(entries, path);
  serve::ServeOptions options = test::test_options();
  std::string said;
  options.log = [&](const std::string& line) { said += line + "\n"; };
  serve::Repository models({{"several", path}}, options, nullptr);
  EXPECT_THAT(said, HasSubstr("several.wick: of 2 entry points the first, first, is served\n"));
}

TEST(Server, AnswersHaveTheBitsOfARunOfTheirOwn) {
  const Served served({{"m", mlp_file()}});
  httplib::Client c = served.client();
  for (const int64_t n : {1, 2, 5, 9}) {
    const HostTensor x = rows(n, 33, static_cast<uint64_t>(n));
    const HostTensor want = alone(mlp_file(), {x})[0];
    for (const bool binary : {true, false})
      EXPECT_TRUE(same_bits(output_of(infer(&c, "m", {x, binary}), "y"), want)) << n << binary;
  }
}

TEST(Server, OnnxFilesAndStringsAreServed) {
  const std::string onnx = test::temp_folder() + "net.onnx";
  export_onnx(test::mlp(3), onnx);
  ir::Graph words;
  words.add_output("y", words.emit(OpId::kReshape, ReshapeAttrs{.shape = {2, 1}},
                                   {words.add_input("x", DType::kString, {2})}));
  const std::string strings = test::wick_file("words", words);
  const Served served({serve::model_file(onnx), serve::model_file("w=" + strings)});
  httplib::Client c = served.client();
  const HostTensor x = rows(2, 33, 5);
  EXPECT_TRUE(same_bits(output_of(infer(&c, "net", {x, true}), "y"), alone(onnx, {x})[0]));
  const HostTensor in = HostTensor::strings({2}, {"ab", "\xc3\xa4"});
  for (const bool binary : {true, false}) {
    const HostTensor out = output_of(infer(&c, "w", {in, binary}), "y");
    EXPECT_EQ(out.shape(), (Shape{2, 1}));
    EXPECT_EQ(out.string_at(1), "\xc3\xa4");
  }
}

// Deterministic: one request holds the model while seven wait.
TEST(Server, WhatWaitsRunsTogetherWithTheSameBits) {
  const Served served({{"g", gate_file()}});
  std::vector<std::future<HostTensor>> answers;
  {
    const ClosedGate gate;
    const int before = ClosedGate::runs();
    for (int i = 0; i < 8; ++i) {
      answers.push_back(std::async(std::launch::async, [&served, i] {
        httplib::Client c = served.client();
        return output_of(infer(&c, "g", {rows(1, 2, static_cast<uint64_t>(i)), i % 2 == 0}), "y");
      }));
      if (i == 0) ClosedGate::wait_for(before + 1);
    }
    wait_for(served, "wick_queued_requests{model=\"g\"}", 7);
  }
  for (size_t i = 0; i < answers.size(); ++i)
    EXPECT_TRUE(same_bits(answers[i].get(), rows(1, 2, i))) << i;
  EXPECT_EQ(served.metric("wick_run_seconds_count{model=\"g\"}"), 4);  // 1, 4, 2 and 1 rows
  EXPECT_EQ(served.metric("wick_batch_rows_sum{model=\"g\"}"), 8);
}

TEST(Server, ManyClientsHaveTheBitsOfBatchOne) {
  serve::ServeOptions options = test::test_options();
  options.threads = 2;
  const Served served({{"m", mlp_file()}}, options);
  const HostTensor all = rows(64, 33, 9);
  const HostTensor want = alone(mlp_file(), {all})[0];
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      httplib::Client c = served.client();
      for (int64_t i = 0; i < 40; ++i) {
        const int64_t n = 1 + (i + t) % 3, at = (i * 7 + t * 5) % 60;
        const HostTensor y =
            output_of(infer(&c, "m", {serve::rows_of(all, at, n), i % 2 == 0}), "y");
        wrong += !same_bits(y, serve::rows_of(want, at, n)) ? 1 : 0;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Server, SaysWhatIsWrong) {
  const Served served({{"m", mlp_file()}});
  httplib::Client c = served.client();
  const auto get = [&](const std::string& path) { return c.Get(path); };
  EXPECT_EQ(error_text(get("/")), "there is no '/': GET /v2 says what there is");
  EXPECT_EQ(error_text(get("/v2/models/q")), "there is no model 'q'");
  EXPECT_EQ(status(get("/v2/models/q/ready")), 404);
  EXPECT_EQ(error_text(get("/v2/models/m/versions/2")), "model 'm' has version 1 only, not '2'");
  EXPECT_EQ(error_text(get("/v2/models/m/infer")), "/v2/models/m/infer takes POST, not GET");
  EXPECT_EQ(status(c.Put("/v2", "x", "text/plain")), 405);
  EXPECT_EQ(status(c.Post("/v2/models/m", "{}", "application/json")), 405);
  const httplib::Result wrong = infer(&c, "m", {rows(1, 32, 1), true});
  EXPECT_EQ(status(wrong), 400);
  EXPECT_EQ(error_text(wrong), "input 'x': the model takes shape [-1,33], the request has [1,32]");
  EXPECT_EQ(wrong->get_header_value("Content-Type"), "application/json");
  EXPECT_THAT(error_text(get("/v2/%0a%ff%1b[31m")), HasSubstr("\\xff\\u001b"));
  EXPECT_EQ(served.metric("wick_infer_failures_total{model=\"m\"}"), 1);
}

TEST(Server, ABodyOverTheLimitIsNotRead) {
  serve::ServeOptions options = test::test_options();
  options.max_body = 1000;
  const Served served({{"m", mlp_file()}}, options);
  httplib::Client c = served.client();
  EXPECT_EQ(status(c.Post("/v2/models/m/infer", std::string(1001, ' '), "application/json")), 413);
  EXPECT_EQ(status(c.Post("/v2/models/m/infer", std::string(1000, ' '), "application/json")), 400);
  const std::string head = "POST /v2/models/m/infer HTTP/1.1\r\n";
  EXPECT_THAT(raw(served.http.port(), head + "Content-Length: 99999999999999999999\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  std::string chunked;
  for (int i = 0; i < 20; ++i) chunked += "40\r\n" + std::string(64, ' ') + "\r\n";
  EXPECT_THAT(raw(served.http.port(), head + "Transfer-Encoding: chunked\r\n\r\n" + chunked),
              StartsWith("HTTP/1.1 413"));
  // Whoever asks first is told before sending anything.
  EXPECT_THAT(
      raw(served.http.port(), head + "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("Connection: close")));
  EXPECT_EQ(status(c.Get("/v2/health/live")), 200);
}

TEST(Server, AFullQueueAnswers429) {
  serve::ServeOptions options = test::test_options();
  options.queue = 1;
  options.max_batch = 1;
  const Served served({{"g", gate_file()}}, options);
  const auto one = [&] {
    httplib::Client c = served.client();
    return infer(&c, "g", {rows(1, 2, 1), true});
  };
  std::future<httplib::Result> runs, waits;
  {
    const ClosedGate gate;
    const int before = ClosedGate::runs();
    runs = std::async(std::launch::async, one);
    ClosedGate::wait_for(before + 1);
    waits = std::async(std::launch::async, one);
    wait_for(served, "wick_queued_requests{model=\"g\"}", 1);
    const httplib::Result refused = one();
    EXPECT_EQ(status(refused), 429);
    EXPECT_EQ(refused->get_header_value("Retry-After"), "1");
    EXPECT_EQ(served.metric("wick_infer_rejected_total{model=\"g\"}"), 1);
  }
  EXPECT_EQ(status(runs.get()), 200);
  EXPECT_EQ(status(waits.get()), 200);
}

TEST(Server, AConnectionOverTheLimitIsRefused) {
  serve::ServeOptions options = test::test_options();
  options.connections = 2;
  const Served served({{"m", mlp_file()}}, options);
  httplib::Client a = served.client(), b = served.client(), c = served.client();
  EXPECT_EQ(status(a.Get("/v2")), 200);
  EXPECT_EQ(status(b.Get("/v2")), 200);
  const httplib::Result refused = c.Get("/v2");
  EXPECT_EQ(status(refused), 429);
  EXPECT_EQ(error_text(refused), "2 connections are open: try again later");
  a.stop();
  for (int i = 0; i < 1000 && status(c.Get("/v2")) != 200; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(status(c.Get("/v2")), 200);
}

TEST(Server, ADeadlineEndsARunAndAWait) {
  const Served served({{"g", gate_file()}});
  httplib::Client c = served.client();
  const ClosedGate gate;
  const httplib::Result late = infer(&c, "g", {rows(1, 2, 1), false, {{"timeout", 30'000}}});
  EXPECT_EQ(status(late), 504);
  EXPECT_THAT(error_text(late), HasSubstr("deadline passed"));
  EXPECT_EQ(served.metric("wick_infer_late_total{model=\"g\"}"), 1);
}

TEST(Server, TheServersOwnDeadlineHoldsToo) {
  serve::ServeOptions options = test::test_options();
  options.deadline_ns = 30'000'000;
  const Served served({{"g", gate_file()}}, options);
  httplib::Client c = served.client();
  const ClosedGate gate;
  EXPECT_EQ(status(infer(&c, "g", {rows(1, 2, 1), true})), 504);
}

TEST(Server, AModelIsReplacedWhileTheOldOneServes) {
  serve::ServeOptions options = test::test_options();
  options.control = true;
  const std::string path = test::wick_file("replaced", test::gated());
  const Served served({{"r", path}}, options);
  httplib::Client c = served.client();
  const Body asks(rows(2, 2, 4), true);
  std::future<HostTensor> old;
  {
    const ClosedGate gate;
    const int before = ClosedGate::runs();
    old = std::async(std::launch::async, [&] {
      httplib::Client other = served.client();
      return output_of(infer(&other, "r", asks), "y");
    });
    ClosedGate::wait_for(before + 1);
    test::wick_file("replaced", test::mlp(5));
    EXPECT_EQ(status(c.Post("/v2/repository/models/r/load", "{}", "application/json")), 200);
    const HostTensor x = rows(1, 33, 2);
    EXPECT_TRUE(same_bits(output_of(infer(&c, "r", {x, true}), "y"), alone(path, {x})[0]));
  }
  EXPECT_TRUE(same_bits(old.get(), rows(2, 2, 4)));
  // A file that is none leaves the model as it is.
  std::filesystem::resize_file(path, 100);
  const httplib::Result broken = c.Post("/v2/repository/models/r/load");
  EXPECT_EQ(status(broken), 400);
  EXPECT_THAT(error_text(broken), HasSubstr(path));
  EXPECT_EQ(status(c.Get("/v2/models/r/ready")), 200);
  EXPECT_EQ(status(c.Post("/v2/repository/models/r/unload")), 200);
  EXPECT_EQ(status(c.Get("/v2/models/r/ready")), 503);
  const httplib::Result index = c.Post("/v2/repository/index");
  ASSERT_EQ(status(index), 200);
  EXPECT_EQ(nlohmann::json::parse(index->body)[0].at("state"), "UNAVAILABLE");
}

TEST(Server, ClientsControlNothingUnlessTold) {
  const Served served({{"m", mlp_file()}});
  httplib::Client c = served.client();
  EXPECT_EQ(status(c.Post("/v2/repository/models/m/unload")), 403);
  EXPECT_EQ(status(c.Get("/v2/models/m/ready")), 200);
}

TEST(Server, EndsWithWhatItHasBegun) {
  auto served = std::make_unique<Served>(std::vector<ModelFile>{{"g", gate_file()}});
  httplib::Client idle = served->client();
  EXPECT_EQ(status(idle.Get("/v2/health/ready")), 200);
  std::vector<std::future<httplib::Result>> answers;
  std::future<bool> drained;
  {
    const ClosedGate gate;
    const int before = ClosedGate::runs();
    for (int i = 0; i < 3; ++i) {
      answers.push_back(std::async(std::launch::async, [&] {
        httplib::Client c = served->client();
        return infer(&c, "g", {rows(1, 2, 1), true});
      }));
    }
    ClosedGate::wait_for(before + 1);
    wait_for(*served, "wick_queued_requests{model=\"g\"}", 2);
    drained = std::async(std::launch::async, [&] { return served->http.drain(60'000'000'000); });
    while (!served->service.draining()) std::this_thread::yield();
    EXPECT_EQ(served->service.answer({"GET", "/v2/health/ready", "", {}}).status, 503);
    EXPECT_EQ(served->service.answer({"POST", "/v2/models/g/infer", "{}", {}}).status, 503);
  }
  for (std::future<httplib::Result>& a : answers) EXPECT_EQ(status(a.get()), 200);
  EXPECT_TRUE(drained.get());
  EXPECT_EQ(status(served->client().Get("/v2")), 0) << "nobody listens any more";
}

TEST(Server, WithoutPatienceItCutsWhatIsUnderWay) {
  Served served({{"g", gate_file()}});
  const ClosedGate gate;
  const int before = ClosedGate::runs();
  std::future<httplib::Result> answer = std::async(std::launch::async, [&] {
    httplib::Client c = served.client();
    return infer(&c, "g", {rows(1, 2, 1), true});
  });
  ClosedGate::wait_for(before + 1);
  EXPECT_FALSE(served.http.drain(0));
  EXPECT_NE(status(answer.get()), 200);
}

TEST(Server, ASecondOneOfThePortIsAnError) {
  const Served served({{"m", mlp_file()}});
  serve::ServeOptions options = test::test_options();
  options.port = served.http.port();
  EXPECT_THROW(Served({{"m", mlp_file()}}, options), Error);
}

TEST(Server, ModelsHaveNamesThatAUrlTakes) {
  EXPECT_EQ(serve::model_file("a/b.wick").name, "b");
  EXPECT_EQ(serve::model_file("n=a/b.wick").path, "a/b.wick");
  for (const char* bad : {"a b?=x", "a/b=x", "=x", "n=", "stats=x", "a\n=x"})
    EXPECT_THROW(serve::model_file(bad), Error) << bad;
  EXPECT_THROW(Served({{"m", mlp_file()}, {"m", gate_file()}}), Error);
}

}  // namespace
}  // namespace wick
