// Counts what a server does, and writes the counts as Prometheus's text format.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace wick::serve {

// Counts values by upper bounds. Any number of threads may add, while others read.
template <size_t N>
class Histogram {
 public:
  explicit Histogram(const std::array<double, N>& bounds) : bounds_(bounds) {}
  void add(double value) {
    size_t i = 0;
    while (i < N && value > bounds_[i]) ++i;
    counts_[i].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  // Appends NAME_bucket, NAME_sum and NAME_count with the labels 'model="m"'.
  void write(const std::string& name, const std::string& labels, std::string* to) const;
  uint64_t count() const {
    uint64_t n = 0;
    for (const auto& c : counts_) n += c.load(std::memory_order_relaxed);
    return n;
  }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::array<double, N> bounds_;
  std::array<std::atomic<uint64_t>, N + 1> counts_{};
  std::atomic<double> sum_{0};
};

constexpr std::array<double, 14> kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                             0.025,  0.05,    0.1,    0.25,  0.5,    1,     5};
constexpr std::array<double, 8> kRows = {1, 2, 4, 8, 16, 32, 64, 128};

// Of one model; they go on when it is loaded again.
struct ModelMetrics {
  std::atomic<uint64_t> requests{0};        // inferences that were asked for
  std::atomic<uint64_t> failures{0};        // of them, answered with an error
  std::atomic<uint64_t> rejected{0};        // of the failures, because the queue was full
  std::atomic<uint64_t> late{0};            // of the failures, because of a deadline
  Histogram<14> request_seconds{kSeconds};  // from the body's last byte to the answer's first
  Histogram<14> queue_seconds{kSeconds};    // of it, waiting for a session
  Histogram<14> run_seconds{kSeconds};      // of each run, however many requests it served
  Histogram<8> batch_rows{kRows};           // of each run; the requests' own rows if never joined
  std::atomic<int64_t> queued{0}, running{0};  // now: requests, runs
};

// Of the server.
struct HttpMetrics {
  std::atomic<int64_t> connections{0};  // now
  std::atomic<uint64_t> refused_connections{0};
  // Answers by the first digit of their status.
  std::array<std::atomic<uint64_t>, 6> answers{};
};

// Collects samples: those of one metric stand together behind its # TYPE line, whichever model they
// are of.
class MetricsText {
 public:
  void add(const HttpMetrics& http);
  void add(const std::string& model, const ModelMetrics& metrics);
  std::string text() const;

 private:
  static constexpr size_t kFamilies = 10;
  std::array<std::string, kFamilies> of_models_;
  std::string of_http_;
};

}  // namespace wick::serve
