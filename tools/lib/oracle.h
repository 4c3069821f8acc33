// Runs ONNX Runtime as an oracle, in a process of its own (tools/lib/peer.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"

namespace wick::tool {

// Returns why it cannot be used here; nothing if it can.
std::optional<std::string> onnxruntime_missing();
// Returns whether its products of uint8 with int8 saturate on this CPU (x86 without VNNI), so that
// it is no oracle for 8-bit weights (docs/numerics.md, "Beside ONNX Runtime"). False if it is
// missing.
bool onnxruntime_saturates();
// Throws Error if it is missing, or refuses the model.
std::vector<HostTensor> run_onnxruntime(const std::string& model,
                                        const std::vector<std::string>& input_names,
                                        Span<const HostTensor> inputs,
                                        const std::vector<std::string>& output_names);
// Values inside a model, by their names in its file, and the operators that ran.
struct OnnxRuntimeValues {
  std::vector<HostTensor> values;
  std::map<std::string, int> ran;
};
// `optimize` false: runs the file's operators one by one. Every value asked for is then an output
// of the model, which fusing respects.
OnnxRuntimeValues onnxruntime_values(const std::string& model,
                                     const std::vector<std::string>& input_names,
                                     Span<const HostTensor> inputs,
                                     const std::vector<std::string>& names, bool optimize);
// Returns the median latency of one run in ms.
double bench_onnxruntime(const std::string& model, const HostTensor& input, int threads,
                         double seconds);

}  // namespace wick::tool
