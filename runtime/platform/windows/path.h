// Converts UTF-8 file names to UTF-16 in a buffer for long paths, and Windows errors to errno.
#pragma once

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cerrno>

namespace wick::platform {

// Returns the errno that corresponds to GetLastError(), or EIO.
inline int last_cause() {
  switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME: return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION: return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return ENOSPC;
    case ERROR_NOT_ENOUGH_MEMORY: return ENOMEM;
    case ERROR_TOO_MANY_OPEN_FILES: return EMFILE;
    case ERROR_FILENAME_EXCED_RANGE: return ENAMETOOLONG;
    default: return EIO;
  }
}

struct WidePath {
  explicit WidePath(const char* path) {
    // Empty where it is not UTF-8 or too long: no file has that name.
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, text, kMost) == 0) text[0] = 0;
  }
  static constexpr int kMost = 4096;
  wchar_t text[kMost];
};

}  // namespace wick::platform
