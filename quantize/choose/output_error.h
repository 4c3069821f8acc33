// Measures how near a graph's outputs are to those of the float graph, on batches that are held.
#pragma once

#include <vector>

#include "quantize/observe/calibrate.h"

namespace wick::quantize {

class OutputError {
 public:
  // Runs `graph` on `most` of the first `count` batches at most, spread evenly over them, and holds
  // these and its outputs.
  OutputError(const ir::Graph& graph, const Batches& batches, int64_t count, int64_t most,
              const CalibrateOptions& options);
  // Returns the mean, over the outputs of real numbers, of their signal over error in decibels;
  // kExactDb if there is none. `graph` has the inputs and outputs of the float graph.
  double sqnr_db(const ir::Graph& graph) const;

 private:
  ir::InterpreterOptions run_;
  std::vector<std::vector<HostTensor>> inputs_, outputs_;
};

}  // namespace wick::quantize
