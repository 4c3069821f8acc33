// Reads the flight recorders that ranks wrote after an error, and says where they parted.
#pragma once

#include <string>

namespace wick::distributed {

// Merges DIR/wick-flight-*.json: for every group the collectives that some rank did not end, or
// that ranks called differently, with the ranks, the calls and their lines. Throws Error if there
// are no such files or one cannot be read.
std::string hang_report(const std::string& folder);

}  // namespace wick::distributed
