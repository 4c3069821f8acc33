// What wick quantize tries by itself: ranges (--observer auto) and widths under a budget
// (--max-drop, --max-size), told as JSON and as lines.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "quantize/choose/choose.h"
#include "quantize/choose/mixed.h"

namespace wick::tool {

// Reads a size in bytes: "300000", "300KB" (1000 each), "300KiB" (1024), MB, MiB, GB, GiB. Nothing
// for other text, for 0, and for what 2^62 does not hold.
std::optional<int64_t> size_from(const std::string& text);

// Each way that was tried and what it reached, and which was kept.
nlohmann::json tried_json(const quantize::Choice& choice);
// The budget, whether it was met, the layers' widths and every model that was made. Drops are in
// points of a hundred there, as --max-drop is.
nlohmann::json mixed_json(const quantize::Mixed& mixed, const quantize::Budget& budget);

// "ranges: mse, bias correction: 31.20 dB, the best of 14 tried (26.10 to 31.20)\n"
std::string tried_text(const quantize::Choice& choice);
// What the model that is kept takes and loses, how many layers have which width, and which budget
// it does not meet.
std::string mixed_text(const quantize::Mixed& mixed, const quantize::Budget& budget);

}  // namespace wick::tool
