#include "runtime/platform/files.h"

#include <fcntl.h>
#include <io.h>

#include <cstring>

#include "runtime/platform/windows/path.h"

namespace wick::platform {
namespace {

HANDLE handle_of(int fd) { return reinterpret_cast<HANDLE>(_get_osfhandle(fd)); }

// Others may read and rename the file and reuse its name while it is open, as on other systems.
HANDLE open_handle(const char* path, DWORD access, DWORD how, DWORD flags) {
  const WidePath wide(path);
  return CreateFileW(wide.text, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                     nullptr, how, flags | FILE_ATTRIBUTE_NORMAL, nullptr);
}

int open_as(const char* path, DWORD access, DWORD how, DWORD flags, int crt_flags, int* fd) {
  HANDLE file = open_handle(path, access, how, flags);
  if (file == INVALID_HANDLE_VALUE) return last_cause();
  *fd = _open_osfhandle(reinterpret_cast<intptr_t>(file), crt_flags | _O_BINARY | _O_NOINHERIT);
  if (*fd >= 0) return 0;
  CloseHandle(file);
  return EMFILE;
}

int info_of(HANDLE file, FileInfo* info) {
  if (GetFileType(file) != FILE_TYPE_DISK) {
    info->kind = GetFileType(file) == FILE_TYPE_PIPE ? FileKind::kPipe : FileKind::kDevice;
    return 0;
  }
  BY_HANDLE_FILE_INFORMATION of;
  if (GetFileInformationByHandle(file, &of) == 0) return last_cause();
  info->kind = (of.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0       ? FileKind::kFolder
               : (of.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 ? FileKind::kLink
                                                                           : FileKind::kRegular;
  info->size = uint64_t{of.nFileSizeHigh} << 32 | of.nFileSizeLow;
  info->device = of.dwVolumeSerialNumber;
  info->inode = uint64_t{of.nFileIndexHigh} << 32 | of.nFileIndexLow;
  return 0;
}

constexpr DWORD of_link(bool follow) { return follow ? 0 : FILE_FLAG_OPEN_REPARSE_POINT; }

}  // namespace

// The C library cannot open folders, so names are relative to the current folder.
int file_info(int folder, const char* name, bool follow, FileInfo* info) {
  if (folder != kNoFolder) return ENOSYS;
  HANDLE file = open_handle(name, FILE_READ_ATTRIBUTES, OPEN_EXISTING,
                            FILE_FLAG_BACKUP_SEMANTICS | of_link(follow));
  if (file == INVALID_HANDLE_VALUE) return last_cause();
  const int cause = info_of(file, info);
  CloseHandle(file);
  return cause;
}

int file_info(int fd, FileInfo* info) { return info_of(handle_of(fd), info); }

int open_to_read(int folder, const char* name, bool follow, int* fd) {
  if (folder != kNoFolder) return ENOSYS;
  return open_as(name, GENERIC_READ, OPEN_EXISTING, of_link(follow), _O_RDONLY, fd);
}

// A link is replaced: only administrators make them there.
int follow_links(const char* path, char* target, size_t size) {
  const size_t length = strlen(path);
  if (length >= size) return ENAMETOOLONG;
  memcpy(target, path, length + 1);
  return 0;
}

// DELETE access: the file is renamed while it is open. Rights are those of the folder.
int open_replacement(const char* path, const char* /*old*/, int* fd) {
  return open_as(path, GENERIC_WRITE | DELETE, CREATE_NEW, 0, _O_WRONLY, fd);
}

int open_lock_file(const char* path, int* fd) {
  return open_as(path, GENERIC_READ | GENERIC_WRITE | DELETE, OPEN_ALWAYS, of_link(false), _O_RDWR,
                 fd);
}

void close_file(int fd) { _close(fd); }

int read_at(int fd, uint64_t offset, void* to, size_t bytes, size_t* done) {
  constexpr size_t kMost = size_t{1} << 30;
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD n = 0;
  const auto wanted = static_cast<DWORD>(bytes < kMost ? bytes : kMost);
  if (ReadFile(handle_of(fd), to, wanted, &n, &place) == 0 && GetLastError() != ERROR_HANDLE_EOF)
    return last_cause();
  *done = n;
  return 0;
}

int write_some(int fd, const void* from, size_t bytes, size_t* done) {
  constexpr size_t kMost = size_t{1} << 30;
  DWORD n = 0;
  const auto wanted = static_cast<DWORD>(bytes < kMost ? bytes : kMost);
  if (WriteFile(handle_of(fd), from, wanted, &n, nullptr) == 0) return last_cause();
  *done = n;
  return 0;
}

void replace_content(int fd, const char* text, size_t bytes) {
  size_t done = 0;
  SetFilePointer(handle_of(fd), 0, nullptr, FILE_BEGIN);
  if (SetEndOfFile(handle_of(fd)) != 0) (void)write_some(fd, text, bytes, &done);
}

int flush_file(int fd) { return FlushFileBuffers(handle_of(fd)) != 0 ? 0 : last_cause(); }
int flush_folder(const char* /*path*/) { return 0; }  // rename_file() wrote the name through

int rename_file(const char* from, const char* to) {
  const WidePath old(from), wanted(to);
  constexpr DWORD kHow = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
  return MoveFileExW(old.text, wanted.text, kHow) != 0 ? 0 : last_cause();
}

void remove_file(const char* path) { DeleteFileW(WidePath(path).text); }
void make_folder(const char* path) { CreateDirectoryW(WidePath(path).text, nullptr); }

}  // namespace wick::platform
