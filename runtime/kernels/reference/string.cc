// StringConcat and StringSplit.
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/strings.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

Result<StringRef> joined(const KernelCtx& ctx, const StringRef& a, const StringRef& b) {
  if (a.size == 0) return b;
  if (b.size == 0) return a;
  if (a.size > SIZE_MAX / 4 || b.size > SIZE_MAX / 4)
    return Status(Code::kBudgetExceeded, "a string of that size");
  WICK_ASSIGN(void* room, string_room(ctx, a.size + b.size));
  auto* to = static_cast<char*>(room);
  // if this copy is interrupted nobody reads it
  if (copy_bytes(to, a.data, a.size)) copy_bytes(to + a.size, b.data, b.size);
  return StringRef{to, a.size + b.size};
}

Status run_concat(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  Status status;
  ElementLoop<2> loop(out[0], in.data());
  const int64_t sx = loop.stride[0][loop.rank - 1], sy = loop.stride[1][loop.rank - 1];
  Poll poll;
  loop.rows(0, loop.total, [&](int64_t at, int64_t n, const int64_t* offset) {
    for (int64_t i = 0; i < n && status.ok() && !poll(16); ++i) {
      auto z = joined(ctx, in[0].as<StringRef>()[offset[0] + i * sx],
                      in[1].as<StringRef>()[offset[1] + i * sy]);
      if (z.ok())
        out[0].as<StringRef>()[at + i] = *z;
      else
        status = z.status();
    }
  });
  return status;
}

// Unicode's white space, as in Python's str.split.
bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

// Iterates over the pieces of one string, from left to right.
class Pieces {
 public:
  Pieces(const StringRef& text, const StringRef& delimiter, int64_t maxsplit, Poll& poll)
      : rest_(text), delimiter_(delimiter), splits_(maxsplit), poll_(poll) {
    if (delimiter.size == 0) trim();
  }

  bool next(StringRef* piece) {
    if (done_ || poll_(8)) return false;
    uint64_t end = rest_.size, skip = 0;
    if (splits_ != 0) find(&end, &skip);
    *piece = {rest_.data, end};
    done_ = skip == 0;
    if (done_) return true;
    rest_ = {rest_.data + end + skip, rest_.size - end - skip};
    if (splits_ > 0) --splits_;
    return true;
  }

 private:
  // Finds the end of the next piece and the length of the separator: 0 at the end of the string.
  void find(uint64_t* end, uint64_t* skip) const {
    if (delimiter_.size == 0) {
      uint64_t at = 0;
      auto word = [&] { return at < rest_.size && !poll_(4) && !space_at(at); };
      auto gap = [&] { return at < rest_.size && !poll_(4) && space_at(at); };
      while (word()) at += code_point(rest_.data + at, rest_.size - at).bytes;
      if (at == rest_.size) return;
      *end = at;
      while (gap()) at += code_point(rest_.data + at, rest_.size - at).bytes;
      *skip = at - *end;
      return;
    }
    for (uint64_t at = 0; at + delimiter_.size <= rest_.size; ++at) {
      if (poll_(8)) return;
      const void* first = memchr(rest_.data + at, delimiter_.data[0], rest_.size - at);
      if (first == nullptr) return;
      at = static_cast<uint64_t>(static_cast<const char*>(first) - rest_.data);
      if (at + delimiter_.size > rest_.size) return;
      if (memcmp(first, delimiter_.data, delimiter_.size) != 0) continue;
      *end = at;
      *skip = delimiter_.size;
      return;
    }
  }
  bool space_at(uint64_t at) const {
    return is_space(code_point(rest_.data + at, rest_.size - at).value);
  }
  // Removes white space at both ends; a string of nothing else becomes empty.
  void trim() {
    uint64_t first = rest_.size, last = 0;
    for (uint64_t at = 0; at < rest_.size && !poll_(4);) {
      const CodePoint c = code_point(rest_.data + at, rest_.size - at);
      if (!is_space(c.value)) {
        if (first > at) first = at;
        last = at + c.bytes;
      }
      at += c.bytes;
    }
    done_ = last == 0;
    rest_ = done_ ? StringRef{} : StringRef{rest_.data + first, last - first};
  }

  StringRef rest_, delimiter_;
  int64_t splits_;
  Poll& poll_;
  bool done_ = false;
};

// Two passes: the number of pieces, then the pieces, which are parts of the input strings.
Status run_split(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const int64_t maxsplit = static_cast<const StringSplitAttrs*>(attrs)->maxsplit;
  StringRef delimiter;
  if (in.size() > 1 && in[1].present()) delimiter = in[1].as<StringRef>()[0];
  const auto* x = in[0].as<StringRef>();
  const int64_t n = in[0].numel();
  int64_t most = 0;
  Poll poll;
  StringRef piece;
  for (int64_t i = 0; i < n && !poll(); ++i) {
    int64_t count = 0;
    for (Pieces p(x[i], delimiter, maxsplit, poll); p.next(&piece);) ++count;
    out[1].as<int64_t>()[i] = count;
    most = count > most ? count : most;
  }
  if (stopped()) return {};
  Shape shape = in[0].shape;
  shape.push_back(most);
  WICK_ASSIGN(size_t bytes, checked_bytes(shape, dtype_bits(DType::kString)));
  WICK_ASSIGN(void* room, string_room(ctx, bytes, alignof(StringRef)));
  auto* y = static_cast<StringRef*>(room);
  for (int64_t i = 0; i < n && !poll(); ++i) {
    Pieces p(x[i], delimiter, maxsplit, poll);
    for (int64_t k = 0; k < most && !poll(); ++k)
      y[i * most + k] = p.next(&piece) ? piece : StringRef();
  }
  out[0] = TensorView(room, DType::kString, shape);
  return {};
}

}  // namespace

WICK_REF_ROWS(StringConcat, {"string_concat.ref", kStridedInputs, match<StringRef>, nullptr,
                             nullptr, run_concat});
WICK_REF_ROWS(StringSplit,
              {"string_split.ref", kContiguous, match<StringRef>, nullptr, nullptr, run_split});
WICK_NO_CPU_ROWS(StringConcat);
WICK_NO_CPU_ROWS(StringSplit);

}  // namespace wick
