// A sequence or an optional packed into one block of memory: the value of dtype kSequence,
// kOptional or kOptionalSequence, a tensor of that many bytes. Nothing here allocates, and every
// number is checked, because a packed sequence may come from a caller or a file.
//
//   head   8 bytes each, little-endian: "WICKSEQ1", total bytes, count, dtype + 256 * present
//   entry  one per element: offset, rank, 8 dims (0 beyond the rank)
//   the elements' bytes, each at a multiple of 64 from the start; gaps are filled with 0
//
// An optional tensor has 0 or 1 elements. An absent optional sequence has no elements and `present`
// 0, which distinguishes it from an empty one. Elements that are strings hold addresses, as in a
// string tensor: they are valid as long as the strings they point to.
#pragma once

#include <cstring>

#include "runtime/core/stop.h"
#include "runtime/core/tensor_view.h"

namespace wick {

// A packed value, read in place.
class PackedSequence {
 public:
  PackedSequence() = default;
  // Checks every number of the packed data.
  static Result<PackedSequence> open(const void* data, int64_t bytes);
  static Result<PackedSequence> open(const TensorView& v) {
    return open(v.data, static_cast<int64_t>(v.nbytes()));
  }

  // Return whether there is a value (false: an absent optional), and the number of its elements.
  bool present() const { return present_; }
  DType dtype() const { return dtype_; }  // dtype of the elements
  int64_t count() const { return count_; }
  // Returns element i, which must be in range, as a view of the packed data. Its address is 64-byte
  // aligned where data is.
  TensorView at(int64_t i) const;

 private:
  const char* data_ = nullptr;
  int64_t count_ = 0;
  DType dtype_ = DType::kNone;
  bool present_ = false;
};

// Computes the bytes that a packed sequence of `count` elements needs, from their shapes.
class PackedSize {
 public:
  explicit PackedSize(int64_t count);
  // Counts `times` elements of this dtype and shape. Fails where the bytes exceed int64.
  Status add(DType dtype, const Shape& shape, int64_t times = 1);
  // Returns the bytes of the packed value.
  Result<int64_t> bytes() const;

 private:
  int64_t bytes_ = 0;
  bool fits_ = true;
};

// Fills a buffer of exactly that size. Call once per element either add() with a contiguous view,
// or add_space(), which returns the place where the caller writes the element.
class PackedWriter {
 public:
  PackedWriter(void* data, int64_t bytes, DType dtype, int64_t count, bool present = true);
  void add(const TensorView& element);
  TensorView add_space(const Shape& shape);

 private:
  void word(int64_t at, int64_t value) { memcpy(data_ + 8 * at, &value, sizeof(value)); }
  char* data_;
  DType dtype_;
  int64_t next_ = 0;  // index of the next entry
  int64_t end_;       // offset after the bytes written so far
  Poll poll_;
};

// Normalises position p in a sequence of n; a negative one counts from the end. `behind`: n itself
// is allowed too.
Result<int64_t> sequence_position(int64_t p, int64_t n, bool behind);

}  // namespace wick
