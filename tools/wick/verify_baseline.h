// wick verify --baseline: what each target answered before.
#pragma once

#include <string>

#include "tools/lib/verify/verify.h"

namespace wick::tool {

// FOLDER/baseline.json has the digest of every output by model, target and sizes, the arrays lie
// beside it. `update` writes them; else a row is added for each that is there, by bits, and one
// that is not there is an error that says to update.
void apply_baseline(const std::string& folder, bool update, VerifyReport* report);

}  // namespace wick::tool
