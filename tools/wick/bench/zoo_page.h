// The Markdown page of wick bench --zoo.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wick::tool {

// `doc` is what --zoo --json prints. The page says when, where and with which versions it was
// measured, has a row for each model and a table for each other runtime, and ends with what was not
// measured, and why.
std::string zoo_page(const nlohmann::json& doc);

}  // namespace wick::tool
