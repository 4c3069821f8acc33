// ONNX Runtime as an oracle: a process of its own (tools/scripts/ort_run.py), never linked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"

namespace wick::tool {

// Why it cannot be used here; nothing when it can.
std::optional<std::string> onnxruntime_missing();
// Whether its products of uint8 with int8 saturate on this CPU (x86 without VNNI), so that it is no
// oracle for weights of 8 bits (docs/numerics.md, "Beside ONNX Runtime"). False when it is missing.
bool onnxruntime_saturates();
// Throws Error when it is missing, or refuses the model.
std::vector<HostTensor> run_onnxruntime(const std::string& model,
                                        const std::vector<std::string>& input_names,
                                        Span<const HostTensor> inputs,
                                        const std::vector<std::string>& output_names);
// Values inside a model, by the names of its file, and the operators that ran.
struct OnnxRuntimeValues {
  std::vector<HostTensor> values;
  std::map<std::string, int> ran;
};
// `optimize` false: the file's operators one by one. Every value asked for is an output of the
// model then, which fusing respects.
OnnxRuntimeValues onnxruntime_values(const std::string& model,
                                     const std::vector<std::string>& input_names,
                                     Span<const HostTensor> inputs,
                                     const std::vector<std::string>& names, bool optimize);
// Median latency in ms of one run.
double bench_onnxruntime(const std::string& model, const HostTensor& input, int threads,
                         double seconds);

}  // namespace wick::tool
