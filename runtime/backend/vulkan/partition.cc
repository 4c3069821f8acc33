#include "runtime/backend/vulkan/partition.h"

#include <new>

#include "runtime/backend/vulkan/graph/graph.h"
#include "runtime/core/arena.h"
#include "runtime/core/half.h"

namespace wick::vulkan {
namespace {

class VulkanPartition final : public Partition, private Builder {
 public:
  VulkanPartition(Context& context, Allocator& allocator)
      : allocator_(allocator),
        graph_(context, allocator),
        inputs_(allocator),
        outputs_(allocator),
        constants_(allocator, SIZE_MAX),
        first_dispatch_(allocator),
        from_(allocator),
        to_(allocator) {}

  Status build(const PartitionSpec& spec);
  Status run(const RunCtx& ctx) override;
  size_t held_bytes() const override { return static_cast<size_t>(graph_.held_bytes()); }
  void free() override {
    Allocator& allocator = allocator_;
    this->~VulkanPartition();
    allocator.deallocate(this, sizeof(VulkanPartition), alignof(VulkanPartition));
  }

 private:
  ~VulkanPartition() = default;
  Result<TensorId> tensor_of(const PartitionSpec& spec, uint32_t value, Array<TensorId>& tensors);
  Status add_step(const PartitionSpec& spec, const PlanStep& step, Array<TensorId>& tensors);
  Status add_expanded(const PartitionSpec& spec, const PlanStep& step, Array<TensorId>& tensors);

  Result<TensorId> temporary(DType dtype, const Shape& shape) override {
    return graph_.add_temporary(dtype, shape);
  }
  Result<TensorId> constant(DType dtype, double value) override {
    WICK_ASSIGN(auto at, constants_.array<uint64_t>(1));
    const auto single = static_cast<float>(value);
    at[0] = dtype == DType::kF16    ? Half(single).bits
            : dtype == DType::kBF16 ? BFloat16(single).bits
            : dtype == DType::kF64  ? std::bit_cast<uint64_t>(value)
                                    : std::bit_cast<uint32_t>(single);
    return graph_.add_constant(dtype, Shape{}, at.data());
  }
  Status call(OpId op, const void* attrs, Span<const TensorId> in,
              Span<const TensorId> out) override {
    return graph_.add_call(op, attrs, in, out);
  }

  Allocator& allocator_;
  VulkanGraph graph_;
  Array<uint32_t> inputs_, outputs_;  // value ids in the graph's order
  Arena constants_;                   // of chains; read when they are uploaded
  PartitionSpec spec_;                // for the names of what fails
  Array<size_t> first_dispatch_;      // by step
  Array<const void*> from_;
  Array<void*> to_;
};

bool contains(Span<const uint32_t> ids, uint32_t id) {
  for (uint32_t other : ids) {
    if (other == id) return true;
  }
  return false;
}

// Made when a step first names the value: what the device never reads (a Reshape's shape) is never
// uploaded.
Result<TensorId> VulkanPartition::tensor_of(const PartitionSpec& spec, uint32_t value,
                                            Array<TensorId>& tensors) {
  if (value == kNoIndex) return kNoTensor;
  if (tensors[value] != kNoTensor) return tensors[value];
  const PlanValue& v = spec.values[value];
  if (v.data != nullptr) {
    WICK_ASSIGN(tensors[value], graph_.add_constant(v.dtype, v.shape, v.data));
  } else if (contains(spec.inputs, value)) {
    WICK_ASSIGN(tensors[value], graph_.add_input(v.dtype, v.shape));
    WICK_TRY(inputs_.push_back(value));
  } else {
    WICK_ASSIGN(tensors[value], graph_.add_temporary(v.dtype, v.shape));
  }
  return tensors[value];
}

Status VulkanPartition::add_step(const PartitionSpec& spec, const PlanStep& step,
                                 Array<TensorId>& tensors) {
  if (is_expanded(step.node->op)) return add_expanded(spec, step, tensors);
  Array<TensorId> ids(allocator_);
  Array<TensorView> known(allocator_);
  WICK_TRY(ids.reserve(step.in.size() + step.out.size()));
  for (size_t i = 0; i < step.in.size(); ++i) {
    bool read = reads_input(step.node->op, i);
    TensorView view;
    if (!read && step.in[i] != kNoIndex) {
      const PlanValue& v = spec.values[step.in[i]];
      view = TensorView(const_cast<void*>(v.data), v.dtype, v.shape);
    }
    WICK_TRY(known.push_back(view));
    WICK_ASSIGN(TensorId id, tensor_of(spec, read ? step.in[i] : kNoIndex, tensors));
    WICK_TRY(ids.push_back(id));
  }
  for (uint32_t value : step.out) {
    WICK_ASSIGN(TensorId id, tensor_of(spec, value, tensors));
    WICK_TRY(ids.push_back(id));
  }
  Status s = graph_.add_call(step.node->op, step.node->attrs, {ids.data(), step.in.size()},
                             {ids.data() + step.in.size(), step.out.size()}, known);
  return s.code() == Code::kUnsupported ? add_expanded(spec, step, tensors) : s;
}

Status VulkanPartition::add_expanded(const PartitionSpec& spec, const PlanStep& step,
                                     Array<TensorId>& tensors) {
  Array<TensorId> ids(allocator_);
  Array<TensorView> views(allocator_);
  auto add = [&](uint32_t value) -> Status {
    WICK_ASSIGN(TensorId id, tensor_of(spec, value, tensors));
    WICK_TRY(ids.push_back(id));
    TensorView view;
    if (value != kNoIndex) {
      const PlanValue& v = spec.values[value];
      view = TensorView(const_cast<void*>(v.data), v.dtype, v.shape);
    }
    return views.push_back(view);
  };
  for (uint32_t value : step.in) WICK_TRY(add(value));
  for (uint32_t value : step.out) WICK_TRY(add(value));
  const size_t n = step.in.size();
  return expand({step.node->op,
                 step.node->attrs,
                 {views.data(), n},
                 {ids.data(), n},
                 {views.data() + n, step.out.size()},
                 {ids.data() + n, step.out.size()}},
                *this);
}

Status VulkanPartition::build(const PartitionSpec& spec) {
  Array<TensorId> tensors(allocator_);
  WICK_TRY(tensors.reserve(spec.values.size()));
  for (size_t i = 0; i < spec.values.size(); ++i) WICK_TRY(tensors.push_back(kNoTensor));
  spec_ = spec;
  for (const PlanStep& step : spec.steps) {
    WICK_TRY(first_dispatch_.push_back(graph_.dispatches()));
    Status s = add_step(spec, step, tensors);
    WICK_TRY(annotate(s, "node %s (%s): ", step.node->name, find_op(step.node->op)->name));
  }
  for (uint32_t value : spec.outputs) {
    WICK_ASSIGN(TensorId id, tensor_of(spec, value, tensors));
    WICK_TRY(graph_.add_output(id));
    WICK_TRY(outputs_.push_back(value));
  }
  WICK_TRY(from_.resize(inputs_.size()));
  WICK_TRY(to_.resize(outputs_.size()));
  return graph_.finish();
}

Status VulkanPartition::run(const RunCtx& ctx) {
  uint64_t begin = ctx.deadline_ns != 0 || ctx.trace != nullptr ? now_ns() : 0;
  if (ctx.deadline_ns != 0 && begin > ctx.deadline_ns) {
    return Status(Code::kDeadline, "the deadline passed before the Vulkan device was asked");
  }
  for (size_t i = 0; i < inputs_.size(); ++i) from_[i] = ctx.values[inputs_[i]].data;
  for (size_t i = 0; i < outputs_.size(); ++i) to_[i] = ctx.values[outputs_[i]].data;
  if (Status s = graph_.run(from_, to_); !s.ok()) {
    if (s.code() != Code::kInvalidArgument) return s;
    size_t step = 0;
    while (step + 1 < first_dispatch_.size() &&
           first_dispatch_[step + 1] <= graph_.faulty_dispatch())
      ++step;
    const NodeDef& node = *spec_.steps[step].node;
    return annotate(s, "node %.60s (%s): ", node.name, find_op(node.op)->name);
  }
  if (ctx.trace != nullptr) {
    // One event for the whole command buffer: the steps inside it have no host times.
    TraceEvent event = {};
    event.op = "partition";
    event.node = "";
    event.kernel = "command buffer";
    event.backend = "vulkan";
    event.begin_ns = begin;
    event.end_ns = now_ns();
    ctx.trace->on_op(event);
  }
  return {};
}

}  // namespace

Result<Owned<Partition>> make_partition(Context& context, const PartitionSpec& spec,
                                        Allocator& allocator) {
  void* memory = allocator.allocate(sizeof(VulkanPartition), alignof(VulkanPartition));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "no memory for a Vulkan partition");
  auto* partition = new (memory) VulkanPartition(context, allocator);
  Owned<Partition> owned(partition);
  WICK_TRY(partition->build(spec));
  return owned;
}

}  // namespace wick::vulkan
