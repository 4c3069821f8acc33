#pragma once

#include "trainer/loop/fit_options.h"

namespace wick::loop {

// Throws Error for options that fit() cannot satisfy. `validated`: there is a validation loader.
void check_fit(const FitOptions& options, bool validated, const Where& where);

}  // namespace wick::loop
