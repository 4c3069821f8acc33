// What wick quantize tells, as JSON and as its page's data.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "graph/passes/lower_qdq.h"
#include "quantize/report/compare.h"

namespace wick::tool {

// Decibels of no error at all are null ("exact"), and so is any number that is not finite.
nlohmann::json comparison_json(const quantize::Comparison& comparison);
nlohmann::json number_json(double v);
nlohmann::json recipe_json(const quantize::Recipe& recipe);

// Lines for the terminal: how many of `what` (op, layer) stayed float, those of one kind with one
// reason in a line.
std::string stayed_text(const std::vector<ir::StayedFloat>& stayed, const std::string& what);

}  // namespace wick::tool
