#include "trainer/distributed/pipeline/pipe_steps.h"

#include <algorithm>
#include <limits>

namespace wick::distributed {

const char* to_text(PipeSchedule schedule) {
  return schedule == PipeSchedule::kGpipe ? "GPipe" : "1F1B";
}

std::vector<PipeStep> pipe_steps(PipeSchedule schedule, int stage, int stages,
                                 size_t micro_batches) {
  std::vector<PipeStep> steps;
  const auto behind = static_cast<size_t>(stages - 1 - stage);
  size_t forwards = 0, backwards = 0;
  const size_t first =
      schedule == PipeSchedule::kGpipe ? micro_batches : std::min(behind, micro_batches);
  while (forwards < first) steps.push_back({true, forwards++});
  while (backwards < micro_batches) {
    if (forwards < micro_batches) steps.push_back({true, forwards++});
    steps.push_back({false, backwards++});
  }
  return steps;
}

size_t most_in_flight(const std::vector<PipeStep>& steps) {
  size_t now = 0, most = 0;
  for (const PipeStep& step : steps) {
    now = step.forward ? now + 1 : now - 1;
    most = std::max(most, now);
  }
  return most;
}

double bubble_of(int stages, size_t micro_batches) {
  const auto idle = static_cast<double>(stages - 1);
  // A data rank may have no sample in a last batch.
  return idle > 0 ? idle / (static_cast<double>(micro_batches) + idle) : 0;
}

std::vector<size_t> balanced_cuts(const std::vector<double>& weights, int stages) {
  const size_t n = weights.size();
  const auto parts = static_cast<size_t>(stages);
  std::vector<double> sums(n + 1);
  for (size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + weights[i];
  // best[k][i]: of the first i modules in k runs; begin[k][i]: where the last of them begins.
  const double none = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(parts + 1, std::vector<double>(n + 1, none));
  std::vector<std::vector<size_t>> begin(parts + 1, std::vector<size_t>(n + 1));
  best[0][0] = 0;
  for (size_t k = 1; k <= parts; ++k) {
    for (size_t i = k; i <= n; ++i) {
      for (size_t at = k - 1; at < i; ++at) {
        const double largest = std::max(best[k - 1][at], sums[i] - sums[at]);
        if (largest < best[k][i]) best[k][i] = largest, begin[k][i] = at;
      }
    }
  }
  std::vector<size_t> cuts;
  for (size_t k = parts, i = n; k > 1; --k) {
    i = begin[k][i];
    cuts.insert(cuts.begin(), i);
  }
  return cuts;
}

}  // namespace wick::distributed
