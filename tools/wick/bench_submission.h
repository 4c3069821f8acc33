// wick bench --submission: a model beside the one it was made of, as the capstone's JSON.
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

// Accuracy over all of the data, the latency of its first images, in turn where there are two; a
// run's folder is measured in the trainer. Writes tools/submission/submission.h's JSON. Throws
// Error: data without labels, what the models refuse.
void bench_submission(const SubmissionBench& c);

}  // namespace wick::tool
