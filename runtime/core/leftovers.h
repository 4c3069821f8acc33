// Finds temporary files that killed processes left: NAME.KIND.PID.N beside the file NAME that they
// wrote.
#pragma once

#include "runtime/core/status.h"

namespace wick {

// Returns whether `entry`, a file's name, is a leftover of this kind for the file `name` (null: any
// file), from a process that has ended.
bool left_behind(const char* entry, const char* name, const char* kind);
// Removes leftovers of kind "tmp" from the folder, as far as the system allows it. A file that is
// still locked by a process, perhaps of another machine or container, stays.
void remove_leftovers(const char* folder, const char* name = nullptr);

}  // namespace wick
