// Libraries that are opened while the program runs.
#pragma once

#include "runtime/platform/system.h"

namespace wick::platform {

// Null: it cannot be. All its symbols are looked up at once, and stay its own.
void* open_library(const char* path);
void* find_symbol(void* library, const char* name);
void close_library(void* library);
// Why the last open_library() of this thread gave null; null where nobody says.
const char* library_error();

}  // namespace wick::platform
