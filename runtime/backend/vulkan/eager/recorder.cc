#include "runtime/backend/vulkan/eager/recorder.h"

#include <bit>

#include "runtime/backend/vulkan/ctx/arena.h"
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/core/half.h"

namespace wick::vulkan {

// Dims of extent 1 are dropped, and neighbours that both views step through as one are merged.
struct Recorder::Walk {
  int rank = 0;
  int64_t dims[kMaxRank + 1] = {}, from[kMaxRank + 1] = {}, to[kMaxRank + 1] = {};
};
Recorder::Walk Recorder::walk_of(const TensorView& from, const TensorView& to) {
  Walk w;
  for (int i = 0; i < from.rank(); ++i) {
    const int64_t n = from.shape[i], a = from.strides[i], b = to.strides[i];
    if (n == 1) continue;
    const int last = w.rank - 1;
    if (last >= 0 && w.from[last] == a * n && w.to[last] == b * n) {
      w.dims[last] *= n;
      w.from[last] = a;
      w.to[last] = b;
      continue;
    }
    w.dims[w.rank] = n;
    w.from[w.rank] = a;
    w.to[w.rank++] = b;
  }
  return w;
}

namespace {

Touch touch(const VulkanOperand& o, bool write) {
  return {o.memory, o.offset, o.view.nbytes(), write};
}

// The whole memory, for shaders that compute element addresses themselves.
Touch whole(const VulkanOperand& o, bool write) { return {o.memory, 0, o.memory->bytes, write}; }

}  // namespace

Result<TensorId> Recorder::temporary(DType dtype, const Shape& shape) {
  VulkanOperand o;
  o.view = TensorView(nullptr, dtype, shape);
  WICK_TRY(temporaries_.reserve(temporaries_.size() + 1));
  WICK_ASSIGN(o.memory, pool_.take(o.view.nbytes()));
  WICK_TRY(temporaries_.push_back(o.memory));
  return add(o);
}

Result<TensorId> Recorder::constant(DType dtype, double value) {
  WICK_ASSIGN(TensorId id, temporary(dtype, Shape{}));
  if (dtype == DType::kF64) {
    WICK_TRY(queue_.stage(&value, touch(operands_[id], true)));
    return id;
  }
  const auto single = static_cast<float>(value);
  uint32_t word = std::bit_cast<uint32_t>(single);
  if (dtype == DType::kF16) word = Half(single).bits;
  if (dtype == DType::kBF16) word = BFloat16(single).bits;
  WICK_TRY(queue_.fill(touch(operands_[id], true), word));
  return id;
}

Result<TensorId> Recorder::bindable(const VulkanOperand& operand) {
  if (operand.memory == nullptr) return add(operand);
  if (operand.view.contiguous() && operand.offset % kRegionAlignment == 0) return add(operand);
  WICK_ASSIGN(TensorId id, temporary(operand.view.dtype, operand.view.shape));
  const VulkanOperand to = operands_[id];
  WICK_TRY(copy(operand, to));
  return id;
}

Status Recorder::call(OpId op, const void* attrs, Span<const TensorId> in,
                      Span<const TensorId> out) {
  TensorView views[kMost];
  if (in.size() + out.size() > kMost) return unsupported("too many inputs");
  for (size_t i = 0; i < in.size(); ++i) views[i] = operands_[in[i]].view;
  for (size_t i = 0; i < out.size(); ++i) views[in.size() + i] = operands_[out[i]].view;
  OpCall call;
  call.op = op;
  call.attrs = attrs;
  call.in = {views, in.size()};
  call.out = {views + in.size(), out.size()};
  const uint64_t range = context_.max_range();
  if (is_too_large(call, range)) {
    if (out.size() != 1) return unsupported("a large call of many outputs");
    return split(call, in, out[0], range, *this);
  }
  Lowered lowered(context_.allocator(), capabilities_of(context_.device().info()));
  lowered.range = range;
  WICK_TRY(lower(call, lowered));
  if (lowered.alias) {
    VulkanOperand from = operands_[in[0]];
    from.view = TensorView(nullptr, from.view.dtype, operands_[out[0]].view.shape);
    return queue_.copy(touch(from, false), touch(operands_[out[0]], true));
  }
  TensorId table = 0;
  if (!lowered.table.empty()) {
    WICK_ASSIGN(table, temporary(DType::kU32, {static_cast<int64_t>(lowered.table.size())}));
    WICK_TRY(queue_.stage(lowered.table.data(), touch(operands_[table], true)));
  }
  for (const Dispatch& d : lowered.dispatches) WICK_TRY(dispatch(d, in, out, table));
  return {};
}

Status Recorder::dispatch(const Dispatch& d, Span<const TensorId> in, Span<const TensorId> out,
                          TensorId table) {
  Touch touches[kMaxBindings];
  CallNote note = note_;
  for (uint32_t k = 0; k < d.operands; ++k) {
    const int operand = d.operand[k];
    if (operand == kFaultOperand) {
      note.fault_text = d.fault_text;
      continue;
    }
    const TensorId id = operand == kTableOperand ? table
                        : operand >= 0           ? in[static_cast<size_t>(operand)]
                                                 : out[static_cast<size_t>(~int64_t{operand})];
    if (operands_[id].memory == nullptr)
      return Status(Code::kInternal, "a shader would read or write what is not on the device");
    touches[k] = touch(operands_[id], operand < 0);
    if (d.window[k].bytes == 0) continue;
    touches[k].offset += d.window[k].offset;
    touches[k].bytes = d.window[k].bytes;
  }
  return queue_.dispatch(d, {touches, d.operands}, note);
}

Result<TensorId> Recorder::window(TensorId of, uint64_t at, const Shape& shape) {
  VulkanOperand o = operands_[of];
  auto* data = static_cast<std::byte*>(o.view.data);  // if it is known on the host
  o.offset += at;
  o.view = TensorView(data == nullptr ? nullptr : data + at, o.view.dtype, shape);
  return add(o);
}

Status Recorder::move(TensorId from, uint64_t from_at, TensorId to, uint64_t to_at,
                      uint64_t bytes) {
  Dispatch d;
  WICK_TRY(lower_move(from_at, to_at, bytes, d));
  return dispatch(d, {&from, 1}, {&to, 1}, 0);
}

Status Recorder::gather_small(const VulkanOperand& from, const Walk& w, const VulkanOperand& to) {
  const auto size = static_cast<int64_t>(dtype_size(from.view.dtype));
  const int64_t n = from.view.numel();
  Dispatch d = flat_dispatch(ShaderId::k_gather_small, (n * size + 3) / 4);
  add_spec(d, static_cast<uint32_t>(w.rank));
  add_spec(d, static_cast<uint32_t>(size));
  add_push(d, n);
  add_push(d, static_cast<int64_t>(from.offset) / size);
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.dims[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.from[i] : int64_t{0});
  d.operands = 2;
  const Touch touches[] = {whole(from, false), touch(to, true)};
  return queue_.dispatch(d, touches, note_);
}

Status Recorder::copy(const VulkanOperand& from, const VulkanOperand& to) {
  const int64_t n = from.view.numel();
  if (n == 0) return {};
  if (from.view.contiguous() && to.view.contiguous())
    return queue_.copy(touch(from, false), touch(to, true));
  auto size = static_cast<int64_t>(dtype_size(from.view.dtype));
  const uint64_t index = uint64_t{4} * kMaxElements, range = context_.max_range();
  const uint64_t most = range < index ? range : index;
  if (from.memory->bytes > most || to.memory->bytes > most)
    return unsupported("a view of more memory than a shader sees");
  Walk w = walk_of(from.view, to.view);
  if (w.rank > kMaxRank) return unsupported("too many dims that do not merge");
  if (size < 4) {
    if (!to.view.contiguous())
      return unsupported("no shader that writes elements of one or two bytes by strides");
    if (to.offset % kRegionAlignment == 0 && n * size % 4 == 0) return gather_small(from, w, to);
    // The shader fills whole words from an aligned offset; copies can start at any byte.
    WICK_ASSIGN(TensorId id, temporary(to.view.dtype, to.view.shape));
    const VulkanOperand piece = operands_[id];
    WICK_TRY(gather_small(from, w, piece));
    return queue_.copy(touch(piece, false), touch(to, true));
  }
  if (size > 8) return unsupported("no shader that moves elements of more than 8 bytes");
  const int64_t words = size / 4;  // of an element
  if (words > 1) {
    if (w.rank == kMaxRank) return unsupported("too many dims that do not merge");
    for (int i = 0; i < w.rank; ++i) {
      w.from[i] *= words;
      w.to[i] *= words;
    }
    w.dims[w.rank] = words;
    w.from[w.rank] = w.to[w.rank] = 1;
    ++w.rank;
  }
  Dispatch d = flat_dispatch(ShaderId::k_copy_32, n * words);
  add_spec(d, static_cast<uint32_t>(w.rank));
  add_push(d, n * words);
  add_push(d, static_cast<int64_t>(from.offset) / 4);
  add_push(d, static_cast<int64_t>(to.offset) / 4);
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.dims[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.from[i] : int64_t{0});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.to[i] : int64_t{0});
  d.operands = 2;
  const Touch touches[] = {whole(from, false), whole(to, true)};
  return queue_.dispatch(d, touches, note_);
}

}  // namespace wick::vulkan
