// wick bench: what the command was asked, and the parts of its work.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/lib/model.h"
#include "tools/lib/node_times.h"
#include "tools/lib/sample_inputs.h"
#include "tools/wick/bench/bench_submission.h"
#include "tools/wick/command.h"

namespace wick::tool {

struct BenchCommand {
  std::string model, backend = "cpu", device, page, entry, state;
  std::vector<int64_t> batches;
  std::vector<std::string> dims, inputs, against;
  int threads = 1;
  double seconds = 2;
  bool json = false, split = false, load = false, lower_qdq = true;
  bool profile = false, explain = false, all_it_can = false;
  bool roofline = false, zoo = false;
  SubmissionBench submission;
  KernelChecks checks;
  Fallback fallback;

  // Returns the first batch size that was asked for; nothing: the model's own.
  std::optional<int64_t> first_batch() const {
    return batches.empty() ? std::nullopt : std::optional<int64_t>(batches[0]);
  }
};

// Returns the given arrays, or made-up ones of the given sizes.
Sample bench_inputs(const BenchCommand& c, const Session& session, const Program& program,
                    std::optional<int64_t> batch);

// Measures the process's first load, and a second one: --load.
void bench_load(const BenchCommand& c);

// What a batch size took.
struct BatchFigures {
  nlohmann::json row;
  NodeTimes trace;  // with costs, for --roofline
  size_t runs = 0;
  int64_t batch = 1;
  int threads = 1;
};
// Measures one batch size and prints it, unless as JSON.
BatchFigures bench_batch(const BenchCommand& c, const Model& model, std::optional<int64_t> batch);

// Measures the machine's peaks and holds the nodes of each batch against them: adds to the rows, or
// prints. It comes last, since the peaks need memory that is not the model's.
void bench_roofline(const BenchCommand& c, std::vector<BatchFigures>* batches);

}  // namespace wick::tool
