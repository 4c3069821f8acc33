#include "runtime/platform/files.h"

#include <cerrno>

namespace wick::platform {

int file_info(int /*folder*/, const char* /*name*/, bool /*follow*/, FileInfo* /*info*/) {
  return ENOSYS;
}
int file_info(int /*fd*/, FileInfo* /*info*/) { return ENOSYS; }
int open_to_read(int /*folder*/, const char* /*name*/, bool /*follow*/, int* /*fd*/) {
  return ENOSYS;
}
int follow_links(const char* /*path*/, char* /*target*/, size_t /*size*/) { return ENOSYS; }
int open_replacement(const char* /*path*/, const char* /*old*/, int* /*fd*/) { return ENOSYS; }
int open_lock_file(const char* /*path*/, int* /*fd*/) { return ENOSYS; }
void close_file(int /*fd*/) {}

int read_at(int /*fd*/, uint64_t /*offset*/, void* /*to*/, size_t /*bytes*/, size_t* /*done*/) {
  return ENOSYS;
}
int write_some(int /*fd*/, const void* /*from*/, size_t /*bytes*/, size_t* /*done*/) {
  return ENOSYS;
}
void replace_content(int /*fd*/, const char* /*text*/, size_t /*bytes*/) {}

int flush_file(int /*fd*/) { return ENOSYS; }
int flush_folder(const char* /*path*/) { return ENOSYS; }
int rename_file(const char* /*from*/, const char* /*to*/) { return ENOSYS; }
void remove_file(const char* /*path*/) {}
void make_folder(const char* /*path*/) {}

}  // namespace wick::platform
