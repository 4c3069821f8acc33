// A model before and after quantization: accuracy and time.
#pragma once

#include <optional>

#include "tools/wick/calibration_data.h"
#include "tools/wick/model.h"

namespace wick::tool {

// The share of rows whose largest output is at their label. `progress`: batches done. Throws Error
// where the first output is no float32 [rows, classes], or a label is none of the classes.
double accuracy_of(Runner& runner, const InputData& data,
                   const std::function<void(int64_t)>& progress);

struct Times {
  double before_ms = 0, after_ms = 0;  // medians
  size_t runs = 0;                     // of each, in turn
  int64_t items = 0;                   // rows of the first input
  int threads = 0;
};
// In turn, so that what else the machine does slows both alike; warmed up, at least ten runs each.
Times time_both(Runner& before, Runner& after, const std::vector<HostTensor>& inputs,
                double seconds);

// The batch's arrays in the session's order. one: only the first row, where the model has a choice.
std::vector<HostTensor> session_inputs(const Session& session, const quantize::Batch& batch,
                                       bool one);

}  // namespace wick::tool
