// wick bench: latency percentiles, throughput, memory, load time.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tools/lib/arrays.h"
#include "tools/lib/model.h"
#include "tools/lib/node_times.h"
#include "tools/lib/oracle.h"
#include "tools/lib/sample_inputs.h"
#include "tools/wick/bench/bench_against.h"
#include "tools/wick/bench/bench_submission.h"
#include "tools/wick/command.h"
#include "tools/wick/json.h"
#include "tools/wick/placement.h"
#include "tools/wick/process_time.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

struct BenchCommand {
  std::string model, backend = "cpu", device, against;
  std::vector<int64_t> batches;
  std::vector<std::string> dims, inputs;
  int threads = 1;
  double seconds = 2;
  bool json = false, split = false, load = false, lower_qdq = true;
  bool profile = false, explain = false, all_it_can = false;
  SubmissionBench submission;
};

double peak_rss_mb() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Returns what the process now holds of its own memory and of the model's file, without its code.
double resident_mb(const std::string& model) {
  std::error_code unknown;
  const std::string file = std::filesystem::canonical(model, unknown).string();
  std::ifstream maps("/proc/self/smaps");
  double kb = 0;
  bool counts = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string key, permissions, offset, device, inode, path;
    words >> key;
    if (key == "Rss:" && counts) {
      double rss = 0;
      words >> rss;
      kb += rss;
    } else if (key.back() != ':') {  // a mapping's first line
      words >> permissions >> offset >> device >> inode >> path;
      counts = path.empty() || path == file || path == "[heap]" || path == "[stack]";
    }
  }
  return kb / 1024;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the given arrays, or made-up ones of the given sizes.
Sample inputs_of(const BenchCommand& c, const Session& session, const Program& program,
                 std::optional<int64_t> batch) {
  if (c.inputs.empty()) return sample_inputs(session, program, {.batch = batch, .named = c.dims});
  Sample sample;
  sample.inputs = named_arrays(session, program, c.inputs);
  if (!sample.inputs.empty() && sample.inputs[0].shape().rank() > 0)
    sample.batch = sample.inputs[0].shape()[0];
  return sample;
}

// Measures from nothing to a session that is bound to shapes: everything before the first run.
nlohmann::json load_once(const BenchCommand& c) {
  const double cpu_before = cpu_ms();
  Model model = Model::open(c.model, {.lower_qdq = c.lower_qdq});
  double begin = now_s();
  Runner runner(
      model,
      {.backend = c.backend, .threads = c.threads, .device = c.device, .all_it_can = c.all_it_can});
  std::optional<int64_t> batch;
  if (!c.batches.empty()) batch = c.batches[0];
  std::vector<Shape> shapes;
  for (const HostTensor& t : inputs_of(c, runner.session(), model.program(), batch).inputs)
    shapes.push_back(t.shape());
  check(runner.session().bind(shapes), "bind");
  const double session_ms = (now_s() - begin) * 1e3;
  return {{"load_ms", model.load_ms()},
          {"session_ms", session_ms},
          {"total_ms", model.load_ms() + session_ms},
          {"cpu_ms", cpu_ms() - cpu_before},
          {"steps", runner.session().step_count()},
          {"packed_bytes", runner.session().packed_bytes()},
          {"resident_mb", resident_mb(c.model)},
          {"peak_rss_mb", peak_rss_mb()}};
}

// Measures the process's first load, and a second one.
void bench_load(const BenchCommand& c) {
  nlohmann::json row = load_once(c);
  const nlohmann::json again = load_once(c);
  row["again_ms"] = again["total_ms"];
  row["again_cpu_ms"] = again["cpu_ms"];
  if (c.json) return print_json(row);
  fmt::print(
      "load {:.2f} ms, session {:.2f} ms, {} steps, {:.1f} MB packed, RSS {:.1f} MB, peak {:.1f} "
      "MB; again "
      "{:.2f} ms\n",
      row["load_ms"].get<double>(), row["session_ms"].get<double>(), row["steps"].get<size_t>(),
      row["packed_bytes"].get<double>() / 1e6, row["resident_mb"].get<double>(),
      row["peak_rss_mb"].get<double>(), row["again_ms"].get<double>());
}

// Compares a model with another one over labelled data.
void bench_beside(const BenchCommand& c) {
  SubmissionBench s = c.submission;
  if (s.eval.empty()) wrong_usage("--submission", "needs --eval: labelled data for the accuracy");
  if (c.split || c.profile || c.explain || c.load || !c.dims.empty() || !c.inputs.empty() ||
      c.backend != "cpu")
    wrong_usage("--submission", "measures what --eval reads, on the CPU, as a whole");
  if (c.batches.size() > 1) wrong_usage("--batch", "is one size with --submission");
  s.model = c.model;
  s.batch = c.batches.empty() ? 1 : c.batches[0];
  s.threads = c.threads, s.seconds = c.seconds;
  s.json = c.json, s.lower_qdq = c.lower_qdq;
  bench_submission(s);
}

// Returns the milliseconds of each run, sorted, after warm-up runs that do not count; `trace` has
// those that do.
std::vector<double> timed_runs(const BenchCommand& c, Session& session, Span<const TensorView> in,
                               Span<TensorView> out, NodeTimes& trace, double* cpu) {
  const double warm = now_s() + c.seconds;
  for (int i = 0; i < 5 && (i == 0 || now_s() < warm); ++i) check(session.run(in, out), "run");
  trace.clear();
  std::vector<double> times;
  // Makes ten runs even if they take longer, three if they take very long.
  const double start = now_s(), cpu_before = cpu_ms(), long_s = std::max(5.0, 5 * c.seconds);
  auto enough = [&] {
    const double passed = now_s() - start;
    return times.size() >= 10 ? passed >= c.seconds : times.size() >= 3 && passed >= long_s;
  };
  while (!enough()) {
    // The session uses its own memory each time: outputs are not copied.
    for (TensorView& v : out) v = TensorView();
    double t = now_s();
    check(session.run(in, out), "run");
    times.push_back((now_s() - t) * 1e3);
  }
  *cpu = (cpu_ms() - cpu_before) / static_cast<double>(times.size());
  std::sort(times.begin(), times.end());
  return times;
}

// Measures one batch size and prints it, unless as JSON.
nlohmann::json bench_batch(const BenchCommand& c, const Model& model,
                           std::optional<int64_t> wanted) {
  NodeTimes trace;
  double begin = now_s();
  Runner runner(model, {.backend = c.backend,
                        .threads = c.threads,
                        .trace = c.split || c.profile ? &trace : nullptr,
                        .device = c.device,
                        .all_it_can = c.all_it_can});
  Session& session = runner.session();
  const auto [inputs, batch] = inputs_of(c, session, model.program(), wanted);
  std::vector<TensorView> in;
  for (const HostTensor& t : inputs) in.push_back(t.view());
  std::vector<TensorView> out(session.output_count());
  check(session.run(in, out), "run");
  const double first_ms = (now_s() - begin) * 1e3;
  double cpu = 0;
  const std::vector<double> times = timed_runs(c, session, in, out, trace, &cpu);
  auto at = [&](double q) {
    return times[std::min(times.size() - 1,
                          static_cast<size_t>(q * static_cast<double>(times.size())))];
  };
  nlohmann::json row = {{"batch", batch},
                        {"threads", session.threads()},
                        {"backend", c.backend},
                        {"min_ms", times.front()},
                        {"p50_ms", at(0.5)},
                        {"p95_ms", at(0.95)},
                        {"p99_ms", at(0.99)},
                        {"cpu_ms", cpu},
                        {"runs", times.size()},
                        {"items_per_s", static_cast<double>(batch) / at(0.5) * 1e3},
                        {"load_ms", model.load_ms()},
                        {"first_run_ms", first_ms},
                        {"resident_mb", resident_mb(c.model)},
                        {"peak_rss_mb", peak_rss_mb()},
                        {"packed_bytes", session.packed_bytes()},
                        {"arena_bytes", session.arena_bytes()}};
  std::map<std::string, double> split;
  if (c.split) split = trace.ms_by_op(times.size());
  for (const auto& [op, ms] : split) row["split_ms"][op] = ms;
  if (c.profile) row["profile"] = json_of(trace, times.size());
  std::optional<Placement> placement;
  if (c.explain) placement.emplace(session, runner.vulkan());
  if (c.explain) row["explain"] = placement->json();
  if (!c.against.empty() && c.json)
    row["against"] = bench_against({c.model, c.seconds, true}, runner, inputs);
  if (c.json) return row;
  fmt::print(
      "batch {:<4} threads {} {}: p50 {:.4f} ms  p95 {:.4f}  p99 {:.4f}  {:.0f} items/s  (load "
      "{:.2f} ms, first run "
      "{:.2f} ms, {:.1f} MB resident, peak RSS {:.1f} MB, {} runs)\n",
      batch, session.threads(), c.backend, at(0.5), at(0.95), at(0.99),
      row["items_per_s"].get<double>(), model.load_ms(), first_ms, row["resident_mb"].get<double>(),
      row["peak_rss_mb"].get<double>(), times.size());
  for (const auto& [op, ms] : split) fmt::print("  {:<18} {:.4f} ms\n", op, ms);
  if (c.profile) fmt::print("{}", trace.table(times.size()));
  if (c.explain) fmt::print("{}", placement->text());
  if (!c.against.empty()) bench_against({c.model, c.seconds, false}, runner, inputs);
  return row;
}

void bench(const BenchCommand& c) {
  if (!c.submission.out.empty()) return bench_beside(c);
  if (!c.submission.eval.empty() || !c.submission.baseline.empty() ||
      !c.submission.techniques.empty() || !c.submission.author.empty()) {
    wrong_usage("--eval, --baseline, --technique and --author", "go with --submission FILE.json");
  }
  if (!c.inputs.empty() && (!c.batches.empty() || !c.dims.empty()))
    wrong_usage(c.dims.empty() ? "--batch" : "--dim",
                "the arrays of --input have sizes of their own");
  if (!c.against.empty()) {
    if (is_wick_file(c.model)) wrong_usage("--against", "needs the .onnx file, which both read");
    need_onnx(c.model, "--against");
    if (c.load || c.split || c.profile) wrong_usage("--against", "measures whole runs");
    if (const auto missing = onnxruntime_missing()) throw Error(*missing, Code::kNotFound);
  }
  if (c.load) return bench_load(c);
  const Model model = Model::open(c.model, {.lower_qdq = c.lower_qdq});
  auto document = nlohmann::json::array();
  std::vector<std::optional<int64_t>> batches(c.batches.begin(), c.batches.end());
  if (batches.empty()) batches.push_back(std::nullopt);
  for (std::optional<int64_t> wanted : batches) document.push_back(bench_batch(c, model, wanted));
  if (c.json) print_json(document);
}

}  // namespace

void add_bench(CommandLine& app) {
  auto c = std::make_shared<BenchCommand>();
  Command command = app.add_command("bench", "Measure latency, throughput, memory and load time");
  command
      .add_option("model", c->model,
                  "model.wick, model.onnx or model.tflite; for --submission also a training run's "
                  "folder")
      .required();
  accept_ops(command);
  accept_signature(command);
  accept_qdq(command, &c->lower_qdq);
  command.add_option("--batch", c->batches, "batch sizes: 1,8,32; 1 where the model has a choice")
      .delimiter(',')
      .one_word()
      .at_least(1);
  command.add_option("--dim", c->dims, "NAME=N: a size that is not the batch").one_word();
  command
      .add_option("--input,-i", c->inputs,
                  "[name=]array.npy, one an input: the sizes and values to measure with")
      .one_word();
  command.add_option("--threads", c->threads, "0: as many as there are").at_least(0);
  accept_backend(command, &c->backend, &c->device);
  command.add_option("--seconds", c->seconds, "per batch size").above_zero();
  command.add_flag("--split", c->split, "time by op, those in the regions of If and Loop too");
  accept_offload(command, &c->all_it_can);
  command
      .add_option("--against", c->against,
                  "onnxruntime: the same .onnx file there, in turn, and how many times as fast "
                  "this is")
      .one_of({"onnxruntime"});
  command.add_flag("--profile", c->profile, "time by node and kernel, on a device by dispatch");
  command.add_flag("--explain", c->explain, "where each step runs and what it costs there");
  command.add_flag("--load", c->load,
                   "only open the model and a session for its shapes; run nothing");
  command.add_option(
      "--submission", c->submission.out,
      "FILE.json: parameters, bytes, accuracy, latency and throughput, by its schema");
  command.add_option("--baseline", c->submission.baseline,
                     "with --submission: the model that this one was made of, measured in turn");
  command.add_option("--eval", c->submission.eval, "with --submission: labelled data");
  command
      .add_option("--technique", c->submission.techniques,
                  "with --submission: what was done to the model")
      .one_word();
  command.add_option("--author", c->submission.author, "with --submission: whose it is");
  command.add_flag("--json", c->json, "print JSON");
  command.footer("Example:\n  wick bench model.wick --threads 2 --batch 1,8,32");
  command.callback([c] { bench(*c); });
}

}  // namespace wick::tool
