// Files that a command is to write.
#pragma once

#include <string>
#include <vector>

namespace wick::tool {

struct Place {
  std::string option, path;  // "--out"; "" is a file that was not asked for
};

// None of them is an input or the same file twice (wrong usage), none is a folder, and each can be
// written where it is to stand (Error). Nothing is left there.
void check_places(const std::vector<std::string>& inputs, const std::vector<Place>& places);

}  // namespace wick::tool
