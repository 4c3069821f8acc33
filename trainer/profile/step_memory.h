// Where the memory of a training step goes: measured, and predicted without running it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/optim/optimizer.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// The bytes of tensors at the moment of a step at which they are most. Exact, as asked for: what
// the allocator rounds up and what kernels pack is in allocator_stats().
struct MemoryBreakdown {
  int64_t parameters = 0, buffers = 0, gradients = 0, optimizer = 0, inputs = 0;
  int64_t activations = 0;  // made by the forward pass and alive when backward begins
  int64_t temporaries = 0;  // all else: results that a later op consumes, gradients under way
  int64_t total() const {
    return parameters + buffers + gradients + optimizer + inputs + activations + temporaries;
  }
  std::string text() const;  // a line each
};

// Records one step of the thread that makes it. Storages that other threads make are not counted.
class StepMemoryRecorder {
 public:
  // `inputs`: the batch. All must outlive it. One at a time in a process; MemoryRecorder excludes
  // it and the other way round.
  StepMemoryRecorder(const nn::Module& model, const optim::Optimizer& optimizer,
                     const std::vector<Tensor>& inputs, Where where = Where::current());
  ~StepMemoryRecorder();
  void forward_done();    // right before backward
  MemoryBreakdown end();  // after the optimizer's step

 private:
  friend class StepPlan;
  struct Tape;
  std::unique_ptr<Tape> tape_;
  const nn::Module& model_;
  const optim::Optimizer& optimizer_;
};

// One step: zero_grad, loss(inputs(batch)), backward, optimizer.step().
struct TrainingStep {
  nn::Module& model;
  optim::Optimizer& optimizer;
  std::function<std::vector<Tensor>(int64_t batch)> inputs;  // of the real shapes
  std::function<Tensor(const std::vector<Tensor>&)> loss;    // a scalar
};

// Runs two steps with that batch and takes the second: the optimizer has its state then. Weights,
// buffers, gradients, the optimizer's state and the generator are afterwards what they were.
MemoryBreakdown measure_memory(const TrainingStep& step, int64_t batch,
                               Where where = Where::current());

// The same for a batch that is not run: steps of 2, 3 and 4 items are recorded, storage by storage;
// the size of each, a polynomial of at most second degree in the batch, is carried on to `batch`,
// and the making and freeing replayed. Throws Error when the three steps do not make the same
// tensors in the same order (a model that branches on the size of its batch).
MemoryBreakdown predict_memory(const TrainingStep& step, int64_t batch,
                               Where where = Where::current());

}  // namespace wick
