// Tensors in a file, to exchange between programs of two machines. Each is its dtype, its rank, its
// dims and the number of its bytes, 8 bytes little-endian each, then the bytes; a string is its
// length and its bytes. The runtime alone is enough to read and write them.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
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

inline void write_tensors(const std::string& path, Span<const TensorView> tensors) {
  std::ofstream out(path, std::ios::binary);
  const auto word = [&](uint64_t v) { out.write(reinterpret_cast<const char*>(&v), sizeof(v)); };
  for (const TensorView& t : tensors) {
    word(static_cast<uint64_t>(t.dtype));
    word(static_cast<uint64_t>(t.rank()));
    for (const int64_t d : t.shape) word(static_cast<uint64_t>(d));
    word(t.nbytes());
    if (t.dtype != DType::kString) {
      out.write(static_cast<const char*>(t.data), static_cast<std::streamsize>(t.nbytes()));
      continue;
    }
    for (int64_t i = 0; i < t.numel(); ++i) {
      const StringRef& s = t.as<StringRef>()[i];
      word(s.size);
      out.write(s.data, static_cast<std::streamsize>(s.size));
    }
  }
}

// The tensors of a file; they live as long as it does. `ok` is false where it is not whole.
class TensorFile {
 public:
  explicit TensorFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const auto word = [&] {
      uint64_t v = 0;
      in.read(reinterpret_cast<char*>(&v), sizeof(v));
      return v;
    };
    ok = in.good();
    while (ok && in.peek() != std::ifstream::traits_type::eof()) {
      const auto dtype = static_cast<DType>(word());
      Shape shape;
      for (uint64_t rank = word(); rank > 0 && in; --rank)
        shape.push_back(static_cast<int64_t>(word()));
      const uint64_t bytes = word();
      auto* data = static_cast<char*>(room(bytes));
      if (dtype == DType::kString) {
        for (uint64_t i = 0; i < bytes / sizeof(StringRef); ++i) {
          StringRef s;
          s.size = word();
          auto* text = static_cast<char*>(room(s.size));
          in.read(text, static_cast<std::streamsize>(s.size));
          s.data = text;
          memcpy(data + i * sizeof(s), &s, sizeof(s));
        }
      } else {
        in.read(data, static_cast<std::streamsize>(bytes));
      }
      tensors.emplace_back(data, dtype, shape);
      ok = in.good();
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
