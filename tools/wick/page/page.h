// The inspection page and the reports of runs and of quantization: files embedded in the program,
// and their data.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wick::tool {

// Each returns one file that needs nothing else. Whatever strings `data` holds, the page runs only
// its own script.
std::string html_page(const nlohmann::json& data);    // for a model: tools/wick/page/*
std::string report_page(const nlohmann::json& data);  // for a run: tools/wick/report_page/*
// For a quantized model: tools/wick/quantize_page/* with the parts of the run report.
std::string quantize_page(const nlohmann::json& data);
// For wick roofline: tools/wick/roofline_page/* with the parts of the run report.
std::string roofline_page(const nlohmann::json& data);
// For wick verify: tools/wick/verify_page/* with the parts of the run report.
std::string verify_page(const nlohmann::json& data);

}  // namespace wick::tool
