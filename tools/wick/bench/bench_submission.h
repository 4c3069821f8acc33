// wick bench --submission: compares a model with the one it was made from, as the capstone's JSON.
#pragma once

#include <string>
#include <vector>

namespace wick::tool {

struct SubmissionBench {
  std::string model, baseline;  // .wick, .onnx, or a training run's folder; no baseline: ""
  std::string eval, out, author;
  std::vector<std::string> techniques;
  int64_t batch = 1;
  int threads = 1;
  double seconds = 2;
  bool json = false, lower_qdq = true;
};

// Measures accuracy over all of the data and the latency of its first images, taking turns if there
// are two models; a run's folder is measured in the trainer. Writes tools/submission/submission.h's
// JSON. Throws Error for data without labels, and for what the models refuse.
void bench_submission(const SubmissionBench& c);

}  // namespace wick::tool
