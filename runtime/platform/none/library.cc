#include "runtime/platform/library.h"

namespace wick::platform {

void* open_library(const char* /*path*/) { return nullptr; }
void* find_symbol(void* /*library*/, const char* /*name*/) { return nullptr; }
void close_library(void* /*library*/) {}
const char* library_error() { return "this build opens no libraries"; }

}  // namespace wick::platform
