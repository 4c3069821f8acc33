// Inputs for a model that nobody gave any: sizes from the command line, pseudo-random values that
// are the same on every machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "runtime/exec/session.h"

namespace wick::tool {

struct SampleSizes {
  std::optional<int64_t> batch = {};    // nothing: `usual_batch` where the model has a choice
  int64_t usual_batch = 1;              // brought into the range that the model allows
  std::vector<std::string> named = {};  // "NAME=N", of any symbol
};

struct Sample {
  std::vector<HostTensor> inputs;
  int64_t batch = 1;  // rows of the first input: what a throughput counts
};

// The batch is the symbol of the first dimension of the first input that has one there; every other
// symbol needs a size by name. A size that the model does not take is wrong usage, never another
// size.
Sample sample_inputs(const Session& session, const Program& program, const SampleSizes& sizes);

}  // namespace wick::tool
