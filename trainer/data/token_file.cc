#include "trainer/data/token_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/core/regular_file.h"
#include "trainer/data/read_time.h"

namespace wick::data {
namespace {

// Touching one page may map all of a large page of the file cache, up to kBlock bytes. After kKeep
// everything is dropped, and mapped again when needed.
constexpr uint64_t kBlock = 2 << 20;
constexpr uint64_t kKeep = 8 * kBlock;

}  // namespace

TokenFile::TokenFile(const std::string& path, DType dtype, Where where)
    : path_(path), dtype_(dtype) {
  if (dtype != DType::kU16 && dtype != DType::kU32) {
    throw_error("tokens",
                std::string("tokens of type ") + dtype_name(dtype) + ": uint16 and uint32 are read",
                where, Code::kTypeMismatch);
  }
  auto fail = [&](const std::string& text, Code code) {
    throw Error("[tokens] " + path + ": " + text, code);
  };
  RegularFile file;
  const Status opened = file.open(path.c_str());
  if (!opened.ok()) fail(std::string("cannot be opened: ") + opened.message(), opened.code());
  bytes_ = static_cast<size_t>(file.size());
  size_t width = dtype_size(dtype);
  if (bytes_ == 0 || bytes_ % width != 0) {
    fail(std::to_string(bytes_) + " bytes are no whole number of " + dtype_name(dtype) + " tokens",
         Code::kIo);
  }
  void* map = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file.fd(), 0);
  if (map == MAP_FAILED) fail(std::string("cannot be mapped: ") + std::strerror(errno), Code::kIo);
  // Windows are read in random order: read-ahead would load unneeded pages.
  madvise(map, bytes_, MADV_RANDOM);
  map_ = map;
  size_ = static_cast<int64_t>(bytes_ / width);
}

TokenFile::~TokenFile() { munmap(const_cast<void*>(map_), bytes_); }

void TokenFile::read(int64_t first, int64_t count, int64_t* to) const {
  if (first < 0 || count < 0 || first > size_ || count > size_ - first) {
    throw Error("[tokens] " + path_ + ": " + std::to_string(count) + " tokens from " +
                std::to_string(first) + " on: there are " + std::to_string(size_));
  }
  ReadScope time;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = dtype_ == DType::kU16 ? static_cast<const uint16_t*>(map_)[first + i]
                                  : static_cast<const uint32_t*>(map_)[first + i];
  }
  uint64_t bytes = static_cast<uint64_t>(count) * dtype_size(dtype_);
  time.add(bytes);
  uint64_t block = static_cast<uint64_t>(first) * dtype_size(dtype_) / kBlock;
  uint64_t last = (static_cast<uint64_t>(first) * dtype_size(dtype_) + bytes) / kBlock;
  if (block_.exchange(last) == last) return;  // neighbouring windows
  uint64_t mapped = (last - block + 1) * kBlock;
  if (touched_.fetch_add(mapped) + mapped > kKeep) {
    touched_ = 0;
    // Of a shared map of a file this drops pages, never content; other threads may be reading.
    madvise(const_cast<void*>(map_), bytes_, MADV_DONTNEED);
  }
}

TokenDataset::TokenDataset(std::shared_ptr<const TokenFile> file, int64_t context, int64_t stride,
                           int64_t vocabulary, Where where)
    : file_(std::move(file)),
      context_(context),
      stride_(stride == 0 ? context : stride),
      vocabulary_(vocabulary) {
  if (!file_) throw_error("tokens", "no file", where);
  if (context < 1 || stride_ < 1) {
    throw_error("tokens",
                "context " + std::to_string(context) + ", stride " + std::to_string(stride), where);
  }
  if (file_->size() <= context) {
    throw_error("tokens",
                file_->path() + " has " + std::to_string(file_->size()) +
                    " tokens, a window needs context + 1 = " + std::to_string(context + 1),
                where);
  }
  size_ = (file_->size() - context - 1) / stride_ + 1;
}

void TokenDataset::read(int64_t index, int64_t* window, int64_t* x, int64_t* y) const {
  check_index(index);
  file_->read(index * stride_, context_ + 1, window);
  for (int64_t i = 0; i <= context_ && vocabulary_ > 0; ++i) {
    if (window[i] >= vocabulary_) {
      throw Error("[tokens] item " + std::to_string(index) + ": " + file_->path() + ": token " +
                      std::to_string(window[i]) + " at " + std::to_string(index * stride_ + i) +
                      " is not in the vocabulary of " + std::to_string(vocabulary_),
                  Code::kIo);
    }
  }
  std::memcpy(x, window, static_cast<size_t>(context_) * sizeof(int64_t));
  std::memcpy(y, window + 1, static_cast<size_t>(context_) * sizeof(int64_t));
}

Batch TokenDataset::get_batch(Span<const int64_t> indices) const {
  auto rows = static_cast<int64_t>(indices.size());
  Tensor x = empty({rows, context_}, DType::kI64), y = empty({rows, context_}, DType::kI64);
  std::vector<int64_t> window(static_cast<size_t>(context_) + 1);
  for (int64_t row = 0; row < rows; ++row) {
    read(indices[static_cast<size_t>(row)], window.data(),
         static_cast<int64_t*>(x.raw().data) + row * context_,
         static_cast<int64_t*>(y.raw().data) + row * context_);
  }
  return {x, y};
}

Item TokenDataset::get(int64_t index) const {
  Batch batch = get_batch({&index, 1});
  return {batch[0].reshape({context_}), batch[1].reshape({context_})};
}

}  // namespace wick::data
