// Checks what wick quantize refuses before it reads or computes anything.
#pragma once

#include <string>
#include <vector>

#include "quantize/recipe.h"
#include "tools/wick/command_line.h"

namespace wick::tool {

// An option that was given but that this recipe does not read is wrong usage.
void check_options(const Command& command, quantize::Mode mode, const std::string& observer);

// Checks the data set for further training: throws Error for a folder or file without labelled
// images.
void check_images(const std::string& calib);

}  // namespace wick::tool
