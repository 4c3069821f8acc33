// A program that is run to its end while other files, which it or others write, are read too.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/lib/process.h"

namespace wick::tool {

struct OtherFiles {
  std::function<std::vector<int>()> open;  // the descriptors to wait for, asked again each time
  std::function<void(int)> read;           // one of them has something, or has ended
};
// shell() of process.h that reads these as well, in the same thread.
Finished shell(const std::string& command, const std::function<void(const std::string&)>& line,
               const OtherFiles& others);

}  // namespace wick::tool
