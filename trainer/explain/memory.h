// Which line's tensors hold the memory: snapshots by creation site, their differences, and exact
// footprints.
#pragma once

#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/optim/optimizer.h"
#include "trainer/tensor/tensor.h"
#include "trainer/tensor/watcher.h"

namespace wick {

// The live tensors' bytes that one line made.
struct MemorySite {
  std::string op;      // "matmul", "backward of matmul"; "tensor": made by zeros(), from_blob() ...
  std::string where;   // "train.cpp:41": the user's line; of backward, that of the forward op
  std::string module;  // "fc1"
  int64_t bytes = 0;   // in a difference they may be negative
  int64_t count = 0;   // storages: views of one count once
};
struct MemorySnapshot {
  std::vector<MemorySite> sites;  // most bytes first
  int64_t bytes = 0, count = 0;
  std::string text(size_t max_sites = 10) const;
};

// While it lives, every storage made is remembered with the line that made it. One at a time in a
// process; lines are known for the thread that made the recorder. Without one nothing is recorded
// and nothing costs.
class MemoryRecorder final : Watcher {
 public:
  explicit MemoryRecorder(Where where = Where::current());
  ~MemoryRecorder() override;

 private:
  void on_call(const TracedCall& call) override;
};

// What lives now of what was made since the recorder began. Throws Error when there is none.
MemorySnapshot memory_snapshot(Where where = Where::current());
// after - before, the sites that changed: a leak grows from step to step.
MemorySnapshot difference(const MemorySnapshot& before, const MemorySnapshot& after);

// -- exact bytes
// Of the elements: (1000, 1000) float32 is 4,000,000. A view counts what it sees.
int64_t memory_footprint(const Tensor& t);
struct Footprint {
  int64_t parameters = 0, buffers = 0, gradients = 0;
  int64_t total() const { return parameters + buffers + gradients; }
  std::string text() const;  // with a line each
};
// A tensor that occurs twice (tied weights) counts once.
Footprint memory_footprint(const nn::Module& module);
// What the optimizer keeps between steps: SGD 0, with momentum 1x, Adam 2x the parameters.
int64_t memory_footprint(const optim::Optimizer& optimizer);

}  // namespace wick
