// The capstone's report: a model's score, size and latency next to those of an optimized form of
// it, as JSON that a schema checks (submission.schema.json). Example:
//
//   BenchmarkReport baseline("mlp"), small("mlp int8");
//   baseline.benchmark_model(net, x, labels);
//   const auto q = quantize::quantize_model(net, {x});
//   small.parameters = q->parameter_count();
//   small.benchmark_model(*q, x, labels);
//   save_submission(generate_submission(baseline, small, {.techniques = {"int8"}}), "mlp.json");
#pragma once

#include "trainer/nn/layers.h"
#include "trainer/profile/benchmark.h"

namespace wick {

namespace nn {
// Linear, ReLU, Linear: the model of the capstone's example.
class SimpleMLP : public Module {
 public:
  explicit SimpleMLP(int64_t input_size = 10, int64_t hidden_size = 20, int64_t output_size = 3)
      : fc1_(this, "fc1", input_size, hidden_size), fc2_(this, "fc2", hidden_size, output_size) {}
  Tensor forward(const Arg& x) override;
  int64_t count_parameters() const;

 private:
  Child<Linear> fc1_, fc2_;
};
}  // namespace nn

// The figures of one model. benchmark_model() measures a module; a program's own are filled in by
// whoever measured them (`wick bench --submission`).
struct BenchmarkReport {
  explicit BenchmarkReport(std::string name = "model") : model_name(std::move(name)) {}
  // Measures parameters (if `parameters` is 0), bytes of parameters and buffers, the share of
  // correct rows of logits [N, C], and the latency of x as one batch, in eval mode without
  // gradients. Throws Error if there is no target, another number of them, or fewer than two runs.
  void benchmark_model(nn::Module& model, const Tensor& x, const Tensor& target,
                       BenchmarkOptions options = {}, Where where = Where::current());
  double throughput() const { return static_cast<double>(batch) / latency.mean * 1e3; }
  std::string text() const;  // one line

  std::string model_name;
  int64_t parameters = 0, bytes = 0;
  double accuracy = 0;      // 0 to 1
  BenchmarkResult latency;  // milliseconds a batch
  int64_t batch = 1;
};

struct SubmissionOptions {
  std::string author = {};                   // empty: not given
  std::vector<std::string> techniques = {};  // of the optimized form: "int8", "pruned by half"
  int threads = 0;                           // used in the measurement; 0: num_threads()
  // The targets of M09; the report says what was reached.
  double speedup = 10, compression = 4, latency_ms = 100;
};

// Returns JSON: one report, or two with speedup (of medians), compression ratio, accuracy delta and
// the targets. Throws Error for what the schema refuses: a model without a name, an accuracy above
// 1, a latency that nobody measured.
std::string generate_submission(const BenchmarkReport& baseline,
                                const SubmissionOptions& options = {});
std::string generate_submission(const BenchmarkReport& baseline, const BenchmarkReport& optimized,
                                const SubmissionOptions& options = {});
// Checks it and writes it, the file as a whole. Throws Error for what the schema refuses, and if
// the folder does not exist.
void save_submission(const std::string& submission, const std::string& path);
// Throws Error with each place that the schema refuses, "baseline.metrics.accuracy: ..."; also for
// text that is not JSON.
void validate_submission_schema(const std::string& submission);
// Returns the schema itself, draft 7.
const char* submission_schema();

}  // namespace wick
