// Measures parameters, FLOPs, memory and latency of a module, its layers, and its forward and
// backward pass, with one call each.
#pragma once

#include <string>
#include <vector>

#include "trainer/nn/mode_scope.h"
#include "trainer/profile/benchmark.h"
#include "trainer/profile/roofline.h"

namespace wick {

// While it lives the module is in eval mode; then the mode of each module is restored.
class EvalScope {
 public:
  explicit EvalScope(nn::Module& module) : mode_(module, false) {}

 private:
  nn::ModeScope mode_;
};

// Returns the FLOPs of one forward pass in eval mode without gradients: 2 in out per row for a
// Linear. As usual, products, convolutions and recurrences are counted, biases and elementwise ops
// are not.
int64_t count_flops(nn::Module& module, const Tensor& input);

// Bytes of the module's tensors, and the peak that one forward pass (eval, no gradients) needs
// besides them and the input. Resets peak_bytes().
struct MemoryUse {
  int64_t parameters = 0;   // including buffers
  int64_t activations = 0;  // bytes that the forward pass makes
};
// Measures that by running module(input) once.
MemoryUse measure_memory(nn::Module& module, const Tensor& input);

// Returns the milliseconds of a forward pass in eval mode without gradients. warmup >= 0, runs >=
// 1.
BenchmarkResult measure_latency(nn::Module& module, const Tensor& input,
                                const BenchmarkOptions& options = {},
                                Where where = Where::current());

// The cost of one module.
struct LayerProfile {
  std::string layer;            // "encoder.fc1"; "" is the whole module
  int64_t parameters = 0;       // number of values
  double flops = 0, bytes = 0;  // that its ops compute and move in one forward pass
  double milliseconds = 0;      // median
  std::string bound;            // by the roofline: "compute", "memory", "-"
};
// Profiles a module alone on an input.
LayerProfile profile_layer(nn::Module& layer, const Tensor& input, const BenchmarkOptions& = {});

// The cost of a forward pass.
struct PassProfile {
  double milliseconds = 0;           // median
  double flops = 0, bytes = 0;       // of its ops
  double gflops_per_second = 0;      // flops per second / 1e9
  std::string bound;                 // "compute" or "memory": what limits it
  std::vector<LayerProfile> layers;  // most time first; `layer` is the path of the module
  std::string text() const;          // a table
};
// Profiles the forward pass of a training step: in the module's present mode, with recording. The
// default generator and the buffers are restored.
PassProfile profile_forward_pass(nn::Module& module, const Tensor& input,
                                 const BenchmarkOptions& = {});
// Profiles the backward pass of the sum of the output's elements, without the forward pass.
// Gradients are restored.
PassProfile profile_backward_pass(nn::Module& module, const Tensor& input,
                                  const BenchmarkOptions& = {});

// Returns all of these as a page of text: parameters, FLOPs, memory, latency, forward and backward
// by layer.
std::string quick_profile(nn::Module& module, const Tensor& input, const BenchmarkOptions& = {});

// Returns the total speedup if `fraction` of the time becomes `factor` times as fast (Amdahl,
// 1967): 0.7 and 2 give 1.54. fraction in [0, 1], factor > 0.
double amdahl_speedup(double fraction, double factor, Where where = Where::current());

}  // namespace wick
