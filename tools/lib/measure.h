// Measures a model before and after quantization: accuracy and time.
#pragma once

#include <optional>

#include "tools/lib/calibration_data.h"
#include "tools/lib/model.h"

namespace wick::tool {

// Returns the share of rows whose largest output is at their label. `progress` gets the batches
// done. Throws Error if the first output is not float32 [rows, classes], or a label is none of the
// classes.
double accuracy_of(Runner& runner, const InputData& data,
                   const std::function<void(int64_t)>& progress);
// Does the same for anything that answers a batch with its first output.
double accuracy_of(const std::function<HostTensor(const quantize::Batch&)>& run,
                   const InputData& data, const std::function<void(int64_t)>& progress);

// The times of a model before and after, in milliseconds of processor time of all threads, which
// what else the machine does hardly touches. Medians.
struct Times {
  double before_ms = 0, after_ms = 0;            // of the processor
  double before_wall_ms = 0, after_wall_ms = 0;  // the same runs by the wall clock
  size_t runs = 0;                               // of each, taking turns
  int64_t items = 0;                             // rows of the first input
  int threads = 0;                               // that runs used
};
// Returns the milliseconds of each run by the wall clock. The runs take turns, so that whatever
// else the machine does slows all alike; they are warmed up, and each gets `seconds` and at least
// ten runs (three if they are very long).
std::vector<std::vector<double>> time_in_turn(const std::vector<std::function<void()>>& runs,
                                              double seconds);
// Returns the medians of both.
Times time_both(Runner& before, Runner& after, const std::vector<HostTensor>& inputs,
                double seconds);

// Returns the batch's arrays in the session's order. `one`: only the first row, if the model has a
// choice.
std::vector<HostTensor> session_inputs(const Session& session, const quantize::Batch& batch,
                                       bool one);

}  // namespace wick::tool
