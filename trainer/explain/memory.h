// Memory by source line: snapshots by the line that made the tensors, differences of snapshots, and
// exact footprints.
#pragma once

#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/optim/optimizer.h"
#include "trainer/tensor/tensor.h"
#include "trainer/tensor/watcher.h"

namespace wick {

// The bytes of live tensors that one line made.
struct MemorySite {
  std::string op;      // "matmul", "backward of matmul"; "tensor": made by zeros(), from_blob() ...
  std::string where;   // the user's line, "train.cpp:41"; in backward, that of the forward op
  std::string module;  // "fc1"
  int64_t bytes = 0;   // may be negative in a difference
  int64_t count = 0;   // storages: all views of one count once
};
struct MemorySnapshot {
  std::vector<MemorySite> sites;  // most bytes first
  // Bytes and number of the storages in all sites, and a table of the largest ones.
  int64_t bytes = 0, count = 0;
  // Returns a table: the sum, and one line for each of the first max_sites sites.
  std::string text(size_t max_sites = 10) const;
};

// While it lives, every new storage is recorded with the line that made it. Only one may exist in a
// process; lines are known for the thread that made it. Without a recorder nothing is recorded, at
// no cost.
class MemoryRecorder final : Watcher {
 public:
  explicit MemoryRecorder(Where where = Where::current());
  ~MemoryRecorder() override;

 private:
  void on_call(const TracedCall& call) override;
};

// Returns the live storages that were made since the recorder began. Throws Error if there is no
// recorder.
MemorySnapshot memory_snapshot(Where where = Where::current());
// Returns after - before, for the sites that changed: a leak grows from step to step.
MemorySnapshot difference(const MemorySnapshot& before, const MemorySnapshot& after);

// -- exact bytes
// Returns the bytes of the elements: 4,000,000 for (1000, 1000) float32. For a view only those that
// it shows.
int64_t memory_footprint(const Tensor& t);
// Bytes of a model, by what they are.
struct Footprint {
  // Bytes of a model's tensors, and their sum.
  int64_t parameters = 0, buffers = 0, gradients = 0;
  // Returns their sum.
  int64_t total() const { return parameters + buffers + gradients; }
  std::string text() const;  // one line for each
};
// A tensor that occurs twice (tied weights) counts once.
Footprint memory_footprint(const nn::Module& module);
// Returns the bytes that the optimizer keeps between steps: 0 for SGD, 1x the parameters with
// momentum, 2x for Adam.
int64_t memory_footprint(const optim::Optimizer& optimizer);

}  // namespace wick
