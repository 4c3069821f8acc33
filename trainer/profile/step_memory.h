// The memory of a training step by use: measured, or predicted without running the step.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/optim/optimizer.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// The bytes of tensors at the moment of a step's peak. They are exact, as requested: what the
// allocator rounds up and what kernels pack is in allocator_stats().
struct MemoryBreakdown {
  // Bytes at the peak, by what they are for.
  int64_t parameters = 0, buffers = 0, gradients = 0, optimizer = 0, inputs = 0;
  int64_t activations = 0;  // made by the forward pass, and alive when backward begins
  int64_t temporaries = 0;  // all others: intermediate results and their gradients
  // Returns the sum of all of them: the peak.
  int64_t total() const {
    return parameters + buffers + gradients + optimizer + inputs + activations + temporaries;
  }
  std::string text() const;  // one line per use
};

// Records one step of the thread that makes it. Storages made by other threads are not counted.
class StepMemoryRecorder {
 public:
  // `inputs`: the batch. All arguments must outlive it. Only one may exist in a process, and none
  // together with a MemoryRecorder.
  StepMemoryRecorder(const nn::Module& model, const optim::Optimizer& optimizer,
                     const std::vector<Tensor>& inputs, Where where = Where::current());
  ~StepMemoryRecorder();
  void forward_done();    // call it right before backward
  MemoryBreakdown end();  // call it after the optimizer's step

 private:
  friend class StepPlan;
  struct Tape;
  std::unique_ptr<Tape> tape_;
  const nn::Module& model_;
  const optim::Optimizer& optimizer_;
};

// One step: zero_grad, loss(inputs(batch)), backward, optimizer.step().
struct TrainingStep {
  // The model and its optimizer.
  nn::Module& model;
  optim::Optimizer& optimizer;
  std::function<std::vector<Tensor>(int64_t batch)> inputs;  // returns tensors with the real shapes
  std::function<Tensor(const std::vector<Tensor>&)> loss;    // returns a scalar
};

// Runs two steps with that batch and measures the second, when the optimizer has its state.
// Weights, buffers, gradients, the optimizer's state and the generator are restored.
MemoryBreakdown measure_memory(const TrainingStep& step, int64_t batch,
                               Where where = Where::current());

// Predicts the same without running that batch: records steps with 2, 3 and 4 items, extrapolates
// the size of each storage to `batch` (as a polynomial of at most second degree in the batch), and
// replays the allocations. Throws Error if the three steps do not make the same tensors in the same
// order (if the model branches on the size of its batch).
MemoryBreakdown predict_memory(const TrainingStep& step, int64_t batch,
                               Where where = Where::current());

}  // namespace wick
