// Token files: unsigned integers of 16 or 32 bits, little-endian, without a header. They are
// mapped, so that a process keeps little of the file in memory whatever its size.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "trainer/data/dataset.h"

namespace wick::data {

// A file of token ids, mapped into memory.
class TokenFile {
 public:
  // dtype: uint16 or uint32.
  explicit TokenFile(const std::string& path, DType dtype = DType::kU16,
                     Where where = Where::current());
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  int64_t size() const { return size_; }  // tokens
  // Returns the file's path.
  const std::string& path() const { return path_; }
  // Reads tokens first .. first + count - 1. The file must not be truncated while it is mapped.
  void read(int64_t first, int64_t count, int64_t* to) const;

 private:
  std::string path_;
  DType dtype_;
  const void* map_ = nullptr;
  size_t bytes_ = 0;
  int64_t size_ = 0;
  mutable std::atomic<uint64_t> touched_{0}, block_{UINT64_MAX};  // see read()
};

// Windows of context + 1 tokens for a language model: item i is {x, y}, both int64 [context], where
// x begins at token i * stride and y one token later. stride 0 means context: windows that do not
// overlap.
class TokenDataset : public Dataset {
 public:
  TokenDataset(std::shared_ptr<const TokenFile> file, int64_t context, int64_t stride = 0,
               int64_t vocabulary = 0,  // if positive, a token that is not below it is an error
               Where where = Where::current());
  int64_t size() const override { return size_; }
  Item get(int64_t index) const override;
  Batch get_batch(Span<const int64_t> indices) const override;

 private:
  void read(int64_t index, int64_t* window, int64_t* x, int64_t* y) const;
  std::shared_ptr<const TokenFile> file_;
  int64_t context_, stride_, vocabulary_, size_;
};

}  // namespace wick::data
