// A serialized model, in memory or in its file, which is read through a small window.
#pragma once

#include <memory>
#include <string>

#include "graph/ir/file_bytes.h"
#include "runtime/core/span.h"

namespace wick::onnx {

class ModelBytes {
 public:
  explicit ModelBytes(Span<const uint8_t> bytes) : window_(bytes), size_(bytes.size()) {}
  // Reads a small file whole. Throws Error, as the calls below do, if the file is truncated.
  explicit ModelBytes(std::shared_ptr<const FileBytes> file);
  ModelBytes(const ModelBytes&) = delete;
  ModelBytes& operator=(const ModelBytes&) = delete;

  uint64_t size() const { return size_; }
  // offset < size()
  uint8_t at(uint64_t offset) {
    if (offset - begin_ >= window_.size()) slide(offset);
    return window_[static_cast<size_t>(offset - begin_)];
  }
  void copy(uint64_t offset, void* to, size_t bytes);
  void append(uint64_t begin, uint64_t end, std::string* out);
  // Returns the file, or null for a model in memory.
  const std::shared_ptr<const FileBytes>& file() const { return file_; }
  // Returns all bytes; only if file() is null.
  Span<const uint8_t> in_memory() const { return window_; }

 private:
  void slide(uint64_t offset);

  std::shared_ptr<const FileBytes> file_;
  std::string buffer_;
  Span<const uint8_t> window_;
  uint64_t begin_ = 0, size_ = 0;
};

}  // namespace wick::onnx
