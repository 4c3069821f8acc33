#include "runtime/core/packed_sequence.h"

#include <cinttypes>

namespace wick {
namespace {

constexpr int64_t kMagic = 0x315145534B434957;  // "WICKSEQ1"
constexpr int64_t kHeadBytes = 32, kDims = 8, kEntryBytes = 8 * (2 + kDims), kAlign = 64;
// The limit for all elements together; with 32-bit addresses it is that of any tensor
// (checked_bytes).
constexpr int64_t kMostBytes = sizeof(size_t) < 8 ? int64_t{1} << 26 : INT64_MAX / 2;

int64_t load(const char* data, int64_t at) {
  int64_t value;
  memcpy(&value, data + at, sizeof(value));
  return value;
}

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

Status broken(const char* why) {
  return error(Code::kInvalidArgument, "not a packed sequence: %s", why);
}

}  // namespace

Result<PackedSequence> PackedSequence::open(const void* data, int64_t bytes) {
  const auto* p = static_cast<const char*>(data);
  if (p == nullptr || bytes < kHeadBytes || load(p, 0) != kMagic) return broken("it has no head");
  if (load(p, 8) != bytes) return broken("it is cut off, or longer than it says");
  PackedSequence s;
  s.data_ = p;
  s.count_ = load(p, 16);
  const int64_t type = load(p, 24) & 255, present = load(p, 24) >> 8;
  if (type < 1 || type >= kDTypeCount || present < 0 || present > 1)
    return broken("its elements have no dtype");
  s.dtype_ = static_cast<DType>(type);
  s.present_ = present == 1;
  if (s.count_ < 0 || s.count_ > (bytes - kHeadBytes) / kEntryBytes)
    return broken("it has no room for as many elements as it says");
  if (!s.present_ && s.count_ != 0) return broken("it is absent, but has elements");
  const int64_t begin = aligned(kHeadBytes + s.count_ * kEntryBytes);
  Poll poll;
  for (int64_t i = 0; i < s.count_; ++i) {
    if (poll(16)) return current_stop()->status();
    const int64_t entry = kHeadBytes + i * kEntryBytes, offset = load(p, entry),
                  rank = load(p, entry + 8);
    if (rank < 0 || rank > kMaxRank) return broken("an element's rank is not 0 to 8");
    Shape shape;
    for (int d = 0; d < kDims; ++d) {
      const int64_t extent = load(p, entry + 16 + 8 * d);
      if (d < rank)
        shape.push_back(extent);
      else if (extent != 0)
        return broken("an element has sizes behind its rank");
    }
    auto size = checked_bytes(shape, dtype_bits(s.dtype_));
    if (!size.ok()) return broken("an element's shape is not sound");
    if (offset < begin || offset % kAlign != 0 || offset > bytes ||
        *size > static_cast<size_t>(bytes - offset))
      return broken("an element lies outside of it");
  }
  return s;
}

TensorView PackedSequence::at(int64_t i) const {
  const int64_t entry = kHeadBytes + i * kEntryBytes;
  Shape shape;
  for (int d = 0, rank = static_cast<int>(load(data_, entry + 8)); d < rank; ++d)
    shape.push_back(load(data_, entry + 16 + 8 * d));
  return {const_cast<char*>(data_) + load(data_, entry), dtype_, shape};
}

PackedSize::PackedSize(int64_t count) {
  fits_ = count >= 0 && count < INT64_MAX / (4 * kEntryBytes);
  fits_ = fits_ && count <= kMostBytes / kEntryBytes - 2;
  if (fits_) bytes_ = aligned(kHeadBytes + count * kEntryBytes);
}

Status PackedSize::add(DType dtype, const Shape& shape, int64_t times) {
  WICK_ASSIGN(size_t bytes, checked_bytes(shape, dtype_bits(dtype)));
  int64_t all = 0;
  fits_ = fits_ && uint64_t{bytes} <= uint64_t{INT64_MAX / 4} &&
          !__builtin_mul_overflow(aligned(static_cast<int64_t>(bytes)), times, &all) &&
          !__builtin_add_overflow(bytes_, all, &all) && all <= kMostBytes;
  if (fits_) bytes_ = all;
  return {};
}

Result<int64_t> PackedSize::bytes() const {
  if (!fits_) return Status(Code::kBudgetExceeded, "the sequence does not fit into memory");
  return bytes_;
}

PackedWriter::PackedWriter(void* data, int64_t bytes, DType dtype, int64_t count, bool present)
    : data_(static_cast<char*>(data)),
      dtype_(dtype),
      end_(aligned(kHeadBytes + count * kEntryBytes)) {
  memset(data_, 0, static_cast<size_t>(end_));
  word(0, kMagic);
  word(1, bytes);
  word(2, count);
  word(3, static_cast<int64_t>(dtype) + (present ? 256 : 0));
}

TensorView PackedWriter::add_space(const Shape& shape) {
  TensorView v(data_ + end_, dtype_, shape);
  const int64_t entry = 4 + next_++ * (kEntryBytes / 8);
  word(entry, end_);
  word(entry + 1, shape.rank());
  for (int d = 0; d < shape.rank(); ++d) word(entry + 2 + d, shape[d]);
  const auto bytes = static_cast<int64_t>(v.nbytes());
  memset(data_ + end_ + bytes, 0, static_cast<size_t>(aligned(bytes) - bytes));
  end_ += aligned(bytes);
  return v;
}

void PackedWriter::add(const TensorView& element) {
  TensorView to = add_space(element.shape);
  if (!poll_(16)) copy_bytes(to.data, element.data, to.nbytes());
}

Result<int64_t> sequence_position(int64_t p, int64_t n, bool behind) {
  const int64_t at = p < 0 ? p + n : p;
  if (at >= 0 && (at < n || (behind && at == n))) return at;
  if (n == 0) return error(Code::kInvalidArgument, "position %" PRId64 " of an empty sequence", p);
  return error(Code::kInvalidArgument,
               "position %" PRId64 " of a sequence of %" PRId64 ": %" PRId64 " to %" PRId64
               " are allowed",
               p, n, -n, behind ? n : n - 1);
}

}  // namespace wick
