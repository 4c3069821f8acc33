// Formats wick quantize's results as JSON and as its page's data.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "graph/passes/lower_qdq.h"
#include "quantize/report/compare.h"

namespace wick::tool {

// Decibels that mean no error at all are null ("exact"), and so is any number that is not finite.
nlohmann::json comparison_json(const quantize::Comparison& comparison);
nlohmann::json number_json(double v);
nlohmann::json decibels_json(double db);
// Returns the type of the weights in the file.
std::string weights_text(const quantize::Recipe& recipe);
nlohmann::json recipe_json(const quantize::Recipe& recipe);

// Returns lines for the terminal: how many of `what` (op, layer) stayed float, one line for those
// of one kind with one reason.
std::string stayed_text(const std::vector<ir::StayedFloat>& stayed, const std::string& what);

}  // namespace wick::tool
