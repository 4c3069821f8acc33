#include <algorithm>
#include <cstring>

#include "runtime/backend/vulkan/ctx/arena.h"
#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/core/half.h"
#include "runtime/ops/rules/layout-inl.h"

namespace wick::vulkan {
namespace {

constexpr size_t kMostCopies = 4096;

// The range of elements that strided access touches.
struct Reach {
  int64_t first = 0, end = 0;
  uint64_t bytes(uint64_t size) const { return static_cast<uint64_t>(end - first) * size; }
};
Reach reach_of(int64_t offset, const Shape& dims, const Strides& strides) {
  Reach r{offset, offset + 1};
  for (int i = 0; i < dims.rank(); ++i) {
    const int64_t far = (dims[i] - 1) * strides[i];
    (far < 0 ? r.first : r.end) += far;
  }
  return r;
}

// Returns the bytes that a binding may access; a window begins at a multiple of kRegionAlignment.
uint64_t most_bytes(uint64_t range) {
  constexpr uint64_t kMost = static_cast<uint64_t>(kMaxElements) * 4;
  return (range < kMost ? range : kMost) - kRegionAlignment;
}

// Sets a window if the elements are beyond a shader's reach; returns the number of elements before
// it.
int64_t see(const Reach& r, uint64_t size, uint64_t range, Window& window) {
  if (static_cast<uint64_t>(r.end) * size <= most_bytes(range)) return 0;
  const uint64_t first = static_cast<uint64_t>(r.first) * size;
  window.offset = first - first % kRegionAlignment;
  window.bytes = static_cast<uint64_t>(r.end) * size - window.offset;
  return static_cast<int64_t>(window.offset / size);
}

// Copies `dims` elements of `bits` bits from input `input` to an output, both strided.
struct Ends {
  int bits = 32;
  int input = 0, output = 0;
  int64_t from_offset = 0, to_offset = 0;
  const Shape* whole = nullptr;  // shape of the output, if a part of an axis is copied
  int axis = 0;
  int64_t begin = 0;  // start of this part
};

struct Walk {
  Shape dims;
  Strides from, to;
};
// Merges neighbouring dims that both sides step through as one.
Walk merged(const Shape& dims, const Strides& from, const Strides& to) {
  Walk w;
  for (int i = 0; i < dims.rank(); ++i) {
    if (dims[i] == 1) continue;
    const int last = w.dims.rank() - 1;
    if (last >= 0 && w.from[last] == from[i] * dims[i] && w.to[last] == to[i] * dims[i]) {
      w.dims[last] *= dims[i];
      w.from[last] = from[i];
      w.to[last] = to[i];
      continue;
    }
    w.dims.push_back(dims[i]);
    w.from.push_back(from[i]);
    w.to.push_back(to[i]);
  }
  return w;
}

// Returns -1 if both ends can be accessed whole, else the dim with the longest reach.
int dim_to_cut(const Walk& w, const Reach& reads, const Reach& writes, uint64_t size,
               uint64_t range) {
  const uint64_t most = most_bytes(range);
  if (reads.bytes(size) <= most && writes.bytes(size) <= most) return -1;
  const Strides& strides = reads.bytes(size) > writes.bytes(size) ? w.from : w.to;
  int cut = 0;
  int64_t longest = -1;
  for (int i = 0; i < w.dims.rank(); ++i) {
    const int64_t far = (w.dims[i] - 1) * (strides[i] < 0 ? -strides[i] : strides[i]);
    if (w.dims[i] > 1 && far > longest) longest = far, cut = i;
  }
  return cut;
}

// If elements smaller than a word form runs of whole words on both sides, rewrites the copy in
// words and returns true.
bool as_words(Walk& w, Ends& ends) {
  const int last = w.dims.rank() - 1, per = ends.bits > 0 ? 32 / ends.bits : 0;
  if (per == 0 || last < 0 || w.from[last] != 1 || w.to[last] != 1) return false;
  bool whole = w.dims[last] % per == 0 && ends.from_offset % per == 0 && ends.to_offset % per == 0;
  for (int i = 0; i < last; ++i) whole = whole && w.from[i] % per == 0 && w.to[i] % per == 0;
  if (!whole) return false;
  w.dims[last] /= per;
  for (int i = 0; i < last; ++i) {
    w.from[i] /= per;
    w.to[i] /= per;
  }
  ends.from_offset /= per;
  ends.to_offset /= per;
  return true;
}

Status add_packed_copy(const Ends& ends, const Shape& dims, const Strides& from, Lowered& out) {
  const bool part = ends.whole != nullptr;
  const Shape& y = part ? *ends.whole : dims;
  const int64_t per = 32 / ends.bits;
  const Reach reads = reach_of(ends.from_offset, dims, from);
  const auto most = static_cast<int64_t>(most_bytes(out.range) / 4) * per;
  if (std::max(numel(y), reads.end) > std::min(most, kMaxElements))
    return unsupported("a tensor of less than words that is larger than a shader sees");
  Dispatch d = flat_dispatch(ShaderId::k_copy_packed, (numel(y) + per - 1) / per);
  add_spec(d, static_cast<uint32_t>(y.rank()));
  add_spec(d, static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(ends.bits))));
  add_spec(d, static_cast<uint32_t>(ends.axis));
  add_spec(d, part ? 1 : 0);
  add_push(d, numel(y));
  add_push(d, ends.from_offset);
  add_push(d, ends.begin);
  add_push(d, part ? ends.begin + dims[ends.axis] : int64_t{0});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < y.rank() ? y[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < y.rank() ? from[i] : int64_t{0});
  add_operand(d, ends.input);
  add_operand(d, out_operand(ends.output));
  return out.dispatches.push_back(d);
}

// Copies words or pairs of words, in parts if a shader cannot access both ends whole.
Status add_walk(const Ends& ends, const Walk& w, Lowered& out) {
  const uint64_t size = ends.bits == 64 ? 8 : 4;
  const Reach reads = reach_of(ends.from_offset, w.dims, w.from),
              writes = reach_of(ends.to_offset, w.dims, w.to);
  if (const int cut = dim_to_cut(w, reads, writes, size, out.range); cut >= 0) {
    if (out.dispatches.size() >= kMostCopies)
      return unsupported("a copy of tensors larger than a shader of this device sees");
    Walk front = w, back = w;
    front.dims[cut] = w.dims[cut] / 2;
    back.dims[cut] -= front.dims[cut];
    Ends behind = ends;
    behind.from_offset += front.dims[cut] * w.from[cut];
    behind.to_offset += front.dims[cut] * w.to[cut];
    WICK_TRY(add_walk(ends, front, out));
    return add_walk(behind, back, out);
  }
  const int64_t n = numel(w.dims);
  Dispatch d = flat_dispatch(size == 8 ? ShaderId::k_copy_64 : ShaderId::k_copy_32, n);
  const int64_t skipped[] = {see(reads, size, out.range, d.window[0]),
                             see(writes, size, out.range, d.window[1])};
  add_spec(d, static_cast<uint32_t>(w.dims.rank()));
  add_push(d, n);
  add_push(d, ends.from_offset - skipped[0]);
  add_push(d, ends.to_offset - skipped[1]);
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.dims.rank() ? w.dims[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.dims.rank() ? w.from[i] : int64_t{0});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.dims.rank() ? w.to[i] : int64_t{0});
  add_operand(d, ends.input);
  add_operand(d, out_operand(ends.output));
  return out.dispatches.push_back(d);
}

Status add_copy(Ends ends, const Shape& dims, const Strides& from, const Strides& to,
                Lowered& out) {
  const int64_t elements = numel(dims);
  if (elements == 0) return {};
  Walk w = merged(dims, from, to);
  if (ends.bits < 32 && !as_words(w, ends)) {
    if (ends.whole != nullptr) return add_packed_copy(ends, dims, from, out);
    return add_packed_copy(ends, w.dims, w.from, out);
  }
  return add_walk(ends, w, out);
}

Ends ends_of(const OpCall& call) {
  Ends ends;
  ends.bits = dtype_bits(call.in[0].dtype);
  return ends;
}

Status lower_transpose(const OpCall& call, Lowered& out) {
  const Shape& x = call.in[0].shape;
  const DimList& perm = static_cast<const TransposeAttrs*>(call.attrs)->perm;
  Strides own = contiguous_strides(x);
  Strides from;
  for (int i = 0; i < x.rank(); ++i) {
    int64_t source = perm.at_or(i, x.rank() - 1 - i);
    from.push_back(own[static_cast<int>(source)]);
  }
  const Shape& y = call.out[0].shape;
  return add_copy(ends_of(call), y, from, contiguous_strides(y), out);
}

Status lower_expand(const OpCall& call, Lowered& out) {
  const Shape& x = call.in[0].shape;
  const Shape& y = call.out[0].shape;
  Strides own = contiguous_strides(x);
  Strides from;
  int lead = y.rank() - x.rank();
  for (int i = 0; i < y.rank(); ++i)
    from.push_back(i < lead || x[i - lead] == 1 ? 0 : own[i - lead]);
  return add_copy(ends_of(call), y, from, contiguous_strides(y), out);
}

Status lower_concat(const OpCall& call, Lowered& out) {
  const Shape& y = call.out[0].shape;
  int64_t axis = static_cast<const AxisAttrs*>(call.attrs)->axis;
  if (axis < 0) axis += y.rank();
  Strides to = contiguous_strides(y);
  Ends ends = ends_of(call);
  ends.axis = static_cast<int>(axis);
  ends.whole = call.in.size() > 1 ? &y : nullptr;
  for (size_t i = 0; i < call.in.size(); ++i) {
    const Shape& x = call.in[i].shape;
    ends.input = static_cast<int>(i);
    ends.to_offset = ends.begin * to[ends.axis];
    WICK_TRY(add_copy(ends, x, contiguous_strides(x), to, out));
    ends.begin += x[ends.axis];
  }
  return {};
}

Status lower_split(const OpCall& call, Lowered& out) {
  const Shape& x = call.in[0].shape;
  int64_t axis = static_cast<const SplitAttrs*>(call.attrs)->axis;
  if (axis < 0) axis += x.rank();
  const Strides from = contiguous_strides(x);
  Ends ends = ends_of(call);
  for (size_t i = 0; i < call.out.size(); ++i) {
    const Shape& y = call.out[i].shape;
    ends.output = static_cast<int>(i);
    WICK_TRY(add_copy(ends, y, from, contiguous_strides(y), out));
    ends.from_offset += y[static_cast<int>(axis)] * from[static_cast<int>(axis)];
  }
  return {};
}

Status lower_slice(const OpCall& call, Lowered& out) {
  const SliceRanges& range = call.args->slice;
  const Shape &x = call.in[0].shape, &y = call.out[0].shape;
  Strides from = contiguous_strides(x);
  Ends walked = ends_of(call);
  for (int i = 0; i < x.rank(); ++i) {
    walked.from_offset += range.start[i] * from[i];
    from[i] *= range.step[i];
  }
  return add_copy(walked, y, from, contiguous_strides(y), out);
}

// Returns an attribute as an element.
Result<uint64_t> constant_bits(DType dtype, double v) {
  const auto integer = static_cast<uint64_t>(static_cast<int64_t>(v));
  const int bits = dtype_bits(dtype);
  switch (dtype) {
    case DType::kF32: return uint64_t{std::bit_cast<uint32_t>(static_cast<float>(v))};
    case DType::kF16: return uint64_t{Half(static_cast<float>(v)).bits};
    case DType::kBF16: return uint64_t{BFloat16(static_cast<float>(v)).bits};
    case DType::kF64: return std::bit_cast<uint64_t>(v);
    case DType::kBool: return uint64_t{v != 0 ? 1u : 0u};
    default: break;
  }
  if (v == 0) return uint64_t{0};
  if (!is_int(dtype)) return unsupported("no value of this dtype");
  return bits == 64 ? integer : integer & ((uint64_t{1} << bits) - 1);
}

Status lower_pad(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const PadAttrs*>(call.attrs);
  const Shape &x = call.in[0].shape, &y = call.out[0].shape;
  const DType dtype = call.in[0].dtype;
  uint64_t value = 0;
  if (call.in.size() > 2 && call.in[2].present() && call.in[2].numel() > 0) {
    if (call.in[2].data == nullptr) return unsupported("a value that only a run knows");
    memcpy(&value, call.in[2].data, call.in[2].nbytes() < 8 ? call.in[2].nbytes() : 8);
    if (dtype_bits(dtype) < 8) value &= (1u << dtype_bits(dtype)) - 1;
  } else {
    WICK_ASSIGN(value, constant_bits(dtype, a.value));
  }
  const int bits = dtype_bits(dtype);
  Dispatch d = flat_dispatch(bits == 64   ? ShaderId::k_pad_64
                             : bits == 32 ? ShaderId::k_pad_32
                                          : ShaderId::k_pad_packed,
                             words_of(dtype, call.out[0].numel()));
  add_spec(d, static_cast<uint32_t>(x.rank()));
  add_spec(d, static_cast<uint32_t>(a.mode));
  add_spec(d, log_bits(dtype));
  add_push(d, call.out[0].numel());
  add_push(d, static_cast<uint32_t>(value));
  add_push(d, static_cast<uint32_t>(value >> 32));
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < x.rank() ? y[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < x.rank() ? x[i] : int64_t{1});
  for (int64_t b : call.args->pad.before) add_push(d, b);
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

Status lower_view(const OpCall&, Lowered& out) {
  out.alias = true;
  return {};
}

Status lower_bit_cast(const OpCall& call, Lowered& out) {
  if (call.out[0].dtype == DType::kBool && call.in[0].dtype != DType::kBool)
    return Status(Code::kUnsupported, "bytes become bools on the CPU");
  return lower_view(call, out);
}

// A copy near the start of a tensor that no binding can access whole needs a window, too.
template <Status (*kCopy)(const OpCall&, Lowered&)>
Status in_windows(const OpCall& call, Lowered& out) {
  WICK_TRY(kCopy(call, out));
  for (Dispatch& d : out.dispatches) {
    for (uint32_t i = 0; i < d.operands; ++i) {
      const int k = d.operand[i];
      const TensorView& v =
          k >= 0 ? call.in[static_cast<size_t>(k)] : call.out[static_cast<size_t>(~int64_t{k})];
      if (d.window[i].bytes == 0 && v.nbytes() > out.range)
        d.window[i].bytes = most_bytes(out.range);
    }
  }
  return {};
}

constexpr VulkanRow moves(Status (*lower)(const OpCall&, Lowered&), uint32_t flags = 0) {
  return {.lower = lower, .types = {is_movable}, .flags = kMoves | kEmptyOutputs | kCopies | flags};
}

}  // namespace

WICK_VULKAN(Identity, moves(lower_view));
WICK_VULKAN(Reshape, moves(lower_view));
WICK_VULKAN(Flatten, moves(lower_view));
WICK_VULKAN(Squeeze, moves(lower_view));
WICK_VULKAN(Unsqueeze, moves(lower_view));
WICK_VULKAN(BitCast, moves(lower_bit_cast));
WICK_VULKAN(Transpose, moves(in_windows<lower_transpose>));
WICK_VULKAN(Expand, moves(in_windows<lower_expand>));
WICK_VULKAN(Concat, moves(in_windows<lower_concat>, kEmptyInputs));
WICK_VULKAN(Split, moves(in_windows<lower_split>, kSomeEmptyOutputs));
WICK_VULKAN(Slice, moves(in_windows<lower_slice>));
WICK_VULKAN(Pad, {.lower = lower_pad,
                  .types = {is_movable},
                  .flags = kMoves | kEmptyOutputs,
                  .host_inputs = inputs({2})});

}  // namespace wick::vulkan
