// Bytes of a file that stay in it until they are read: constants of a model that is run right away.
//
// A file is read, never mapped for this: one that is cut under a mapping kills the process. It is
// held open, so renaming another one over it changes nothing; cut or written to, it is an error
// when bytes are read (as far as its size and time of change tell).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/core/lent_bytes.h"

namespace wick {

class FileBytes {
 public:
  // A regular file. Throws Error.
  explicit FileBytes(const std::string& path);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  uint64_t size() const { return size_; }
  // From any thread.
  Status read(uint64_t offset, void* to, size_t bytes) const;

 private:
  Status unchanged() const;

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  int64_t seconds_ = 0, nanoseconds_ = 0;  // of the last change
};

// A piece of a file with a place in memory of its own, which takes none before it is filled; then
// it is the owner's to write to, and the file is not looked at again.
class LazyBytes final : public LentBytes {
 public:
  // Throws Error when there is no room.
  LazyBytes(std::shared_ptr<const FileBytes> file, uint64_t offset, size_t bytes);
  ~LazyBytes();
  LazyBytes(const LazyBytes&) = delete;
  LazyBytes& operator=(const LazyBytes&) = delete;

  char* address() const { return address_; }  // of a page; zeros behind the end
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
