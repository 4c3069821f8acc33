#pragma once

#include "trainer/loop/fit_options.h"

namespace wick::loop {

// Refuses options that fit() could not keep. `validated`: there is a validation.
void check_fit(const FitOptions& options, bool validated, const Where& where);

}  // namespace wick::loop
