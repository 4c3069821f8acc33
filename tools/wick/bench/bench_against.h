// wick bench --against: a model beside another runtime, in turn.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/lib/model.h"

namespace wick::tool {

struct AgainstBench {
  std::string model;   // the .onnx file, which both read
  std::string peer;    // onnxruntime, openvino
  double seconds = 2;  // of each of the two
  bool json = false;
};

// Both run the same arrays for slices of about 50 ms, one after the other, until each has run for
// `seconds`: what else the machine does then slows both alike. A slice's first run does not count,
// since the other's threads may still wait for work. Prints a line, or gives what JSON has. Throws
// Error where the other runtime is missing or refuses the model.
nlohmann::json bench_against(const AgainstBench& c, Runner& runner,
                             const std::vector<HostTensor>& inputs);

}  // namespace wick::tool
