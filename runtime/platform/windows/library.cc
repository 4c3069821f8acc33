#include "runtime/platform/library.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cstdio>

namespace wick::platform {
namespace {

thread_local char t_error[256];

}  // namespace

void* open_library(const char* path) {
  HMODULE library = LoadLibraryA(path);
  if (library != nullptr) return library;
  const DWORD cause = GetLastError();
  const int n = snprintf(t_error, sizeof(t_error), "%.120s: ", path);
  if (n > 0) {
    FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, cause, 0,
                   t_error + n, static_cast<DWORD>(sizeof(t_error)) - static_cast<DWORD>(n),
                   nullptr);
  }
  return nullptr;
}

void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

void close_library(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

const char* library_error() { return t_error[0] != '\0' ? t_error : nullptr; }

}  // namespace wick::platform
