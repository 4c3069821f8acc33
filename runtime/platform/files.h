// Thin wrappers of the system's file calls; runtime/core builds on them (regular files only, atomic
// writes, locks). A function that returns an int without a comment returns 0 or the errno of its
// failure; in a build without files every one returns ENOSYS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/platform/system.h"

namespace wick::platform {

enum class FileKind : uint8_t { kRegular, kFolder, kLink, kPipe, kSocket, kDevice };

struct FileInfo {
  FileKind kind = FileKind::kRegular;
  uint64_t size = 0;
  uint64_t device = 0, inode = 0;  // together they identify a file
};

constexpr int kNoFolder = -1;  // names are relative to the current folder

// Describes `name` in an open folder; follow: describes the target of a link.
int file_info(int folder, const char* name, bool follow, FileInfo* info);
int file_info(int fd, FileInfo* info);

// Opens a file for reading, without waiting for the writer of a pipe.
int open_to_read(int folder, const char* name, bool follow, int* fd);
// Writes to `target` the path of the file that `path` means behind its symbolic links, which need
// not be there. EACCES for a stranger's link in a folder where everybody may put one, such as /tmp.
int follow_links(const char* path, char* target, size_t size);
// Creates a file that is to take the place of `old` and opens it for writing; EEXIST where it
// exists. It has the mode of `old`, and its owner where the system allows it; if there is no such
// file, the mode that the process gives new ones.
int open_replacement(const char* path, const char* old, int* fd);
// Opens a file for reading and writing and creates it where it is missing; refuses links.
int open_lock_file(const char* path, int* fd);
void close_file(int fd);

// *done: the bytes read, at least one unless the file ends there.
int read_at(int fd, uint64_t offset, void* to, size_t bytes, size_t* done);
// *done: the bytes written, at least one unless the disk is full.
int write_some(int fd, const void* from, size_t bytes, size_t* done);
// Replaces the whole content of the file with these bytes, where the system allows writing.
void replace_content(int fd, const char* text, size_t bytes);

int flush_file(int fd);
// Makes changes of names in this folder survive a power cut.
int flush_folder(const char* path);
int rename_file(const char* from, const char* to);
void remove_file(const char* path);
// For the user alone, where the system has such folders.
void make_folder(const char* path);

// Returns whether the file's storage belongs to this machine and stays readable while the file is
// mapped. Returns false where that is unknown: network and user-space file systems, removable
// media.
bool is_local(int fd);

// Locks a file for one process at a time, until it is closed or the process ends. kNone: the file
// system has no locks.
enum class Lock : uint8_t { kTaken, kHeld, kNone };
Lock try_lock(int fd);

long process_id();
bool process_ended(long id);

// Calls each(context, name) for the files of a folder and removes those for which it returns true,
// as far as the system allows it. A file that a process still locks, perhaps of another machine or
// container, stays. Allocates nothing.
void remove_from_folder(const char* path, bool (*each)(void* context, const char* name),
                        void* context);

}  // namespace wick::platform
