// Formats results of tools/lib as the JSON that commands print and pages hold.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/lib/difference.h"
#include "tools/lib/node_counts.h"
#include "tools/lib/node_times.h"
#include "tools/lib/run_times.h"

namespace wick::tool {

// Returns the first ten elements; for a sequence, its elements.
nlohmann::json preview_json(const HostTensor& tensor);
nlohmann::json json_of(const Difference& difference);
nlohmann::json json_of(const NodeTimes& times, size_t runs);
nlohmann::json json_of(const NodeCounts& counts);
// Returns the figures of both clocks; "cpu_ms" is the mean processor time.
nlohmann::json json_of(const RunTimes& times);

}  // namespace wick::tool
