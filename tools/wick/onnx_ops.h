// The support matrix of ONNX's operators, found by asking: for every operator, opset form and dtype
// a model of one node is read, written, and its nodes' kernels, shaders and gradients looked up.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wick::tool {

// {"newest_opset", "operators": [{"name", "changes", "out" | "ranges": [{"from", "until",
// "reference", "simd", "vulkan", "simd_in_part", "vulkan_in_part", "written", "gradient"}]}]}.
// `name`: one operator alone, whatever its case; throws Error when there is none.
nlohmann::json onnx_matrix(const std::string& name);

// One of the matrix's operators, for people.
std::string onnx_operator_text(const nlohmann::json& op);

// docs/onnx-ops.md.
std::string onnx_matrix_page(const nlohmann::json& matrix);

}  // namespace wick::tool
