// What wick quantize refuses before it reads or computes anything.
#pragma once

#include <string>
#include <vector>

#include "quantize/recipe.h"
#include "tools/wick/command_line.h"

namespace wick::tool {

// An option that was given and that this recipe does not read is wrong usage.
void check_options(const Command& command, quantize::Mode mode, const std::string& observer);

// The data set that training goes on with: Error for a folder or file that has no labelled images.
void check_images(const std::string& calib);

}  // namespace wick::tool
