// Benchmarks of models: repeated measurements with statistics, suites, and the Pareto frontier.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/profile/timer.h"

namespace wick {

// Statistics of repeated measurements.
struct BenchmarkResult {
  BenchmarkResult() = default;
  // Throws Error unless there is at least one value and all are finite.
  BenchmarkResult(std::string metric, std::vector<double> values, std::string unit = "",
                  Where where = Where::current());
  // These say what was measured and in what unit, every value, and their number, mean, median,
  // least and largest.
  std::string metric, unit;
  std::vector<double> values;
  int64_t count = 0;
  double mean = 0, median = 0, min = 0, max = 0;
  double std = 0;                  // of the sample (n - 1); 0 for one value
  double ci_low = 0, ci_high = 0;  // 95 % interval of the mean: Student's t, n - 1 degrees
  double cv() const { return mean != 0 ? std / mean : 0; }  // coefficient of variation
  std::string to_dict() const;  // JSON: metric, unit, mean, std, median, min, max, count, ci95
  std::string text() const;     // one line
};
// Returns half the width of the 95 % interval of a mean, in standard errors: 12.706, 4.303 ...
// 1.96.
double student_t95(int64_t degrees);

// Returns the seconds that f takes, measured with Timer.
double precise_timer(const std::function<void()>& f);

// Options of a measurement.
struct BenchmarkOptions {
  int warmup = 3;  // runs before the measured ones
  int runs = 20;   // measured runs
};

// Benchmarks one model on one input.
class Benchmark {
 public:
  // The model must outlive it; it runs in eval mode without gradients.
  Benchmark(std::string name, nn::Module& model, Tensor input, BenchmarkOptions options = {},
            Where where = Where::current());
  BenchmarkResult run_latency_benchmark() const;  // milliseconds per forward pass
  // Returns the accuracy, in [0, 1], of logits [N, C] against `target` int64 [N], as a result with
  // one value.
  BenchmarkResult run_accuracy_benchmark(const Tensor& target,
                                         Where where = Where::current()) const;
  // Returns bytes: parameters and buffers, plus the peak that a forward pass needs besides them.
  BenchmarkResult run_memory_benchmark() const;
  // Returns the name given to the constructor.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  nn::Module& model_;
  Tensor input_;
  BenchmarkOptions options_;
};

// The scores of a candidate. NaN: not measured.
struct Candidate {
  std::string name;  // the model's name
  std::vector<double> scores;
};
enum class Better : uint8_t { kLower, kHigher };
// Returns the indices of the candidates that no other dominates (at least as good in all scores and
// better in one), in their order; equal ones are all included. Throws Error for scores that are not
// finite, or if there is not one per direction.
std::vector<size_t> pareto_frontier(const std::vector<Candidate>& candidates,
                                    const std::vector<Better>& directions,
                                    Where where = Where::current());

// Several models on the same data: latency (ms), accuracy and memory (bytes) of each.
class BenchmarkSuite {
 public:
  BenchmarkSuite(Tensor input, Tensor target, BenchmarkOptions options = {})
      : input_(std::move(input)), target_(std::move(target)), options_(options) {}
  // Adds a model under a name; it must outlive the suite.
  void add(std::string name, nn::Module& model) { models_.emplace_back(std::move(name), &model); }

  // The results of one model.
  struct Row {
    std::string name;                           // the name given to add()
    BenchmarkResult latency, accuracy, memory;  // in ms, a share, and bytes
    bool on_frontier = false;                   // no other model is at least as good in all three
  };
  // Returns rows in the order of adding. Throws Error without a model.
  const std::vector<Row>& run(Where where = Where::current());
  std::vector<std::string> pareto() const;  // names; after run()
  std::string report() const;               // a table that marks the frontier
  std::string to_dict() const;              // JSON

 private:
  Tensor input_, target_;
  BenchmarkOptions options_;
  std::vector<std::pair<std::string, nn::Module*>> models_;
  std::vector<Row> rows_;
};

// The four tasks of MLPerf Tiny by the shape of their input, with their targets (C. Banbury et al.:
// MLPerf Tiny Benchmark, 2021).
struct TinyTask {
  const char* name;                        // the benchmark's name
  Shape input;                             // of one item
  double target_accuracy, max_latency_ms;  // what a model must reach
};
class TinyMLPerf {
 public:
  static const std::vector<TinyTask>& tasks();
  // Says what a model reached in a task.
  struct Verdict {
    std::string task;                                               // the task's name
    BenchmarkResult latency, accuracy;                              // what was measured
    bool accuracy_met = false, latency_met = false;                 // whether each limit was kept
    bool compliant() const { return accuracy_met && latency_met; }  // both were kept
  };
  // items: [N, task.input...] float32, targets: int64 [N]; the latency is that of one item. Throws
  // Error for an unknown task (it lists all) and for other shapes.
  static Verdict run(const std::string& task, nn::Module& model, const Tensor& items,
                     const Tensor& targets, BenchmarkOptions options = {},
                     Where where = Where::current());
  static std::string report(const std::vector<Verdict>& verdicts);
};

}  // namespace wick
