// The text of a CSV file, field by field; internal.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/span.h"

namespace wick::data {

// Rows of fields as RFC 4180 has them: quotes, doubled quotes, line ends inside quotes. Empty lines
// are left out. Errors name the file and the row, counted from 0.
std::vector<std::vector<std::string>> parse_csv(Span<const uint8_t> bytes, const std::string& name,
                                                char delimiter);

}  // namespace wick::data
