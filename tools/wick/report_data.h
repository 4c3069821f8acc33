// A run's folder as the data of its report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wick::tool {

// The folder's contents are not trusted: every number is finite or null, every list has the
// elements it should have, sizes are bounded; what is missing or damaged is named in "notes".
// Throws Error if the folder does not exist or has nothing of a run.
nlohmann::json report_data(const std::string& folder);

}  // namespace wick::tool
