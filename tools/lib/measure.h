// A model before and after quantization: accuracy and time.
#pragma once

#include <optional>

#include "tools/lib/calibration_data.h"
#include "tools/lib/model.h"

namespace wick::tool {

// The share of rows whose largest output is at their label. `progress`: batches done. Throws Error
// where the first output is no float32 [rows, classes], or a label is none of the classes.
double accuracy_of(Runner& runner, const InputData& data,
                   const std::function<void(int64_t)>& progress);
// The same of whatever answers a batch with its first output.
double accuracy_of(const std::function<HostTensor(const quantize::Batch&)>& run,
                   const InputData& data, const std::function<void(int64_t)>& progress);

struct Times {
  double before_ms = 0, after_ms = 0;  // medians
  size_t runs = 0;                     // of each, in turn
  int64_t items = 0;                   // rows of the first input
  int threads = 0;
};
// Milliseconds of each run: in turn, so that what else the machine does slows all alike; warmed up,
// `seconds` for each, at least ten runs (three of very long ones).
std::vector<std::vector<double>> time_in_turn(const std::vector<std::function<void()>>& runs,
                                              double seconds);
Times time_both(Runner& before, Runner& after, const std::vector<HostTensor>& inputs,
                double seconds);

// The batch's arrays in the session's order. one: only the first row, where the model has a choice.
std::vector<HostTensor> session_inputs(const Session& session, const quantize::Batch& batch,
                                       bool one);

}  // namespace wick::tool
