// Which ops an operator of ONNX becomes when it is read, found by reading one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wick::tool {

// Returns {"name", "read_as": [{"from", "until", "dtype", "ops"}]}, or {"name", "out": why it is
// not read}; null if neither the default domain nor another has an operator of this name, whatever
// its case. A range is of opsets with the same ops, or of versions of the operator's own domain.
nlohmann::json onnx_reading(const std::string& name);

// Returns it as text.
std::string onnx_reading_text(const nlohmann::json& reading);

}  // namespace wick::tool
