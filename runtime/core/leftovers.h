// What a killed process left beside the file that it wrote: NAME.KIND.PID.N.
#pragma once

#include "runtime/core/status.h"

namespace wick {

// Whether `entry`, a file's name, is such a file of `name` (null: of any) and of a process that has
// ended.
bool left_behind(const char* entry, const char* name, const char* kind);
// Removes such files of kind "tmp" from the folder, as far as the system lets it; one that a
// process still holds, as another machine's or container's may, stays.
void remove_leftovers(const char* folder, const char* name = nullptr);

}  // namespace wick
