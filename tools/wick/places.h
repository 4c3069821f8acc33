// Checks the files that a command is to write.
#pragma once

#include <string>
#include <vector>

namespace wick::tool {

struct Place {
  std::string option, path;  // "--out"; "" is a file that was not asked for
};

// Throws if one of them is an input or the same file twice (wrong usage), if one is a folder, or if
// one cannot be written where it is to go (Error). Leaves nothing there.
void check_places(const std::vector<std::string>& inputs, const std::vector<Place>& places);

}  // namespace wick::tool
