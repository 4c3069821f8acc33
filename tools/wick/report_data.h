// A run's folder as the data of its report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace wick::tool {

// What stands in the folder is not trusted: every number is finite or null, every list a list of
// what it should be, sizes are bounded; what is missing or damaged is named in "notes". Throws
// Error when the folder is none, or holds nothing of a run.
nlohmann::json report_data(const std::string& folder);

}  // namespace wick::tool
