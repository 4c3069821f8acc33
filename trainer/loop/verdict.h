// Why a training was not faster, in a line.
#pragma once

#include <string>

#include "trainer/data/step_profile.h"

namespace wick::loop {

// Adds the times of `more` steps and judges anew.
void add_steps(data::StepReport& to, const data::StepReport& more);
// "loader-bound: waiting for the loader took 62 % of 41.2 s (more workers, or ...)"
std::string verdict_line(const data::StepReport& report);

}  // namespace wick::loop
