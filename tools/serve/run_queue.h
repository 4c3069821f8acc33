// RunQueue: the line in which inferences of one model wait, and where those that wait together
// become one run. It has no threads: of the callers one runs for all that it takes along, and then
// hands its place to the one that has waited longest. So a request that finds a free place pays for
// no other thread, and a batch is made of what waits, never waited for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "tools/serve/metrics.h"

namespace wick::serve {

struct RunLimits {
  size_t instances = 1;   // runs at a time
  int64_t max_batch = 1;  // rows of a run that serves several requests
  size_t queue = 64;      // requests that wait
};

class RunQueue {
 public:
  // Runs the model once; deadline_ns is a time of now_ns(), 0: none. Called from several threads at
  // once. Throws Error.
  using Run = std::function<std::vector<HostTensor>(const std::vector<HostTensor>& inputs,
                                                    uint64_t deadline_ns)>;
  // `metrics` must outlive the queue.
  RunQueue(const RunLimits& limits, Run run, ModelMetrics* metrics)
      : limits_(limits), run_(std::move(run)), metrics_(*metrics) {}

  // Returns the outputs for these inputs: the bits of a run of their own, whatever they were run
  // with. Inputs may be joined with others of the same shapes but for dim 0, if `join` is set: then
  // dim 0 of every input and output are independent rows. Throws Error: kBusy if the queue is full,
  // kDeadline, and what the run throws.
  std::vector<HostTensor> run(std::vector<HostTensor> inputs, bool join, uint64_t deadline_ns);

 private:
  enum class State : uint8_t {
    kWaiting,  // in the queue
    kLeads,    // in the queue, and its thread is to run
    kTaken,    // another thread runs it
    kDone,
  };
  struct Job {
    std::vector<HostTensor> inputs, outputs;
    int64_t rows = 0;  // 0: it is run alone
    uint64_t deadline_ns = 0, since_ns = 0;
    State state = State::kWaiting;
    std::exception_ptr error;
    std::condition_variable changed;
  };
  using Jobs = std::vector<std::shared_ptr<Job>>;

  bool enter(const std::shared_ptr<Job>& job, std::unique_lock<std::mutex>* lock);
  Jobs take_along(const std::shared_ptr<Job>& leader);
  void leave(const std::shared_ptr<Job>& job);
  void hand_on();
  void run_jobs(const Jobs& jobs);
  void run_alone(Job* job);
  void run_joined(const Jobs& jobs);
  std::vector<HostTensor> timed(const std::vector<HostTensor>& inputs, uint64_t deadline_ns,
                                int64_t rows);

  const RunLimits limits_;
  const Run run_;
  ModelMetrics& metrics_;
  std::mutex mutex_;  // guards what follows, and each job's state
  size_t running_ = 0;
  std::deque<std::shared_ptr<Job>> waiting_;
};

// Return several tensors of equal shapes but for dim 0 as one, row behind row, and the rows [begin,
// begin + rows) of one.
HostTensor join_rows(const std::vector<const HostTensor*>& parts);
HostTensor rows_of(const HostTensor& whole, int64_t begin, int64_t rows);

}  // namespace wick::serve
