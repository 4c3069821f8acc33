// Which way of training fits a net on so many ranks, and how long a step of it takes: a model of
// the schedules as they are built, with the bytes of their formulas (docs/use/distributed.md).
#pragma once

#include <string>
#include <vector>

#include "trainer/distributed/plan/net_cost.h"

namespace wick::distributed {

// The ways, in the order in which the rule tries them: the simplest first.
enum class Way { kData, kZero1, kZero2, kZero3, kTensor, kPipeline, kMesh };
// Returns "data parallel".
const char* to_text(Way way);

// What is asked.
struct PlanRequest {
  int ranks = 1;                    // of the job
  double memory_bytes = 0;          // of a rank; 0: any
  double net_bytes_per_s = 1.25e9;  // that a rank sends while it receives as much
  double latency_s = 20e-6;         // of a message
  double flops_per_s = 1e11;        // of a rank, that its kernels reach
  int64_t batch = 64;               // samples of all ranks
  int shards = 0;               // parts of a batch, K; 0: a power of two, at least 8 and the ranks
  double optimizer_states = 2;  // tensors like the parameters that the optimizer keeps: Adam's
  double bucket_bytes = 25 << 20;  // of DataParallel
  bool checkpoint = false;         // layers keep their input, and run forward again before backward
};

// A way with its number of ranks along each axis, and what is predicted of it.
struct PlanChoice {
  Way way = Way::kData;  // how
  // Ranks along each axis; their product is that of the request.
  int data = 1, pipe = 1, tensor = 1;
  double bytes = 0;      // of a rank, at most
  double sent = 0;       // bytes that a rank sends in a step
  double compute_s = 0;  // of a step
  double exposed_s = 0;  // messages that nothing is computed under
  double bubble = 0;     // part of the step that stages wait for each other
  double step_s = 0;     // all of it
  bool fits = false;     // into the memory
};

// The ways side by side, and which to take.
struct ParallelPlan {
  std::vector<PlanChoice> choices;  // the fastest that fits of each way (else the smallest)
  int chosen = -1;                  // index; -1: none fits
  int shards = 0;                   // K
  std::string rule;                 // why, in sentences
  std::string text() const;         // a table, and the rule
};

// Returns the plan. The rule takes the first way that fits the memory, and a later one instead
// where its step is predicted to be a tenth shorter. Throws Error for numbers below their least.
ParallelPlan plan_parallel(const NetCost& net, const PlanRequest& request,
                           Where where = Where::current());

}  // namespace wick::distributed
