#include "tools/submission/submission.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "runtime/core/atomic_file.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"
#include "wick/error.h"

namespace wick {
namespace {

using json = nlohmann::ordered_json;

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

json system_json(int threads) {
  utsname u{};
  const bool known = uname(&u) == 0;
  return {{"platform", known ? fmt::format("{} {}", u.sysname, u.release) : "unknown"},
          {"machine", known ? u.machine : "unknown"},
          {"cores", std::max(1U, std::thread::hardware_concurrency())},
          {"threads", threads > 0 ? threads : num_threads()}};
}

json report_json(const BenchmarkReport& r) {
  return {{"model_name", r.model_name},
          {"metrics",
           {{"parameter_count", r.parameters},
            {"model_bytes", r.bytes},
            {"model_size_mb", static_cast<double>(r.bytes) / 1e6},
            {"accuracy", r.accuracy},
            {"latency_ms_mean", r.latency.mean},
            {"latency_ms_std", r.latency.std},
            {"latency_ms_median", r.latency.median},
            {"latency_runs", r.latency.count},
            {"batch_size", r.batch},
            {"throughput_samples_per_sec", r.throughput()}}}};
}

json head(const BenchmarkReport& baseline, const SubmissionOptions& o) {
  json doc = {{"schema", "wick-submission-1"},
              {"wick_version", WICK_VERSION},
              {"submission_type", "capstone_benchmark"},
              {"timestamp", now_text()}};
  if (!o.author.empty()) doc["author"] = o.author;
  doc["system"] = system_json(o.threads);
  doc["baseline"] = report_json(baseline);
  return doc;
}

json target(const char* name, double asked, double reached, bool met) {
  return {{"name", name}, {"asked", asked}, {"reached", reached}, {"met", met}};
}

std::string checked(const json& doc) {
  // Numbers that are not finite become null, which the schema refuses.
  std::string text = doc.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  validate_submission_schema(text);
  return text;
}

}  // namespace

namespace nn {
Tensor SimpleMLP::forward(const Arg& x) { return fc2_(relu(fc1_(x))); }
int64_t SimpleMLP::count_parameters() const {
  int64_t n = 0;
  for (const Tensor& p : parameters()) n += p.layout().numel();
  return n;
}
}  // namespace nn

void BenchmarkReport::benchmark_model(nn::Module& model, const Tensor& x, const Tensor& target,
                                      BenchmarkOptions options, Where where) {
  if (options.runs < 2) throw_error("BenchmarkReport", "a spread takes at least two runs", where);
  const Benchmark measure(model_name, model, x, options, where);
  accuracy = measure.run_accuracy_benchmark(target, where).mean;
  latency = measure.run_latency_benchmark();
  batch = x.raw_shape().rank() == 0 ? 1 : x.raw_shape()[0];
  if (parameters == 0) {
    for (const Tensor& p : model.parameters()) parameters += p.layout().numel();
  }
  bytes = 0;
  std::set<const void*> counted;  // shared ones count once
  for (const auto& [name, t] : model.state_dict()) {
    if (counted.insert(t.layout().data).second) bytes += static_cast<int64_t>(t.layout().nbytes());
  }
}

std::string BenchmarkReport::text() const {
  return fmt::format(
      "{}: {} parameters, {} bytes, accuracy {:.2f} %, {:.4f} +- {:.4f} ms a batch of {} (median "
      "{:.4f}), {:.0f} a second",
      model_name, parameters, bytes, 100 * accuracy, latency.mean, latency.std, batch,
      latency.median, throughput());
}

std::string generate_submission(const BenchmarkReport& baseline, const SubmissionOptions& o) {
  return checked(head(baseline, o));
}

std::string generate_submission(const BenchmarkReport& baseline, const BenchmarkReport& optimized,
                                const SubmissionOptions& o) {
  json doc = head(baseline, o);
  doc["optimized"] = report_json(optimized);
  doc["optimized"]["techniques_applied"] = o.techniques;
  const double speedup = baseline.latency.median / optimized.latency.median,
               ratio = static_cast<double>(baseline.bytes) / static_cast<double>(optimized.bytes);
  doc["improvements"] = {{"speedup", speedup},
                         {"compression_ratio", ratio},
                         {"accuracy_delta", optimized.accuracy - baseline.accuracy}};
  const double ms = optimized.latency.mean;
  doc["targets"] = {target("speedup", o.speedup, speedup, speedup >= o.speedup),
                    target("compression_ratio", o.compression, ratio, ratio >= o.compression),
                    target("latency_ms", o.latency_ms, ms, ms < o.latency_ms)};
  return checked(doc);
}

void save_submission(const std::string& submission, const std::string& path) {
  validate_submission_schema(submission);
  check_status("save_submission",
               write_file_atomically(path.c_str(), submission.data(), submission.size()));
}

}  // namespace wick
