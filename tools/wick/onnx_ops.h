// The support matrix of ONNX's operators, found by trying: for every operator, opset form and dtype
// a model of one node is read and written, and its nodes' kernels, shaders and gradients are looked
// up.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wick::tool {

// Returns {"newest_opset", "operators": [{"name", "changes", "out" | "ranges": [{"from", "until",
// "reference", "simd", "vulkan", "simd_in_part", "vulkan_in_part", "written", "gradient"}]}]}.
// `name` selects one operator, whatever its case; throws Error if there is none.
nlohmann::json onnx_matrix(const std::string& name);

// Returns one of the matrix's operators as text.
std::string onnx_operator_text(const nlohmann::json& op);

// Returns docs/use/onnx-ops.md.
std::string onnx_matrix_page(const nlohmann::json& matrix);

}  // namespace wick::tool
