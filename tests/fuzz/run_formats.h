// The files that training writes: checkpoints with all that a resume reads, trained models,
// reports.
#pragma once

#include "tests/fuzz/formats.h"

namespace wick::fuzz {

std::vector<Format> run_formats();

}  // namespace wick::fuzz
