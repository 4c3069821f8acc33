// Files shared with other processes: locks, and leftovers of processes that have ended.
#include <io.h>

#include <cstdio>

#include "runtime/platform/files.h"
#include "runtime/platform/windows/path.h"

namespace wick::platform {

bool is_local(int fd) {
  wchar_t path[MAX_PATH];
  auto* const file = reinterpret_cast<HANDLE>(_get_osfhandle(fd));
  const DWORD n = GetFinalPathNameByHandleW(file, path, MAX_PATH, VOLUME_NAME_GUID);
  if (n == 0 || n >= MAX_PATH) return false;
  // \\?\Volume{...}\ ends at the fourth backslash.
  int slashes = 0, end = 0;
  while (path[end] != 0 && slashes < 4) slashes += path[end++] == L'\\' ? 1 : 0;
  path[end] = 0;
  return GetDriveTypeW(path) == DRIVE_FIXED;
}

// Locks one byte far beyond the file's end: locks of Windows keep others from reading.
Lock try_lock(int fd) {
  OVERLAPPED place = {};
  place.OffsetHigh = 0x7FFFFFFF;
  auto* const file = reinterpret_cast<HANDLE>(_get_osfhandle(fd));
  constexpr DWORD kHow = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
  if (LockFileEx(file, kHow, 0, 1, 0, &place) != 0) return Lock::kTaken;
  const DWORD cause = GetLastError();
  return cause == ERROR_LOCK_VIOLATION || cause == ERROR_IO_PENDING ? Lock::kHeld : Lock::kNone;
}

long process_id() { return static_cast<long>(GetCurrentProcessId()); }

bool process_ended(long id) {
  HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(id));
  if (process == nullptr) return GetLastError() == ERROR_INVALID_PARAMETER;
  const bool ended = WaitForSingleObject(process, 0) == WAIT_OBJECT_0;
  CloseHandle(process);
  return ended;
}

void remove_from_folder(const char* path, bool (*each)(void* context, const char* name),
                        void* context) {
  char name[4096];
  int n = snprintf(name, sizeof(name), "%s\\*", path);
  if (n < 0 || static_cast<size_t>(n) >= sizeof(name)) return;
  const int folder = n - 1;  // offset of an entry's name
  WIN32_FIND_DATAW entry;
  HANDLE search = FindFirstFileW(WidePath(name).text, &entry);
  if (search == INVALID_HANDLE_VALUE) return;
  do {
    const int room = static_cast<int>(sizeof(name)) - folder;
    if (WideCharToMultiByte(CP_UTF8, 0, entry.cFileName, -1, name + folder, room, nullptr,
                            nullptr) == 0 ||
        !each(context, name + folder))
      continue;
    int fd = -1;
    if (open_to_read(kNoFolder, name, false, &fd) != 0) continue;
    const bool held = try_lock(fd) == Lock::kHeld;
    close_file(fd);
    if (!held) remove_file(name);
  } while (FindNextFileW(search, &entry) != 0);
  FindClose(search);
}

}  // namespace wick::platform
