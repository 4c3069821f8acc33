// Building and planning a graph; recording and running it is in record.cc.
#include "runtime/backend/vulkan/graph/graph.h"

#include <cstring>

namespace wick::vulkan {

VulkanGraph::VulkanGraph(Context& context, Allocator& allocator)
    : context_(context),
      allocator_(allocator),
      tensors_(allocator),
      nodes_(allocator),
      inputs_(allocator),
      outputs_(allocator),
      sets_(allocator),
      upload_offsets_(allocator),
      readback_offsets_(allocator),
      timer_(allocator) {}

Result<TensorId> VulkanGraph::add_tensor(DType dtype, const Shape& shape, Role role,
                                         const void* data) {
  WICK_ASSIGN(size_t bytes, checked_bytes(shape, dtype_bits(dtype)));
  if (bytes > context_.device().info().limits.maxStorageBufferRange) {
    return error(Code::kUnsupported,
                 "a tensor of %zu bytes is more than a shader of this device sees", bytes);
  }
  if (ready_) return Status(Code::kInternal, "the graph is finished");
  Tensor t;
  t.dtype = dtype;
  t.shape = shape;
  t.role = role;
  t.root = static_cast<TensorId>(tensors_.size());
  t.data = data;
  t.bytes = bytes;
  WICK_TRY(tensors_.push_back(t));
  return t.root;
}

Result<TensorId> VulkanGraph::add_input(DType dtype, const Shape& shape) {
  WICK_TRY(inputs_.reserve(inputs_.size() + 1));
  WICK_ASSIGN(TensorId id, add_tensor(dtype, shape, Role::kInput, nullptr));
  WICK_TRY(inputs_.push_back(id));
  return id;
}

Result<TensorId> VulkanGraph::add_constant(DType dtype, const Shape& shape, const void* data) {
  return add_tensor(dtype, shape, Role::kConstant, data);
}

Result<TensorId> VulkanGraph::add_temporary(DType dtype, const Shape& shape) {
  return add_tensor(dtype, shape, Role::kTemporary, nullptr);
}

TensorView VulkanGraph::view_of(TensorId id) const {
  if (id == kNoTensor) return {};
  const Tensor& t = tensors_[id];
  return TensorView(const_cast<void*>(t.data), t.dtype, t.shape);
}

Status VulkanGraph::add_call(OpId op, const void* attrs, Span<const TensorId> in,
                             Span<const TensorId> out, Span<const TensorView> known) {
  Array<TensorView> views(allocator_);
  WICK_TRY(views.reserve(in.size() + out.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    const bool seen = in[i] != kNoTensor || i >= known.size();
    WICK_TRY(views.push_back(seen ? view_of(in[i]) : known[i]));
  }
  for (TensorId id : out) WICK_TRY(views.push_back(view_of(id)));
  OpCall call;
  call.op = op;
  call.attrs = attrs;
  call.in = {views.data(), in.size()};
  call.out = {views.data() + in.size(), out.size()};
  Lowered lowered(allocator_);
  WICK_TRY(lower(call, lowered));
  if (lowered.alias) {
    tensors_[out[0]].root = tensors_[in[0]].root;
    return {};
  }
  WICK_TRY(nodes_.reserve(nodes_.size() + lowered.dispatches.size()));
  for (const Dispatch& d : lowered.dispatches) {
    Node node;
    node.dispatch = d;
    for (uint32_t i = 0; i < d.operands; ++i) {
      const int operand = d.operand[i], output = ~operand;
      if (operand == kFaultOperand) {
        if (fault_ == kNoTensor) {
          WICK_ASSIGN(fault_, add_temporary(DType::kU32, Shape{}));
        }
        node.tensor[i] = fault_;
        node.dispatch.push[d.fault_push] = static_cast<uint32_t>(nodes_.size() + 1);
        continue;
      }
      node.tensor[i] =
          operand >= 0 ? in[static_cast<size_t>(operand)] : out[static_cast<size_t>(output)];
    }
    WICK_TRY(nodes_.push_back(node));
  }
  return {};
}

Status VulkanGraph::add_output(TensorId id) {
  tensors_[id].is_output = true;
  return outputs_.push_back(id);
}

VulkanGraph::Traffic VulkanGraph::traffic(size_t i) const {
  Traffic t;
  const Node& node = nodes_[i];
  for (uint32_t k = 0; k < node.dispatch.operands; ++k) {
    bool counted = false;
    for (uint32_t j = 0; j < k; ++j) counted = counted || node.tensor[j] == node.tensor[k];
    if (counted) continue;
    (node.dispatch.operand[k] < 0 ? t.written : t.read) += tensors_[node.tensor[k]].bytes;
  }
  return t;
}

Status VulkanGraph::finish() {
  if (ready_) return Status(Code::kInternal, "the graph is finished");
  if (fault_ != kNoTensor) WICK_TRY(add_output(fault_));
  WICK_TRY(plan_memory());
  WICK_TRY(create_buffers());
  WICK_TRY(upload_constants());
  WICK_TRY(write_descriptors());
  WICK_TRY(record());
  ready_ = true;
  return {};
}

Status VulkanGraph::plan_memory() {
  // Lives are kept at the roots. An input is there from the start, an output to the end.
  int64_t end = static_cast<int64_t>(nodes_.size());
  for (Tensor& t : tensors_) {
    Tensor& root = tensors_[t.root];
    if (&t == &root) t.first = t.role == Role::kInput ? -1 : end;
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    int64_t at = static_cast<int64_t>(i);
    for (uint32_t k = 0; k < nodes_[i].dispatch.operands; ++k) {
      Tensor& root = tensors_[tensors_[nodes_[i].tensor[k]].root];
      if (at < root.first) root.first = at;
      if (at > root.last) root.last = at;
    }
  }
  for (TensorId id : outputs_) tensors_[tensors_[id].root].last = end;
  if (fault_ != kNoTensor) tensors_[fault_].first = -1;  // cleared before all of them

  Array<ArenaItem> items(allocator_);
  Array<TensorId> owners(allocator_);
  constant_need_ = 0;
  for (TensorId id = 0; id < tensors_.size(); ++id) {
    Tensor& t = tensors_[id];
    if (t.root != id) continue;
    if (t.role == Role::kConstant) {
      t.offset = constant_need_;
      constant_need_ += (t.bytes + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
      continue;
    }
    if (t.last < t.first) t.last = t.first;  // unused
    WICK_TRY(items.push_back({t.bytes, t.first, t.last, 0}));
    WICK_TRY(owners.push_back(id));
  }
  WICK_ASSIGN(arena_need_, plan_arena(items));
  for (size_t i = 0; i < items.size(); ++i) tensors_[owners[i]].offset = items[i].offset;
  return {};
}

Status VulkanGraph::create_buffers() {
  const Device& device = context_.device();
  MemoryKind kind = context_.unified() ? MemoryKind::kUnified : MemoryKind::kDevice;
  WICK_TRY(annotate(constants_.create(device, constant_need_, kind), "weights: "));
  WICK_TRY(annotate(arena_.create(device, arena_need_, kind), "activations: "));
  if (context_.unified()) return {};
  auto lay_out = [&](const Array<TensorId>& ids, Array<uint64_t>& offsets) -> Result<uint64_t> {
    uint64_t total = 0;
    for (TensorId id : ids) {
      WICK_TRY(offsets.push_back(total));
      total += (tensors_[id].bytes + 63) / 64 * 64;
    }
    return total;
  };
  WICK_ASSIGN(uint64_t in_bytes, lay_out(inputs_, upload_offsets_));
  WICK_ASSIGN(uint64_t out_bytes, lay_out(outputs_, readback_offsets_));
  WICK_TRY(annotate(upload_.create(device, in_bytes, MemoryKind::kUpload), "inputs: "));
  return annotate(readback_.create(device, out_bytes, MemoryKind::kReadback), "outputs: ");
}

Status VulkanGraph::upload_constants() {
  Array<Context::Upload> pieces(allocator_);
  for (TensorId id = 0; id < tensors_.size(); ++id) {
    const Tensor& t = tensors_[id];
    if (t.role != Role::kConstant || t.root != id || t.bytes == 0) continue;
    if (constants_.mapped() != nullptr) {
      memcpy(constants_.mapped() + t.offset, t.data, t.bytes);
    } else {
      WICK_TRY(pieces.push_back({t.data, t.offset, t.bytes}));
    }
  }
  return context_.upload(pieces, constants_);
}

}  // namespace wick::vulkan
