// A sequence or an optional in one piece of memory: what a value of dtype kSequence, kOptional or
// kOptionalSequence holds, as a tensor of that many bytes. Nothing here allocates, and nothing is
// believed: a packed sequence may come from a caller or a file.
//
//   head   8 bytes each, little-endian: "WICKSEQ1", bytes of all, count, dtype + 256 * present
//   entry  one an element: offset, rank, 8 dims (0 behind the rank)
//   the elements' bytes, each at a multiple of 64 from the start; what lies between is 0
//
// An optional tensor has 0 or 1 elements; an optional sequence that is absent has none and
// `present` 0, which tells it from an empty one. Elements that are strings hold addresses, like a
// tensor of strings: they are good as long as what they point to.
#pragma once

#include <cstring>

#include "runtime/core/stop.h"
#include "runtime/core/tensor_view.h"

namespace wick {

class PackedSequence {
 public:
  PackedSequence() = default;
  // Checks every number of it.
  static Result<PackedSequence> open(const void* data, int64_t bytes);
  static Result<PackedSequence> open(const TensorView& v) {
    return open(v.data, static_cast<int64_t>(v.nbytes()));
  }

  bool present() const { return present_; }
  DType dtype() const { return dtype_; }  // of the elements
  int64_t count() const { return count_; }
  // Element i, which is in range, where it lies. Its address is 64-byte aligned where data is.
  TensorView at(int64_t i) const;

 private:
  const char* data_ = nullptr;
  int64_t count_ = 0;
  DType dtype_ = DType::kNone;
  bool present_ = false;
};

// The bytes that a packed sequence of `count` elements needs, by adding their shapes up.
class PackedSize {
 public:
  explicit PackedSize(int64_t count);
  Status add(DType dtype, const Shape& shape, int64_t times = 1);
  Result<int64_t> bytes() const;

 private:
  int64_t bytes_ = 0;
  bool fits_ = true;
};

// Fills memory of exactly the size above. add() is called once an element, with contiguous views or
// (add_space) with the place returned, to be written by the caller.
class PackedWriter {
 public:
  PackedWriter(void* data, int64_t bytes, DType dtype, int64_t count, bool present = true);
  void add(const TensorView& element);
  TensorView add_space(const Shape& shape);

 private:
  void word(int64_t at, int64_t value) { memcpy(data_ + 8 * at, &value, sizeof(value)); }
  char* data_;
  DType dtype_;
  int64_t next_ = 0;  // entry
  int64_t end_;       // of what is written
  Poll poll_;
};

// Position p of a sequence of n, counted from the end where negative. `behind`: n itself is
// allowed.
Result<int64_t> sequence_position(int64_t p, int64_t n, bool behind);

}  // namespace wick
