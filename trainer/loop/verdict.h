// Explains in one line what limited the speed of training.
#pragma once

#include <string>

#include "trainer/data/step_profile.h"

namespace wick::loop {

// Adds the times of more steps and updates the verdict.
void add_steps(data::StepReport& to, const data::StepReport& more);
// Returns "loader-bound: waiting for the loader took 62 % of 41.2 s (more workers, or ...)".
std::string verdict_line(const data::StepReport& report);

}  // namespace wick::loop
