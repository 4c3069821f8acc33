#include "runtime/platform/library.h"

#include <dlfcn.h>

namespace wick::platform {

void* open_library(const char* path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }
void* find_symbol(void* library, const char* name) { return dlsym(library, name); }
void close_library(void* library) { dlclose(library); }
const char* library_error() { return dlerror(); }

}  // namespace wick::platform
