// wick inspect A B: two models side by side.
#pragma once

#include <string>

namespace wick::tool {

struct InspectTwo {
  std::string a, b;
  bool json = false, lower_qdq = true;
};
// Prints a line for each thing that inspect shows, with what both have; a line begins with * where
// they differ.
void inspect_two(const InspectTwo& command);

}  // namespace wick::tool
