// Splits the text of a CSV file into fields; internal.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/span.h"

namespace wick::data {

// Returns rows of fields by RFC 4180: quotes, doubled quotes, line ends inside quotes. Empty lines
// are skipped. Errors name the file and the row, counted from 0.
std::vector<std::vector<std::string>> parse_csv(Span<const uint8_t> bytes, const std::string& name,
                                                char delimiter);

}  // namespace wick::data
