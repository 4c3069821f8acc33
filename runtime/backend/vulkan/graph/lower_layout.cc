#include <cstring>

#include "runtime/backend/vulkan/ctx/arena.h"
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/core/int_at.h"
#include "runtime/ops/rules/layout-inl.h"

namespace wick::vulkan {
namespace {

constexpr size_t kMostCopies = 4096;
constexpr uint64_t kCopied = 4;  // bytes an element

// The elements that a walk by strides touches.
struct Reach {
  int64_t first = 0, end = 0;
  uint64_t bytes() const { return static_cast<uint64_t>(end - first) * kCopied; }
};
Reach reach_of(int64_t offset, const Shape& dims, const Strides& strides) {
  Reach r{offset, offset + 1};
  for (int i = 0; i < dims.rank(); ++i) {
    const int64_t far = (dims[i] - 1) * strides[i];
    (far < 0 ? r.first : r.end) += far;
  }
  return r;
}

// Bytes that a binding may see of it; a window begins at a multiple of kRegionAlignment.
uint64_t most_bytes(uint64_t range) {
  constexpr uint64_t kMost = static_cast<uint64_t>(kMaxElements) * kCopied;
  return (range < kMost ? range : kMost) - kRegionAlignment;
}

// -1: both ends are seen whole. Else the dim that makes the longer way.
int dim_to_cut(const Reach& reads, const Reach& writes, const Shape& dims, const Strides& from,
               const Strides& to, uint64_t range) {
  const uint64_t most = most_bytes(range);
  if (reads.bytes() <= most && writes.bytes() <= most) return -1;
  const Strides& strides = reads.bytes() > writes.bytes() ? from : to;
  int cut = 0;
  int64_t longest = -1;
  for (int i = 0; i < dims.rank(); ++i) {
    const int64_t far = (dims[i] - 1) * (strides[i] < 0 ? -strides[i] : strides[i]);
    if (dims[i] > 1 && far > longest) longest = far, cut = i;
  }
  return cut;
}

// A window where the elements lie beyond what a shader sees; returns the elements before it.
int64_t see(const Reach& r, uint64_t range, Window& window) {
  if (static_cast<uint64_t>(r.end) * kCopied <= most_bytes(range)) return 0;
  const uint64_t first = static_cast<uint64_t>(r.first) * kCopied;
  window.offset = first - first % kRegionAlignment;
  window.bytes = static_cast<uint64_t>(r.end) * kCopied - window.offset;
  return static_cast<int64_t>(window.offset / kCopied);
}

// Copies `dims` elements from input `input` into an output, both walked by the given strides.
struct Ends {
  int input = 0, output = 0;
  int64_t from_offset = 0, to_offset = 0;
};
Status add_copy(const Ends& ends, const Shape& dims, const Strides& from, const Strides& to,
                Lowered& out) {
  int64_t n = numel(dims);
  if (n == 0) return {};
  const Reach reads = reach_of(ends.from_offset, dims, from),
              writes = reach_of(ends.to_offset, dims, to);
  if (const int cut = dim_to_cut(reads, writes, dims, from, to, out.range); cut >= 0) {
    if (out.dispatches.size() >= kMostCopies)
      return unsupported("a copy of tensors larger than a shader of this device sees");
    Shape front = dims, back = dims;
    front[cut] = dims[cut] / 2;
    back[cut] -= front[cut];
    Ends behind = ends;
    behind.from_offset += front[cut] * from[cut];
    behind.to_offset += front[cut] * to[cut];
    WICK_TRY(add_copy(ends, front, from, to, out));
    return add_copy(behind, back, from, to, out);
  }
  Dispatch d = flat_dispatch(ShaderId::k_copy_32, n);
  const int64_t skipped[] = {see(reads, out.range, d.window[0]),
                             see(writes, out.range, d.window[1])};
  add_spec(d, static_cast<uint32_t>(dims.rank()));
  add_push(d, n);
  add_push(d, ends.from_offset - skipped[0]);
  add_push(d, ends.to_offset - skipped[1]);
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < dims.rank() ? dims[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < dims.rank() ? from[i] : int64_t{0});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < dims.rank() ? to[i] : int64_t{0});
  add_operand(d, ends.input);
  add_operand(d, out_operand(ends.output));
  return out.dispatches.push_back(d);
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
  return add_copy({}, y, from, contiguous_strides(y), out);
}

Status lower_expand(const OpCall& call, Lowered& out) {
  const Shape& x = call.in[0].shape;
  const Shape& y = call.out[0].shape;
  Strides own = contiguous_strides(x);
  Strides from;
  int lead = y.rank() - x.rank();
  for (int i = 0; i < y.rank(); ++i)
    from.push_back(i < lead || x[i - lead] == 1 ? 0 : own[i - lead]);
  return add_copy({}, y, from, contiguous_strides(y), out);
}

Status lower_concat(const OpCall& call, Lowered& out) {
  const Shape& y = call.out[0].shape;
  int64_t axis = static_cast<const AxisAttrs*>(call.attrs)->axis;
  if (axis < 0) axis += y.rank();
  Strides to = contiguous_strides(y);
  int64_t offset = 0;
  for (size_t i = 0; i < call.in.size(); ++i) {
    const Shape& x = call.in[i].shape;
    WICK_TRY(add_copy({static_cast<int>(i), 0, 0, offset}, x, contiguous_strides(x), to, out));
    offset += x[static_cast<int>(axis)] * to[static_cast<int>(axis)];
  }
  return {};
}

Status lower_split(const OpCall& call, Lowered& out) {
  const Shape& x = call.in[0].shape;
  int64_t axis = static_cast<const SplitAttrs*>(call.attrs)->axis;
  if (axis < 0) axis += x.rank();
  const Strides from = contiguous_strides(x);
  int64_t offset = 0;
  for (size_t i = 0; i < call.out.size(); ++i) {
    const Shape& y = call.out[i].shape;
    WICK_TRY(add_copy({0, static_cast<int>(i), offset, 0}, y, from, contiguous_strides(y), out));
    offset += y[static_cast<int>(axis)] * from[static_cast<int>(axis)];
  }
  return {};
}

// Entry i of an optional input whose values are known, else of the attribute.
struct Numbers {
  const TensorView* input = nullptr;
  Span<const int64_t> attr;
  int64_t count() const {
    return input != nullptr ? input->numel() : static_cast<int64_t>(attr.size());
  }
  int64_t operator[](int64_t i) const {
    return input != nullptr ? int_at(*input, i) : attr[static_cast<size_t>(i)];
  }
};
Result<Numbers> numbers(const OpCall& call, size_t i, Span<const int64_t> attr) {
  if (i >= call.in.size() || !call.in[i].present()) return Numbers{nullptr, attr};
  if (call.in[i].data == nullptr) return unsupported("numbers that only a run knows");
  return Numbers{&call.in[i], attr};
}
int axis_at(const Numbers& axes, int64_t i, int rank) {
  if (axes.count() == 0) return static_cast<int>(i);
  return static_cast<int>(axes[i] < 0 ? axes[i] + rank : axes[i]);
}

Status lower_slice(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const SliceAttrs*>(call.attrs);
  WICK_ASSIGN(const Numbers starts, numbers(call, 1, a.starts.span()));
  WICK_ASSIGN(const Numbers ends, numbers(call, 2, a.ends.span()));
  WICK_ASSIGN(const Numbers axes, numbers(call, 3, a.axes.span()));
  WICK_ASSIGN(const Numbers steps, numbers(call, 4, a.steps.span()));
  const Shape &x = call.in[0].shape, &y = call.out[0].shape;
  Strides from = contiguous_strides(x);
  int64_t offset = 0;
  for (int64_t i = 0; i < starts.count(); ++i) {
    const int axis = axis_at(axes, i, x.rank());
    if (axis < 0 || axis >= x.rank()) return unsupported("an axis out of range");
    const auto r =
        rules::resolve_slice(x[axis], starts[i], ends[i], steps.count() > 0 ? steps[i] : 1);
    if (r.count != y[axis]) return unsupported("another size than its shape says");
    offset += r.start * from[axis];
    from[axis] *= r.step;
  }
  return add_copy({0, 0, offset, 0}, y, from, contiguous_strides(y), out);
}

Status lower_pad(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const PadAttrs*>(call.attrs);
  WICK_ASSIGN(const Numbers pads, numbers(call, 1, a.pads.span()));
  WICK_ASSIGN(const Numbers axes, numbers(call, 3, a.axes.span()));
  const Shape &x = call.in[0].shape, &y = call.out[0].shape;
  uint32_t value = 0;
  if (call.in.size() > 2 && call.in[2].present() && call.in[2].numel() > 0) {
    if (call.in[2].data == nullptr) return unsupported("a value that only a run knows");
    memcpy(&value, call.in[2].data, sizeof(value));
  } else if (call.in[0].dtype == DType::kF32) {
    value = std::bit_cast<uint32_t>(static_cast<float>(a.value));
  } else {
    value = static_cast<uint32_t>(static_cast<int64_t>(a.value));
  }
  int64_t before[kMaxRank] = {};
  const int64_t n = axes.count() > 0 ? axes.count() : x.rank();
  for (int64_t i = 0; i < n; ++i) {
    const int axis = axis_at(axes, i, x.rank());
    if (axis < 0 || axis >= x.rank()) return unsupported("an axis out of range");
    before[axis] = pads[i];
  }
  Dispatch d = flat_dispatch(ShaderId::k_pad_32, call.out[0].numel());
  add_spec(d, static_cast<uint32_t>(x.rank()));
  add_spec(d, static_cast<uint32_t>(a.mode));
  add_push(d, call.out[0].numel());
  add_push(d, value);
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < x.rank() ? y[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < x.rank() ? x[i] : int64_t{1});
  for (int64_t b : before) add_push(d, b);
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace

Status lower_layout(const OpCall& call, Lowered& out) {
  switch (call.op) {
    case OpId::kTranspose: WICK_TRY(lower_transpose(call, out)); break;
    case OpId::kExpand: WICK_TRY(lower_expand(call, out)); break;
    case OpId::kConcat: WICK_TRY(lower_concat(call, out)); break;
    case OpId::kSplit: WICK_TRY(lower_split(call, out)); break;
    case OpId::kSlice: WICK_TRY(lower_slice(call, out)); break;
    case OpId::kPad: return lower_pad(call, out);
    default: out.alias = true; return {};
  }
  // A copy near the beginning of a tensor that no binding sees whole.
  for (Dispatch& d : out.dispatches) {
    for (uint32_t i = 0; i < d.operands; ++i) {
      const int k = d.operand[i];
      const TensorView& v =
          k >= 0 ? call.in[static_cast<size_t>(k)] : call.out[static_cast<size_t>(~k)];
      if (d.window[i].bytes == 0 && v.nbytes() > out.range)
        d.window[i].bytes = most_bytes(out.range);
    }
  }
  return {};
}

}  // namespace wick::vulkan
