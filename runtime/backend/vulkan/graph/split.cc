#include "runtime/backend/vulkan/graph/split.h"

#include <numeric>

#include "runtime/backend/vulkan/ctx/arena.h"
#include "runtime/backend/vulkan/graph/cuts.h"
#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {
namespace {

constexpr int64_t kMostParts = 1024;  // with more the CPU is faster

// A part has single steps of the cuts before `level`, `chunk` steps of that one, and all steps of
// later cuts.
struct Blocks {
  int level = 0;
  int64_t chunk = 1;
};

class Splitter {
 public:
  Splitter(const OpCall& call, Span<const TensorId> in, TensorId out, uint64_t range, Parts& parts)
      : call_(call),
        in_(in),
        out_(out),
        // A window is extended to the alignment boundary before its first byte.
        range_(range > 2 * kRegionAlignment ? range - kRegionAlignment : range),
        parts_(parts) {}

  Status run() {
    WICK_TRY(cuts_of(call_, cuts_));
    WICK_TRY(choose());
    int64_t at[kMaxRank] = {};
    const Cut& cut = cuts_.cut[blocks_.level];
    for (;;) {
      for (int64_t first = 0; first < cut.extent; first += blocks_.chunk) {
        at[blocks_.level] = first;
        WICK_TRY(part(at, std::min(blocks_.chunk, cut.extent - first)));
      }
      int d = blocks_.level - 1;
      while (d >= 0 && ++at[d] == cuts_.cut[d].extent) at[d--] = 0;
      if (d < 0) return {};
    }
  }

 private:
  // Returns operand k's shape in a part of n steps at the chosen level.
  Shape shape_of(int k, int level, int64_t n) const {
    Shape s = cuts_.operand[k].shape;
    for (int d = 0; d <= level; ++d) {
      const Cut& cut = cuts_.cut[d];
      if (cut.dim[k] >= 0) s[cut.dim[k]] = cut.unit[k] * (d < level ? 1 : n);
    }
    return s;
  }
  bool fits(int level, int64_t n) const {
    for (int k = 0; k < cuts_.operands; ++k) {
      if (!cuts_.operand[k].seen) continue;
      const int64_t elements = numel(shape_of(k, level, n));
      if (elements > kMaxElements || bytes_of(k, elements) > range_) return false;
    }
    return true;
  }
  uint64_t bits_of(int k, int64_t elements) const {
    return static_cast<uint64_t>(elements) * cuts_.operand[k].element_bits;
  }
  uint64_t bytes_of(int k, int64_t elements) const { return (bits_of(k, elements) + 7) / 8; }
  int64_t element_stride(int k, int dim) const {
    return contiguous_strides(cuts_.operand[k].shape)[dim];
  }

  // Chooses the largest parts that fit, with a size that keeps windows aligned if possible.
  Status choose() {
    int level = 0;
    while (level < cuts_.count && !fits(level, 1)) ++level;
    if (level == cuts_.count)
      return unsupported("a tensor larger than a shader of this device sees cannot be cut here");
    int64_t low = 1, high = cuts_.cut[level].extent;
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (fits(level, middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    int64_t multiple = 1;
    const Cut& cut = cuts_.cut[level];
    for (int k = 0; k < cuts_.operands; ++k) {
      if (!cuts_.operand[k].seen || cut.dim[k] < 0) continue;
      const int64_t step = cut.unit[k] * element_stride(k, cut.dim[k]) *
                           static_cast<int64_t>(cuts_.operand[k].element_bits);
      const auto alignment = static_cast<int64_t>(kRegionAlignment * 8);
      multiple = std::max(multiple, alignment / std::gcd(alignment, step));
    }
    if (multiple <= low) low -= low % multiple;
    int64_t parts = (cut.extent + low - 1) / low;
    for (int d = 0; d < level && parts <= kMostParts; ++d) parts *= cuts_.cut[d].extent;
    if (parts > kMostParts)
      return unsupported("a tensor larger than a shader of this device sees, in too many parts");
    blocks_ = {level, low};
    return {};
  }

  int64_t first_of(int k, const int64_t* at) const {
    int64_t first = 0;
    for (int d = 0; d <= blocks_.level; ++d) {
      const Cut& cut = cuts_.cut[d];
      if (cut.dim[k] >= 0) first += at[d] * cut.unit[k] * element_stride(k, cut.dim[k]);
    }
    return first;
  }

  Status part(const int64_t* at, int64_t n) {
    TensorId ids[kMostOperands];
    const int out = cuts_.operands - 1;
    for (int k = 0; k < out; ++k) {
      ids[k] = in_[static_cast<size_t>(k)];
      if (!cuts_.operand[k].seen) continue;
      WICK_ASSIGN(ids[k], operand(k, ids[k], at, n, true));
    }
    WICK_ASSIGN(ids[out], operand(out, out_, at, n, false));
    FusedConvAttrs conv;
    WICK_TRY(parts_.part(call_.op, attrs_of(n, conv), {ids, static_cast<size_t>(out)},
                         {ids + out, 1}, call_.in));
    const int64_t first = first_of(out, at);
    if (aligned(out, first)) return {};
    WICK_TRY(begins_at_a_word(out, first));
    return parts_.move(ids[out], 0, out_, bytes_of(out, first), bytes_in(out, first, n));
  }
  // A tensor has memory for all of its last word.
  uint64_t bytes_in(int k, int64_t first, int64_t n) const {
    const int64_t elements = numel(shape_of(k, blocks_.level, n));
    const bool last = first + elements == numel(cuts_.operand[k].shape);
    return last ? (bytes_of(k, elements) + 3) / 4 * 4 : bytes_of(k, elements);
  }
  Status begins_at_a_word(int k, int64_t first) const {
    return bits_of(k, first) % 32 == 0
               ? Status()
               : unsupported("a part of a tensor that does not begin at a word");
  }

  bool aligned(int k, int64_t first) const {
    return bits_of(k, first) % (kRegionAlignment * 8) == 0;
  }
  // A part at an offset that descriptors cannot have is copied to or from a temporary.
  Result<TensorId> operand(int k, TensorId whole, const int64_t* at, int64_t n, bool read) {
    const Shape shape = shape_of(k, blocks_.level, n);
    const int64_t first = first_of(k, at);
    if (aligned(k, first)) return parts_.window(whole, bytes_of(k, first), shape);
    const size_t input = static_cast<size_t>(k);
    WICK_ASSIGN(TensorId made,
                parts_.part_temporary(read ? call_.in[input].dtype : call_.out[0].dtype, shape));
    WICK_TRY(begins_at_a_word(k, first));
    if (read) WICK_TRY(parts_.move(whole, bytes_of(k, first), made, 0, bytes_in(k, first, n)));
    return made;
  }

  const void* attrs_of(int64_t n, FusedConvAttrs& room) const {
    if (!cuts_.by_groups || blocks_.level + 1 != cuts_.count) return call_.attrs;
    if (call_.op == OpId::kConv) {
      room.conv = *static_cast<const ConvAttrs*>(call_.attrs);
      room.conv.group = n;
      return &room.conv;
    }
    room = *static_cast<const FusedConvAttrs*>(call_.attrs);
    room.conv.group = n;
    return &room;
  }

  const OpCall& call_;
  Span<const TensorId> in_;
  TensorId out_;
  uint64_t range_;
  Parts& parts_;
  Cuts cuts_;
  Blocks blocks_;
};

}  // namespace

bool is_too_large(const OpCall& call, uint64_t range) {
  if (is_copied(call.op)) return false;
  auto large = [&](const TensorView& v) {
    return v.present() && (v.nbytes() > range || v.numel() > kMaxElements);
  };
  bool empty = true, out = false;
  for (const TensorView& v : call.out) {
    empty = empty && v.numel() == 0;
    out = out || large(v);
  }
  if (empty) return false;  // nothing is run
  for (size_t i = 0; i < call.in.size(); ++i) {
    if (reads_input(call.op, i) && large(call.in[i])) return true;
  }
  return out;
}

Status split(const OpCall& call, Span<const TensorId> in, TensorId out, uint64_t range,
             Parts& parts) {
  return Splitter(call, in, out, range, parts).run();
}

Status lower_move(uint64_t from_byte, uint64_t to_byte, uint64_t bytes, Dispatch& d) {
  if (from_byte % 4 != 0 || to_byte % 4 != 0 || bytes % 4 != 0)
    return unsupported("a part of a tensor that does not begin at a word");
  const auto words = static_cast<int64_t>(bytes / 4);
  d = flat_dispatch(ShaderId::k_copy_32, words);
  add_spec(d, 1);
  add_push(d, words);
  const uint64_t ends[] = {from_byte, to_byte};
  for (int i = 0; i < 2; ++i) {
    const uint64_t inside = ends[i] % kRegionAlignment;
    add_push(d, static_cast<int64_t>(inside / 4));
    d.window[i] = {ends[i] - inside, inside + bytes};
  }
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i == 0 ? words : int64_t{1});
  for (int i = 0; i < 2 * kMaxRank; ++i) add_push(d, i % kMaxRank == 0 ? int64_t{1} : int64_t{0});
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return {};
}

}  // namespace wick::vulkan
