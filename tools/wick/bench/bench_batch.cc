// wick bench: the times of one batch size.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "tools/lib/arrays.h"
#include "tools/lib/kept_state.h"
#include "tools/lib/limits.h"
#include "tools/lib/now_ms.h"
#include "tools/lib/process_time.h"
#include "tools/lib/run_times.h"
#include "tools/wick/bench/bench.h"
#include "tools/wick/bench/bench_against.h"
#include "tools/wick/bench/counters.h"
#include "tools/wick/bench/machine.h"
#include "tools/wick/json.h"
#include "tools/wick/placement.h"

namespace wick::tool {
namespace {

// The state of a program that keeps some: each run goes on from where the one before ended, as one
// text would, until there is room for no more; then it begins anew.
class BenchState {
 public:
  explicit BenchState(RecurrentState* state) : state_(state) {
    if (state != nullptr) begin_ = state_values(*state);
  }

  // Begins anew where the next run would find no room, as far as that is known: each run that fails
  // has run some of the steps, which the hooks count.
  void prepare() {
    if (room_ != 0 && steps_ == room_) begin();
  }
  RunOptions options() const { return {.timeout_ns = time_left_ns(), .state = state_}; }
  // Returns whether a run is to be made again, because it failed for lack of room (a run that fails
  // leaves the state as it was). A first run that fails has another reason.
  bool again(const Status& ran) {
    if (ran.ok()) {
      ++steps_;
      return false;
    }
    if (state_ == nullptr || steps_ == 0 || ran.code() != Code::kInvalidArgument) return false;
    room_ = steps_;
    begin();
    return true;
  }

  bool kept() const { return state_ != nullptr; }
  nlohmann::json json() const {
    nlohmann::json doc = {{"bytes", state_->bytes()}, {"begun", begun_}};
    if (room_ != 0) doc["runs_until_full"] = room_;
    return doc;
  }
  std::string text() const {
    return fmt::format("state of {} bytes: each run goes on from the one before; begun {}{}",
                       state_->bytes(), begun_ == 1 ? "once" : fmt::format("{} times", begun_),
                       room_ == 0 ? "" : fmt::format(", full after {} runs", room_));
  }

 private:
  void begin() {
    steps_ = 0;
    ++begun_;
    set_state(state_, begin_);
  }

  RecurrentState* state_;
  std::vector<HostTensor> begin_;
  size_t steps_ = 0, room_ = 0, begun_ = 1;
};

// Times runs, after warm-up runs that do not count; `trace` has those that do.
RunTimes timed_runs(const BenchCommand& c, Session& session, BenchState& state,
                    Span<const TensorView> in, Span<TensorView> out, NodeTimes& trace,
                    Counters& counters) {
  const double wanted = c.seconds * 1e3, warm = now_ms() + wanted;
  for (int i = 0; i < 5 && (i == 0 || now_ms() < warm); ++i) {
    for (TensorView& v : out) v = TensorView();
    state.prepare();
    const Status ran = session.run(in, out, state.options());
    if (!state.again(ran)) check(ran, "run");
  }
  trace.clear();
  RunTimes times;
  // Makes ten runs even if they take longer, three if they take very long.
  const double start = now_ms(), very_long = std::max(5e3, 5 * wanted);
  const auto enough = [&] {
    const double passed = now_ms() - start;
    return times.runs() >= 10 ? passed >= wanted : times.runs() >= 3 && passed >= very_long;
  };
  counters.start();
  while (!enough()) {
    // The session uses its own memory each time: outputs are not copied.
    for (TensorView& v : out) v = TensorView();
    state.prepare();
    const double cpu = cpu_ms(), begin = now_ms();
    const Status ran = session.run(in, out, state.options());
    const double end = now_ms();
    if (state.again(ran)) continue;
    check(ran, "run");
    times.add(end - begin, cpu_ms() - cpu);
  }
  counters.stop();
  return times;
}

void print_batch(const nlohmann::json& row) {
  const auto of = [&](const char* key) { return row.at(key).get<double>(); };
  fmt::print(
      "batch {:<4} threads {} {}: p50 {:.4f} ms  p95 {:.4f}  p99 {:.4f}  {:.0f} items/s  (load "
      "{:.2f} ms, first run {:.2f} ms, {:.1f} MB resident, peak RSS {:.1f} MB, {} runs)\n",
      row.at("batch").get<int64_t>(), row.at("threads").get<int>(),
      row.at("backend").get<std::string>(), of("p50_ms"), of("p95_ms"), of("p99_ms"),
      of("items_per_s"), of("load_ms"), of("first_run_ms"), of("resident_mb"), of("peak_rss_mb"),
      row.at("runs").get<size_t>());
  fmt::print(
      "  least {:.4f} ms; processor time p50 {:.4f} ms  p95 {:.4f}  p99 {:.4f}  least {:.4f}; file "
      "to first answer {:.2f} ms; load of the machine {:.2f}\n",
      of("min_ms"), of("cpu_p50_ms"), of("cpu_p95_ms"), of("cpu_p99_ms"), of("cpu_min_ms"),
      of("first_answer_ms"), of("load_average"));
}

// Returns where the runs were made, and says so if they left the device.
std::string backend_of(const BenchCommand& c, const Runner& runner, const Session& session) {
  if (runner.vulkan() == nullptr) return "cpu";
  if (session.left_backend()[0] == '\0') return c.backend;
  fmt::print(stderr, "wick: {} was left for the CPU: {}\n", runner.vulkan()->device_name(),
             session.left_backend());
  return "cpu";
}

}  // namespace

Sample bench_inputs(const BenchCommand& c, const Session& session, const Program& program,
                    std::optional<int64_t> batch) {
  if (c.inputs.empty()) return sample_inputs(session, program, {.batch = batch, .named = c.dims});
  if (!c.dims.empty() && program.states().empty())  // which have sizes that no input has
    wrong_usage("--dim", "the arrays of --input have sizes of their own");
  Sample sample;
  sample.inputs = named_arrays(session, program, c.inputs);
  if (!sample.inputs.empty() && sample.inputs[0].shape().rank() > 0)
    sample.batch = sample.inputs[0].shape()[0];
  return sample;
}

BatchFigures bench_batch(const BenchCommand& c, const Model& model, std::optional<int64_t> wanted) {
  BatchFigures figures;
  const double load = load_average();
  Counters counters;  // before the session, whose threads it counts
  const double begin = now_ms();
  NodeTimes& trace = figures.trace;
  if (c.roofline) trace.count_costs(model.program());
  Runner runner(model, {.backend = c.backend,
                        .threads = c.threads,
                        .trace = c.split || c.profile || c.roofline ? &trace : nullptr,
                        .device = c.device,
                        .or_cpu = c.fallback.allowed,
                        .all_it_can = c.all_it_can,
                        .unchecked = c.checks.skipped,
                        .device_cache = c.checks.device_cache,
                        .entry = c.entry});
  Session& session = runner.session();
  const double session_ms = now_ms() - begin;
  const auto [inputs, batch] = bench_inputs(c, session, model.program(), wanted);
  std::vector<TensorView> in;
  for (const HostTensor& t : inputs) in.push_back(t.view());
  std::vector<TensorView> out(session.output_count());
  if (runner.keeps_state()) {
    runner.remember(make_state(model.program(), session, {inputs, c.dims, c.state}));
  } else if (!c.state.empty()) {
    wrong_usage("--state", "what runs keeps no state between runs; wick inspect lists states");
  }
  BenchState state(runner.state());
  const double first = now_ms();
  const Status ran = session.run(in, out, state.options());
  const double first_ms = session_ms + now_ms() - first;
  if (!state.again(ran)) check(ran, "run");
  if (c.fallback.refused) refuse_fallback(&runner);  // before the measurement, and behind it
  const RunTimes times = timed_runs(c, session, state, in, out, trace, counters);
  const std::string backend = backend_of(c, runner, session);
  if (c.fallback.refused) refuse_fallback(&runner);
  const TimeFigures wall = times.wall();
  const Counters::Counts counts = counters.of_one(times.runs());
  figures.runs = times.runs(), figures.batch = batch, figures.threads = session.threads();
  nlohmann::json& row = figures.row;
  row = json_of(times);
  row["batch"] = batch;
  row["threads"] = session.threads();
  row["backend"] = backend;
  row["items_per_s"] = static_cast<double>(batch) / wall.p50 * 1e3;
  row["load_ms"] = model.load_ms();
  row["first_run_ms"] = first_ms;
  row["first_answer_ms"] = model.load_ms() + first_ms;
  row["resident_mb"] = resident_mb(c.model);
  row["peak_rss_mb"] = peak_rss_mb();
  row["packed_bytes"] = session.packed_bytes();
  row["arena_bytes"] = session.arena_bytes();
  row["load_average"] = load;
  row["counters"] = counts_json(counts);
  if (!c.entry.empty()) row["entry"] = c.entry;
  if (state.kept()) row["state"] = state.json();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& s = inputs[i].shape();
    row["inputs"].push_back(
        {{"name", session.input(i).name}, {"shape", std::vector<int64_t>(s.begin(), s.end())}});
  }
  std::map<std::string, double> split;
  if (c.split) split = trace.ms_by_op(times.runs());
  for (const auto& [op, ms] : split) row["split_ms"][op] = ms;
  if (c.profile) row["profile"] = json_of(trace, times.runs());
  std::optional<Placement> placement;
  if (c.explain) placement.emplace(session, runner.vulkan());
  if (c.explain) row["explain"] = placement->json();
  if (!c.json) {
    print_batch(row);
    fmt::print("  counters of a run: {}\n", counts_text(counts));
    if (state.kept()) fmt::print("  {}\n", state.text());
    for (const auto& [op, ms] : split) fmt::print("  {:<18} {:.4f} ms\n", op, ms);
    if (c.profile) fmt::print("{}", trace.table(times.runs()));
    if (c.explain) fmt::print("{}", placement->text());
  }
  for (const std::string& peer : c.against)
    row["against"].push_back(bench_against({c.model, peer, c.seconds, c.json}, runner, inputs));
  return figures;
}

}  // namespace wick::tool
