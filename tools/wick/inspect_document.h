// What is in a model, as wick inspect --json prints it.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/lib/model.h"

namespace wick::tool {

using OpCounts = std::map<std::string, int>;

// `model` is opened whole; `lowered` is what reading it reported. `steps` gets the ops in all
// FusedElementwise. Inputs, outputs and nodes are those of the entry point, as above.
nlohmann::json inspect_document(const Model& model, const ir::LowerReport& lowered, OpCounts* steps,
                                const std::string& entry = "");

}  // namespace wick::tool
