// One call, one figure: parameters, FLOPs, memory and latency of a module, of its layers, of its
// forward and backward pass.
#pragma once

#include <string>
#include <vector>

#include "trainer/nn/mode_scope.h"
#include "trainer/profile/benchmark.h"
#include "trainer/profile/roofline.h"

namespace wick {

// While it lives the module is in eval mode; then each one is in its own again.
class EvalScope {
 public:
  explicit EvalScope(nn::Module& module) : mode_(module, false) {}

 private:
  nn::ModeScope mode_;
};

// Of one forward pass in eval mode without gradients: 2 in out a row of a Linear. Products,
// convolutions and recurrences count; biases and elementwise ops do not, as is usual.
int64_t count_flops(nn::Module& module, const Tensor& input);

// Bytes of the module's own tensors, and the most that one forward pass (eval, no gradients) holds
// beside them and the input. Resets peak_bytes().
struct MemoryUse {
  int64_t parameters = 0;  // and buffers
  int64_t activations = 0;
};
MemoryUse measure_memory(nn::Module& module, const Tensor& input);

// Milliseconds of a forward pass in eval mode without gradients. warmup >= 0, runs >= 1.
BenchmarkResult measure_latency(nn::Module& module, const Tensor& input,
                                const BenchmarkOptions& options = {},
                                Where where = Where::current());

struct LayerProfile {
  std::string layer;  // "encoder.fc1"; "" is the whole module
  int64_t parameters = 0;
  double flops = 0, bytes = 0;  // of one forward pass: what its ops compute and move
  double milliseconds = 0;      // median
  std::string bound;            // of the roofline: "compute", "memory", "-"
};
// A module by itself on its own input.
LayerProfile profile_layer(nn::Module& layer, const Tensor& input, const BenchmarkOptions& = {});

struct PassProfile {
  double milliseconds = 0;      // median
  double flops = 0, bytes = 0;  // of its ops
  double gflops_per_second = 0;
  std::string bound;
  std::vector<LayerProfile> layers;  // most time first; layer by the path of its module
  std::string text() const;
};
// In train mode as it is, with recording: what a training step's forward is. The default generator
// and the buffers are restored.
PassProfile profile_forward_pass(nn::Module& module, const Tensor& input,
                                 const BenchmarkOptions& = {});
// Backward of the sum of the output's elements; the forward passes are not in it. Gradients are
// afterwards what they were.
PassProfile profile_backward_pass(nn::Module& module, const Tensor& input,
                                  const BenchmarkOptions& = {});

// All of it as a page of text: parameters, FLOPs, memory, latency, forward and backward by layer.
std::string quick_profile(nn::Module& module, const Tensor& input, const BenchmarkOptions& = {});

// What a whole gains when `fraction` of its time becomes `factor` times as fast (Amdahl, 1967):
// 0.7 and 2 give 1.54. fraction in [0, 1], factor > 0.
double amdahl_speedup(double fraction, double factor, Where where = Where::current());

}  // namespace wick
