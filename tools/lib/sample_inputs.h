// Makes up inputs for a model: sizes from the command line, and pseudo-random values that are the
// same on every machine.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/host_tensor.h"
#include "runtime/exec/session.h"

namespace wick::tool {

// Which numbers are made.
enum class SampleValues : uint8_t {
  kUniform,   // floats in [-1, 1), any uint8, other integers 0 to 3; indices below a table's size
  kTies,      // floats that are multiples of 1/2 in [-3, 3], -0 too: ties, and halves
  kSpecials,  // floats of which one in 16 is a NaN, an infinity or a subnormal
};

// The sizes of made-up inputs.
struct SampleSizes {
  std::optional<int64_t> batch = {};             // nothing: `usual_batch` if the model has a choice
  int64_t usual_batch = 1;                       // clamped to the range that the model allows
  std::vector<std::string> named = {};           // "NAME=N", for any symbol
  SampleValues values = SampleValues::kUniform;  // the kind of numbers
};

// Made-up inputs.
struct Sample {
  std::vector<HostTensor> inputs;  // in the session's order
  int64_t batch = 1;               // rows of the first input, by which throughput is counted
};

// The batch is the symbol of the first dimension of the first input that has one there; every other
// symbol needs a size by name. A size that the model does not take is wrong usage; no other size is
// taken instead. A file may fix any size: inputs of more bytes than the limits allow (limits.h) are
// refused with kBudgetExceeded before they take memory.
Sample sample_inputs(const Session& session, const Program& program, const SampleSizes& sizes);

// Reads "NAME=N": the number of one of the program's symbols, and a size that it may have. Anything
// else is wrong usage of --dim.
std::pair<int32_t, int64_t> named_size(const Program& program, const std::string& text);
// The same of a graph, before a program is made of it.
void check_named_size(const ir::Graph& graph, const std::string& text);

}  // namespace wick::tool
