// Models for the tests of the server, and a gate that holds a run.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "tools/serve/options.h"
#include "tools/serve/repository.h"

namespace wick::test {

// Writes the graph as NAME.wick into this process's folder, and returns its path.
std::string wick_file(const std::string& name, const ir::Graph& graph);

// x f32[batch,33] -> Linear 65 -> Relu -> Linear 7 -> Softmax y f32[batch,7], with pseudo-random
// weights.
ir::Graph mlp(uint64_t seed = 1);
// x f32[batch,2] -> Gate -> y f32[batch,2].
ir::Graph gated();

// While one lives, runs of the op Gate wait in their kernel until they are stopped or it is gone.
class ClosedGate {
 public:
  ClosedGate();
  ~ClosedGate();
  ClosedGate(const ClosedGate&) = delete;
  ClosedGate& operator=(const ClosedGate&) = delete;
  // Waits until so many runs have come to it since the process began.
  static void wait_for(int runs);
  static int runs();  // so far
};

// Rows of an input, the same for the same seed.
HostTensor rows(int64_t n, int64_t width, uint64_t seed);

// Returns the outputs of a session of its own.
std::vector<HostTensor> alone(const std::string& file, const std::vector<HostTensor>& inputs);

// Options for tests: a free port, and one thread.
serve::ServeOptions test_options();

}  // namespace wick::test
