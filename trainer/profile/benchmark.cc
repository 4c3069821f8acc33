#include "trainer/profile/benchmark.h"

#include <fmt/core.h>

#include <algorithm>

#include "trainer/checkpoint/json.h"
#include "trainer/explain/memory.h"
#include "trainer/loop/trainer.h"
#include "trainer/profile/measure.h"
#include "trainer/tensor/internal.h"

namespace wick {

double precise_timer(const std::function<void()>& f) {
  Timer timer;
  f();
  return timer.seconds();
}

Benchmark::Benchmark(std::string name, nn::Module& model, Tensor input, BenchmarkOptions options,
                     Where where)
    : name_(std::move(name)), model_(model), input_(std::move(input)), options_(options) {
  if (!input_.defined()) throw_error("Benchmark", "the input is undefined", where);
  if (options_.warmup < 0 || options_.runs < 1) {
    throw_error(
        "Benchmark",
        fmt::format("warmup {} and runs {}: at least 0 and 1", options_.warmup, options_.runs),
        where);
  }
}

BenchmarkResult Benchmark::run_latency_benchmark() const {
  return measure_latency(model_, input_, options_);
}

BenchmarkResult Benchmark::run_accuracy_benchmark(const Tensor& target, Where where) const {
  if (!target.defined() || target.layout().numel() == 0)
    throw_error("Benchmark", "no targets to tell the accuracy of", where);
  NoGrad guard;
  EvalScope eval(model_);
  const Tensor logits = model_(input_);
  const double right = static_cast<double>(loop::count_correct(logits, target));
  return BenchmarkResult("accuracy", {right / static_cast<double>(target.layout().numel())});
}

BenchmarkResult Benchmark::run_memory_benchmark() const {
  const MemoryUse use = measure_memory(model_, input_);
  return BenchmarkResult("memory", {static_cast<double>(use.parameters + use.activations)},
                         "bytes");
}

const std::vector<BenchmarkSuite::Row>& BenchmarkSuite::run(Where where) {
  if (models_.empty()) throw_error("BenchmarkSuite", "no models were added", where);
  std::vector<Row> rows;
  std::vector<Candidate> candidates;
  for (const auto& [name, model] : models_) {
    const Benchmark one(name, *model, input_, options_, where);
    rows.push_back({name, one.run_latency_benchmark(), one.run_accuracy_benchmark(target_, where),
                    one.run_memory_benchmark()});
    const Row& r = rows.back();
    candidates.push_back({name, {r.latency.median, r.accuracy.mean, r.memory.mean}});
  }
  for (size_t i :
       pareto_frontier(candidates, {Better::kLower, Better::kHigher, Better::kLower}, where)) {
    rows[i].on_frontier = true;
  }
  rows_ = std::move(rows);
  return rows_;
}

std::vector<std::string> BenchmarkSuite::pareto() const {
  std::vector<std::string> names;
  for (const Row& r : rows_) {
    if (r.on_frontier) names.push_back(r.name);
  }
  return names;
}

std::string BenchmarkSuite::report() const {
  size_t width = 5;
  for (const Row& r : rows_) width = std::max(width, r.name.size());
  std::string text = fmt::format("{:<{}}  {:>12}  {:>10}  {:>9}  {:>12}  frontier\n", "model",
                                 width, "latency ms", "± std", "accuracy", "memory bytes");
  for (const Row& r : rows_) {
    text += fmt::format("{:<{}}  {:>12.4f}  {:>10.4f}  {:>8.2f}%  {:>12.0f}  {}\n", r.name, width,
                        r.latency.median, r.latency.std, 100 * r.accuracy.mean, r.memory.mean,
                        r.on_frontier ? "yes" : "-");
  }
  return text;
}

std::string BenchmarkSuite::to_dict() const {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  JsonWriter json;
  json.open('[');
  for (const Row& r : rows_) {
    // Names are given by the caller: invalid UTF-8 becomes U+FFFD.
    const auto name = nlohmann::json(r.name).dump(-1, ' ', false, kReplace);
    json.open('{').key("name").raw(name).key("latency").raw(r.latency.to_dict());
    json.key("accuracy").raw(r.accuracy.to_dict()).key("memory").raw(r.memory.to_dict());
    json.field("on_frontier", r.on_frontier).close();
  }
  return json.close().done();
}

const std::vector<TinyTask>& TinyMLPerf::tasks() {
  static const std::vector<TinyTask> kTasks = {
      {"keyword_spotting", Shape{1, 49, 10}, 0.90, 100},
      {"visual_wake_words", Shape{3, 96, 96}, 0.80, 200},
      {"image_classification", Shape{3, 32, 32}, 0.85, 150},
      {"anomaly_detection", Shape{640}, 0.85, 50},
  };
  return kTasks;
}

TinyMLPerf::Verdict TinyMLPerf::run(const std::string& task, nn::Module& model, const Tensor& items,
                                    const Tensor& targets, BenchmarkOptions options, Where where) {
  const TinyTask* found = nullptr;
  std::string names;
  for (const TinyTask& t : tasks()) {
    if (task == t.name) found = &t;
    names += (names.empty() ? "" : ", ") + std::string(t.name);
  }
  if (found == nullptr) {
    throw_error("TinyMLPerf", "no task '" + task + "'; there are " + names, where, Code::kNotFound);
  }
  if (!items.defined()) throw_error("TinyMLPerf", "the items are undefined", where);
  const Shape& shape = items.raw_shape();
  bool fits = shape.rank() == found->input.rank() + 1 && shape[0] > 0;
  for (int d = 0; fits && d < found->input.rank(); ++d) fits = shape[d + 1] == found->input[d];
  if (!fits) {
    throw_error("TinyMLPerf",
                std::string(task) + " takes items of " + to_text(found->input).text + ", got " +
                    to_text(shape).text,
                where, Code::kShapeMismatch);
  }
  Verdict v;
  v.task = task;
  v.latency = Benchmark(task, model, items.slice(0, 0, 1), options, where).run_latency_benchmark();
  v.accuracy = Benchmark(task, model, items, options, where).run_accuracy_benchmark(targets, where);
  v.latency_met = v.latency.median <= found->max_latency_ms;
  v.accuracy_met = v.accuracy.mean >= found->target_accuracy;
  return v;
}

std::string TinyMLPerf::report(const std::vector<Verdict>& verdicts) {
  std::string text;
  size_t met = 0;
  for (const Verdict& v : verdicts) {
    met += v.compliant();
    text += fmt::format("{:<22} accuracy {:6.2f}% {:<4} latency {:9.4f} ms {:<4} {}\n", v.task,
                        100 * v.accuracy.mean, v.accuracy_met ? "ok" : "LOW", v.latency.median,
                        v.latency_met ? "ok" : "SLOW", v.compliant() ? "pass" : "FAIL");
  }
  return text + fmt::format("{} of {} tasks pass\n", met, verdicts.size());
}

}  // namespace wick
