// Tensors in a file, to exchange between programs of two machines. Each is its dtype, its rank, its
// dims and the number of its bytes, 8 bytes little-endian each, then the bytes; a string is its
// length and its bytes. The runtime alone is enough to read and write them.
#pragma once

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/allocator.h"
#include "wick/runtime.h"

namespace wick::test {

// A packed sequence of strings holds addresses, and those stay on their machine.
inline bool fits_a_file(const TensorView& t) {
  if (!is_container(t.dtype)) return true;
  auto packed = PackedSequence::open(t);
  return packed.ok() && packed->dtype() != DType::kString;
}

// Files of C: WebAssembly's library has no streams of C++.
using File = std::unique_ptr<FILE, int (*)(FILE*)>;
inline File open_file(const std::string& path, const char* mode) {
  return {std::fopen(path.c_str(), mode), [](FILE* f) { return std::fclose(f); }};
}

inline bool write_tensors(const std::string& path, Span<const TensorView> tensors) {
  const File out = open_file(path, "wb");
  if (out == nullptr) return false;
  const auto write = [&](const void* from, uint64_t bytes) {
    std::fwrite(from, 1, static_cast<size_t>(bytes), out.get());
  };
  const auto word = [&](uint64_t v) { write(&v, sizeof(v)); };
  for (const TensorView& t : tensors) {
    word(static_cast<uint64_t>(t.dtype));
    word(static_cast<uint64_t>(t.rank()));
    for (const int64_t d : t.shape) word(static_cast<uint64_t>(d));
    word(t.nbytes());
    if (t.dtype != DType::kString) {
      write(t.data, t.nbytes());
      continue;
    }
    for (int64_t i = 0; i < t.numel(); ++i) {
      const StringRef& s = t.as<StringRef>()[i];
      word(s.size);
      write(s.data, s.size);
    }
  }
  return std::fflush(out.get()) == 0 && std::ferror(out.get()) == 0;
}

// The tensors of a file; they live as long as it does. `ok` is false where it is not whole.
class TensorFile {
 public:
  explicit TensorFile(const std::string& path) {
    const File in = open_file(path, "rb");
    ok = in != nullptr;
    const auto read = [&](void* to, uint64_t bytes) {
      ok = ok && std::fread(to, 1, static_cast<size_t>(bytes), in.get()) == bytes;
    };
    const auto word = [&] {
      uint64_t v = 0;
      read(&v, sizeof(v));
      return v;
    };
    const auto at_end = [&] {
      const int next = std::fgetc(in.get());
      return next == EOF || std::ungetc(next, in.get()) == EOF;
    };
    while (ok && !at_end()) {
      const auto dtype = static_cast<DType>(word());
      Shape shape;
      for (uint64_t rank = word(); rank > 0 && ok; --rank)
        shape.push_back(static_cast<int64_t>(word()));
      const uint64_t bytes = word();
      auto* data = static_cast<char*>(room(bytes));
      if (dtype == DType::kString) {
        for (uint64_t i = 0; i < bytes / sizeof(StringRef); ++i) {
          StringRef s;
          s.size = word();
          auto* text = static_cast<char*>(room(s.size));
          read(text, s.size);
          s.data = text;
          memcpy(data + i * sizeof(s), &s, sizeof(s));
        }
      } else {
        read(data, bytes);
      }
      tensors.emplace_back(data, dtype, shape);
    }
  }
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;
  ~TensorFile() {
    for (const auto& [data, bytes] : rooms_)
      default_allocator().deallocate(data, bytes, kAlignment);
  }

  std::vector<TensorView> tensors;
  bool ok = false;

 private:
  void* room(uint64_t bytes) {
    const size_t padded =
        (static_cast<size_t>(bytes) + kAlignment) / kAlignment * kAlignment;  // never 0
    void* data = default_allocator().allocate(padded, kAlignment);
    rooms_.emplace_back(data, padded);
    return data;
  }
  std::vector<std::pair<void*, size_t>> rooms_;
};

}  // namespace wick::test
