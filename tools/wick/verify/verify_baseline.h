// wick verify --baseline: compares with what each target answered before.
#pragma once

#include <string>

#include "tools/lib/verify/verify.h"

namespace wick::tool {

// FOLDER/baseline.json has the digest of every output by model, target and sizes, and the arrays
// are next to it. A model is known by its path from the folder, or by its file name alone in
// baselines of before. `update` writes them; otherwise a row is added for each that is there,
// compared by bits, and a missing one is an error that says to update.
void apply_baseline(const std::string& folder, const std::string& model, bool update,
                    VerifyReport* report);

}  // namespace wick::tool
