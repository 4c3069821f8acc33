// Runs an op of one's own: its calls through the trainer, and each of its kernels alone.
#pragma once

#include <memory>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "trainer/tensor/tensor.h"
#include "wick/op_test.h"

namespace wick::tool {

// Returns the inputs of a sample. Floating ones are of `dtype`, with numbers that float32 has;
// those of float64 are finer where `fine` says so: sums of the others would hardly round, and their
// order would not show.
std::vector<Tensor> inputs_of(const OpSample& sample, DType dtype, bool fine = false);

// Calls the op in eager mode.
std::vector<Tensor> call_op(const OpTest& test, const OpSample& sample,
                            const std::vector<Tensor>& in);

// Returns the kernels that take the sample's inputs of this dtype, in the op's order.
std::vector<const KernelRow*> kernels_for(const OpTest& test, const OpSample& sample, DType dtype);

// One kernel on a sample's inputs, fine ones, ready to run.
class KernelCall {
 public:
  // `offset`: the inputs begin so many elements behind an aligned address. Throws Error for what
  // the shape rule or the kernel refuses.
  KernelCall(const OpTest& test, const OpSample& sample, const KernelRow& row, DType dtype,
             int threads = 1, int offset = 0);
  ~KernelCall();
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  void run();
  // Returns the outputs' bytes, one after the other.
  std::vector<char> bytes() const;
  // Returns how many bytes the inputs and outputs have.
  size_t moved() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wick::tool
