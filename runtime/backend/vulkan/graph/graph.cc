// Building and planning a graph; recording and running it is in record.cc.
#include "runtime/backend/vulkan/graph/graph.h"

#include <cstring>

#include "runtime/backend/vulkan/offload.h"

namespace wick::vulkan {

namespace {
constexpr uint64_t kFlopsPerByte = 4;  // that take about the same time
}  // namespace

VulkanGraph::VulkanGraph(Context& context, Allocator& allocator)
    : context_(context),
      allocator_(allocator),
      tensors_(allocator),
      nodes_(allocator),
      inputs_(allocator),
      outputs_(allocator),
      tables_(allocator),
      sets_(allocator),
      hold_(allocator),
      arena_(allocator),
      upload_(allocator),
      readback_(allocator),
      upload_offsets_(allocator),
      readback_offsets_(allocator),
      from_(allocator),
      to_(allocator),
      commands_(allocator),
      timer_(allocator) {}

VulkanGraph::~VulkanGraph() {
  if (submission_.pending()) (void)context_.wait(submission_);
}

Result<TensorId> VulkanGraph::add_tensor(DType dtype, const Shape& shape, Role role,
                                         const void* data) {
  WICK_ASSIGN(size_t bytes, checked_bytes(shape, dtype_bits(dtype)));
  if (bytes > context_.max_allocation()) {
    return error(Code::kUnsupported, "a tensor of %zu bytes is more than this device gives at once",
                 bytes);
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

Result<TensorId> VulkanGraph::add_constant(DType dtype, const Shape& shape, const void* data,
                                           const void* key) {
  WICK_ASSIGN(TensorId id, add_tensor(dtype, shape, Role::kConstant, data));
  tensors_[id].key = key;
  return id;
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
  const uint64_t range = context_.max_range();
  if (is_too_large(call, range)) {
    if (out.size() != 1) return Status(Code::kUnsupported, "a large call of many outputs");
    const size_t count = nodes_.size(), tensors = tensors_.size();
    const TensorId fault = fault_;
    Status s = split(call, in, out[0], range, *this);
    if (!s.ok()) {  // nothing was added
      (void)nodes_.resize(count);
      (void)tensors_.resize(tensors);
      fault_ = fault;
    }
    return s;
  }
  Lowered lowered(allocator_, capabilities_of(context_.device().info()));
  lowered.range = range;
  WICK_TRY(lower(call, lowered));
  if (lowered.alias) {
    tensors_[out[0]].root = tensors_[in[0]].root;
    tensors_[out[0]].at = tensors_[in[0]].at;
    return {};
  }
  const size_t first = nodes_.size();
  WICK_TRY(add_lowered(lowered, in, out));
  const Work work = work_of({op, attrs, call.in, call.out, 1, nullptr});
  for (size_t i = first; i < nodes_.size(); ++i)
    nodes_[i].work = (work.flops + kFlopsPerByte * work.bytes) / (nodes_.size() - first);
  return {};
}

Status VulkanGraph::add_lowered(Lowered& lowered, Span<const TensorId> in,
                                Span<const TensorId> out) {
  TensorId table = kNoTensor;
  if (!lowered.table.empty()) {
    const Shape words{static_cast<int64_t>(lowered.table.size())};
    WICK_TRY(tables_.push_back(std::move(lowered.table)));
    WICK_ASSIGN(table, add_constant(DType::kU32, words, tables_.back().data()));
  }
  const size_t count = nodes_.size();
  for (const Dispatch& d : lowered.dispatches) {
    Node node;
    node.dispatch = d;
    for (uint32_t i = 0; i < d.operands; ++i) {
      const int operand = d.operand[i], output = ~operand;
      if (operand == kTableOperand) {
        node.tensor[i] = table;
        continue;
      }
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
    if (Status s = nodes_.push_back(node); !s.ok()) {  // nothing was added
      (void)nodes_.resize(count);
      return s;
    }
  }
  return {};
}

Result<TensorId> VulkanGraph::window(TensorId of, uint64_t at, const Shape& shape) {
  const auto* data = static_cast<const std::byte*>(tensors_[of].data);
  WICK_ASSIGN(TensorId id, add_tensor(tensors_[of].dtype, shape, Role::kTemporary,
                                      data == nullptr ? nullptr : data + at));
  tensors_[id].root = tensors_[of].root;
  tensors_[id].at = tensors_[of].at + at;
  return id;
}

Status VulkanGraph::move(TensorId from, uint64_t from_at, TensorId to, uint64_t to_at,
                         uint64_t bytes) {
  Lowered lowered(allocator_);
  Dispatch d;
  WICK_TRY(lower_move(from_at, to_at, bytes, d));
  WICK_TRY(lowered.dispatches.push_back(d));
  return add_lowered(lowered, {&from, 1}, {&to, 1});
}

Status VulkanGraph::part(OpId op, const void* attrs, Span<const TensorId> in,
                         Span<const TensorId> out, Span<const TensorView> known) {
  return add_call(op, attrs, in, out, known);
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

Status VulkanGraph::finish(ThreadPool* pool) {
  if (ready_) return Status(Code::kInternal, "the graph is finished");
  if (fault_ != kNoTensor) WICK_TRY(add_output(fault_));
  WICK_TRY(plan_memory());
  WICK_TRY(create_buffers());
  WICK_TRY(make_ready(pool));
  tables_ = Array<Array<uint32_t>>(allocator_);
  WICK_TRY(write_descriptors());
  WICK_TRY(record());
  ready_ = true;
  return {};
}

Status VulkanGraph::plan_memory() {
  // Lifetimes are kept at the roots. An input lives from the start, an output to the end.
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
  if (fault_ != kNoTensor) tensors_[fault_].first = -1;  // it is cleared before all of them

  Array<ArenaItem> items(allocator_);
  Array<TensorId> owners(allocator_);
  for (TensorId id = 0; id < tensors_.size(); ++id) {
    Tensor& t = tensors_[id];
    if (t.root != id) continue;
    if (t.role == Role::kConstant) continue;
    if (t.last < t.first) t.last = t.first;  // unused
    WICK_TRY(items.push_back({t.bytes, t.first, t.last, 0}));
    WICK_TRY(owners.push_back(id));
  }
  WICK_ASSIGN(arena_need_, plan_arena(items, context_.max_allocation()));
  for (size_t i = 0; i < items.size(); ++i) tensors_[owners[i]].offset = items[i].offset;
  return {};
}

Status VulkanGraph::create_buffers() {
  MemoryKind kind = context_.unified() ? MemoryKind::kUnified : MemoryKind::kDevice;
  const uint64_t limit = context_.max_allocation();
  const Device& device = context_.device();
  WICK_TRY(annotate(arena_.create(device, arena_need_, kind, limit), "activations: "));
  if (context_.unified()) return {};
  auto lay_out = [&](const Array<TensorId>& ids, Array<uint64_t>& offsets) -> Result<uint64_t> {
    Bump places(limit);
    for (TensorId id : ids) WICK_TRY(offsets.push_back(places.place(tensors_[id].bytes)));
    return places.size();
  };
  WICK_ASSIGN(uint64_t in_bytes, lay_out(inputs_, upload_offsets_));
  WICK_ASSIGN(uint64_t out_bytes, lay_out(outputs_, readback_offsets_));
  WICK_TRY(annotate(upload_.create(device, in_bytes, MemoryKind::kUpload, limit), "inputs: "));
  return annotate(readback_.create(device, out_bytes, MemoryKind::kReadback, limit), "outputs: ");
}

// Uploads weights and makes pipelines in parallel: the former is limited by memory, the latter by
// the driver's compiler.
Status VulkanGraph::make_ready(ThreadPool* pool) {
  Array<Context::CachedPipeline> made(allocator_);
  for (const Node& node : nodes_) {
    const Dispatch& d = node.dispatch;
    WICK_TRY(context_.want(d.shader, {d.spec, d.spec_count}, made));
  }
  Array<Weight> weights(allocator_);
  Array<TensorId> owners(allocator_);
  for (TensorId id = 0; id < tensors_.size(); ++id) {
    const Tensor& t = tensors_[id];
    if (t.role != Role::kConstant || t.root != id) continue;
    WICK_TRY(weights.push_back({t.data, t.bytes, t.key, {}}));
    WICK_TRY(owners.push_back(id));
  }
  Array<Status> results(allocator_);
  WICK_TRY(results.resize(made.size()));
  WICK_TRY(context_.weights().take(context_, weights, hold_, pool,
                                   static_cast<int64_t>(made.size()), [&](int64_t task) {
                                     const auto i = static_cast<size_t>(task);
                                     results[i] = context_.make(made[i]);
                                   }));
  for (const Status& s : results) WICK_TRY(s);
  for (size_t i = 0; i < owners.size(); ++i) tensors_[owners[i]].place = weights[i].place;
  return context_.keep(made);
}

}  // namespace wick::vulkan
