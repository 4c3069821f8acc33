// A model that is served: its file opened once, sessions for its runs, and the queue before them.
#pragma once

#include <memory>
#include <string>

#include "runtime/exec/session_pool.h"
#include "tools/lib/model.h"
#include "tools/serve/batch_check.h"
#include "tools/serve/options.h"
#include "tools/serve/protocol.h"
#include "tools/serve/run_queue.h"

namespace wick {
class ThreadPool;
}

namespace wick::serve {

class ServedModel {
 public:
  // Opens the file, by its content, and decides whether requests are joined. `threads`, `metrics`
  // and `cancel` must outlive the model. Throws Error: the file is none, or has inputs or outputs
  // that the protocol has no type for.
  ServedModel(const std::string& path, const ServeOptions& options, ThreadPool* threads,
              ModelMetrics* metrics, const CancelFlag* cancel);
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  const Ports& ports() const { return ports_; }
  const Batching& batching() const { return batching_; }
  // Returns every output. Throws Error, as RunQueue::run().
  std::vector<HostTensor> infer(std::vector<HostTensor> inputs, uint64_t deadline_ns);

 private:
  std::vector<HostTensor> run(const std::vector<HostTensor>& inputs, uint64_t deadline_ns);

  tool::Model model_;
  Ports ports_;
  Batching batching_;
  const CancelFlag* cancel_;
  Owned<SessionPool> sessions_;  // ends before the program
  std::unique_ptr<RunQueue> queue_;
};

}  // namespace wick::serve
