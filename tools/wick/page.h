// The inspection page: tools/wick/page/*, embedded in the program, and a model's data.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace wick::tool {

// One file that needs nothing else. Whatever strings `data` holds, the page is only its own script.
std::string html_page(const nlohmann::json& data);

}  // namespace wick::tool
