#include "tools/serve/metrics.h"

#include <fmt/core.h>

namespace wick::serve {
namespace {

struct Head {
  const char* name;
  const char* type;
  const char* help;
};
constexpr Head kHeads[] = {
    {"wick_infer_requests_total", "counter", "Inferences that were asked for."},
    {"wick_infer_failures_total", "counter", "Inferences that were answered with an error."},
    {"wick_infer_rejected_total", "counter", "Inferences that found the queue full."},
    {"wick_infer_late_total", "counter", "Inferences that passed their deadline."},
    {"wick_infer_seconds", "histogram", "From the request's last byte to the answer."},
    {"wick_queue_seconds", "histogram", "Time of a request in the queue."},
    {"wick_run_seconds", "histogram", "Time of a run."},
    {"wick_batch_rows", "histogram", "Rows of a run."},
    {"wick_queued_requests", "gauge", "Requests in the queue."},
    {"wick_running", "gauge", "Runs under way."},
};

void write_head(const Head& head, std::string* to) {
  *to += fmt::format("# HELP {} {}\n# TYPE {} {}\n", head.name, head.help, head.name, head.type);
}

// A label's value: a name of a model, which comes from a file's name.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

}  // namespace

template <size_t N>
void Histogram<N>::write(const std::string& name, const std::string& labels,
                         std::string* to) const {
  uint64_t below = 0;
  for (size_t i = 0; i <= N; ++i) {
    below += counts_[i].load(std::memory_order_relaxed);
    *to += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels,
                       i < N ? fmt::format("{:g}", bounds_[i]) : "+Inf", below);
  }
  *to += fmt::format("{}_sum{{{}}} {:.9g}\n{}_count{{{}}} {}\n", name, labels, sum(), name, labels,
                     below);
}

void MetricsText::add(const std::string& model, const ModelMetrics& metrics) {
  static_assert(std::size(kHeads) == kFamilies, "one text for each metric");
  const std::string labels = fmt::format("model=\"{}\"", escaped(model));
  size_t at = 0;
  const auto number = [&](auto value) {
    of_models_[at] += fmt::format("{}{{{}}} {}\n", kHeads[at].name, labels, value);
    ++at;
  };
  const auto histogram = [&](const auto& values) {
    values.write(kHeads[at].name, labels, &of_models_[at]);
    ++at;
  };
  number(metrics.requests.load());
  number(metrics.failures.load());
  number(metrics.rejected.load());
  number(metrics.late.load());
  histogram(metrics.request_seconds);
  histogram(metrics.queue_seconds);
  histogram(metrics.run_seconds);
  histogram(metrics.batch_rows);
  number(metrics.queued.load());
  number(metrics.running.load());
}

void MetricsText::add(const HttpMetrics& http) {
  write_head({"wick_http_answers_total", "counter", "Answers by class of status."}, &of_http_);
  for (size_t i = 1; i < http.answers.size(); ++i)
    of_http_ +=
        fmt::format("wick_http_answers_total{{class=\"{}xx\"}} {}\n", i, http.answers[i].load());
  write_head({"wick_http_connections", "gauge", "Connections that are open."}, &of_http_);
  of_http_ += fmt::format("wick_http_connections {}\n", http.connections.load());
  write_head({"wick_http_refused_connections_total", "counter", "Connections over the limit."},
             &of_http_);
  of_http_ +=
      fmt::format("wick_http_refused_connections_total {}\n", http.refused_connections.load());
}

std::string MetricsText::text() const {
  std::string out = of_http_;
  for (size_t i = 0; i < kFamilies; ++i) {
    write_head(kHeads[i], &out);
    out += of_models_[i];
  }
  return out;
}

}  // namespace wick::serve
