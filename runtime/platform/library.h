// Opens shared libraries while the program runs.
#pragma once

#include "runtime/platform/system.h"

namespace wick::platform {

// Returns null on failure. All symbols of the library are resolved at once and stay local to it.
void* open_library(const char* path);
void* find_symbol(void* library, const char* name);
void close_library(void* library);
// Returns why this thread's last open_library() returned null; null where the system does not say.
const char* library_error();

}  // namespace wick::platform
