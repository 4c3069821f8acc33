// Formats wick verify's results: JSON, JUnit for a CI's own pages, and lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/lib/verify/verify.h"

namespace wick::tool {

nlohmann::json json_of(const FirstDifference& first);
nlohmann::json json_of(const VerifyReport& report, const std::vector<std::string>& models);
// Makes a test case of each row: the model is its class, target and sizes its name.
std::string junit_of(const VerifyReport& report);
std::string line_of(const VerifyRow& row);
// "12 equal, 1 differs", by verdict.
std::string counts_of(const VerifyReport& report);

}  // namespace wick::tool
