// The inspection page and the reports of runs and of quantization: files embedded in the program,
// and their data.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wick::tool {

// One file that needs nothing else. Whatever strings `data` holds, the page is only its own script.
std::string html_page(const nlohmann::json& data);    // of a model: tools/wick/page/*
std::string report_page(const nlohmann::json& data);  // of a run: tools/wick/report_page/*
// of a quantized model: tools/wick/quantize_page/* with the parts of the run report
std::string quantize_page(const nlohmann::json& data);
// of wick verify: tools/wick/verify_page/* with the parts of the run report
std::string verify_page(const nlohmann::json& data);

}  // namespace wick::tool
