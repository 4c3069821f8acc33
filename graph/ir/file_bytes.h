// Bytes of a file that stay in it until they are read: constants of a model that is run right away.
//
// The file is read, never mapped: if a file is truncated under a mapping, the process is killed. It
// is held open, so renaming another one over it changes nothing; if it was truncated or written to,
// reading its bytes is an error (as far as its size and time of change tell).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/core/lent_bytes.h"

namespace wick {

class RegularFile;  // runtime/core/regular_file.h

class FileBytes {
 public:
  // Opens a regular file. Throws Error.
  explicit FileBytes(const std::string& path);
  // Takes over a file that was opened; errors name it `path`. Throws Error.
  FileBytes(RegularFile& file, const std::string& path);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  uint64_t size() const { return size_; }
  // May be called from any thread.
  Status read(uint64_t offset, void* to, size_t bytes) const;

 private:
  void take(RegularFile& file);
  Status unchanged() const;

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  int64_t seconds_ = 0, nanoseconds_ = 0;  // time of the last change
};

// A piece of a file with its own address range, which takes no memory before it is filled; then it
// is the owner's to write to, and the file is not read again.
class LazyBytes final : public LentBytes {
 public:
  // Throws Error if there is no address space left.
  LazyBytes(std::shared_ptr<const FileBytes> file, uint64_t offset, size_t bytes);
  ~LazyBytes();
  LazyBytes(const LazyBytes&) = delete;
  LazyBytes& operator=(const LazyBytes&) = delete;

  char* address() const { return address_; }  // the start of a page; zeros follow the end
  bool filled() const override;
  Status fill() override;
  Status read(void* to) override;

 private:
  struct State;
  const std::shared_ptr<const FileBytes> file_;
  const uint64_t offset_;
  const size_t bytes_, reserved_;
  char* address_ = nullptr;
  std::unique_ptr<State> state_;
};

}  // namespace wick
