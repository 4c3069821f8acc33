// Calls on files, about one of the system's each: what is made of them (regular files alone, files
// that are written whole or not at all, locks) is runtime/core's. Where a function gives an int and
// does not say what, it is 0, or the value of errno that says why it failed; a build without files
// says ENOSYS of all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/platform/system.h"

namespace wick::platform {

enum class FileKind : uint8_t { kRegular, kFolder, kLink, kPipe, kSocket, kDevice };

struct FileInfo {
  FileKind kind = FileKind::kRegular;
  uint64_t size = 0;
  uint64_t device = 0, inode = 0;  // together they are one file's
};

constexpr int kNoFolder = -1;  // names begin where the process stands

// Of `name` in an open folder; follow: of what a link leads to.
int file_info(int folder, const char* name, bool follow, FileInfo* info);
int file_info(int fd, FileInfo* info);

// For reading. Does not wait for who writes a pipe.
int open_to_read(int folder, const char* name, bool follow, int* fd);
// For writing, and new: EEXIST where there is one.
int open_new(const char* path, int* fd);
// For reading and writing, made where there is none; no link.
int open_lock_file(const char* path, int* fd);
void close_file(int fd);

// *done: how many bytes, at least one unless the file ends there.
int read_at(int fd, uint64_t offset, void* to, size_t bytes, size_t* done);
// *done: how many bytes, at least one unless the disk is full.
int write_some(int fd, const void* from, size_t bytes, size_t* done);
// All that the file holds is these bytes, where the system lets it be written.
void replace_content(int fd, const char* text, size_t bytes);

int flush_file(int fd);
// A name that was given in this folder survives a power cut.
int flush_folder(const char* path);
int rename_file(const char* from, const char* to);
void remove_file(const char* path);
void make_folder(const char* path);

// Whether its storage is this machine's own and stays readable while the file is mapped. False
// where that is not known: network and user-space file systems, removable media's.
bool is_local(int fd);

// Of one process at a time, until the file is closed or the process ends. kNone: the file system
// has no locks.
enum class Lock : uint8_t { kTaken, kHeld, kNone };
Lock try_lock(int fd);

long process_id();
bool process_ended(long id);

// Calls each(context, name) for what lies in a folder, as far as the system lets it. Allocates
// nothing. each: whether the file of this name is to go; one that a process still locks, as another
// machine's or container's may, stays.
void remove_from_folder(const char* path, bool (*each)(void* context, const char* name),
                        void* context);

}  // namespace wick::platform
