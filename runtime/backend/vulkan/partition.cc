#include "runtime/backend/vulkan/partition.h"

#include <cstdio>
#include <new>

#include "runtime/backend/explain.h"
#include "runtime/backend/vulkan/device_tensor.h"
#include "runtime/backend/vulkan/graph/graph.h"
#include "runtime/backend/vulkan/offload.h"
#include "runtime/backend/vulkan/shaders/module_info.h"
#include "runtime/core/arena.h"
#include "runtime/core/half.h"

namespace wick::vulkan {
namespace {

class VulkanPartition final : public Partition, private Builder {
 public:
  VulkanPartition(Context& context, Allocator& allocator)
      : allocator_(allocator),
        context_(context),
        graph_(context, allocator),
        inputs_(allocator),
        outputs_(allocator),
        constants_(allocator, SIZE_MAX),
        first_dispatch_(allocator),
        texts_(allocator, SIZE_MAX),
        from_(allocator),
        to_(allocator),
        device_in_(allocator),
        device_out_(allocator) {
    context.hold();
  }

  Status build(const PartitionSpec& spec);
  Status run(const RunCtx& ctx) override {
    WICK_TRY(start(ctx));
    return finish(ctx);
  }
  Status start(const RunCtx& ctx) override;
  Status finish(const RunCtx& ctx) override;
  void explain(ExplainHook& hook) const override;
  size_t held_bytes() const override { return static_cast<size_t>(graph_.held_bytes()); }
  void free() override {
    Context& context = context_;  // all that may be left where the backend is gone already
    Allocator& allocator = allocator_;
    this->~VulkanPartition();
    allocator.deallocate(this, sizeof(VulkanPartition), alignof(VulkanPartition));
    Context::destroy(&context);
  }

 private:
  ~VulkanPartition() = default;
  Result<TensorId> tensor_of(const PartitionSpec& spec, uint32_t value, Array<TensorId>& tensors);
  Status add_step(const PartitionSpec& spec, const PlanStep& step, Array<TensorId>& tensors);
  Status add_expanded(const PartitionSpec& spec, const PlanStep& step, Array<TensorId>& tensors);
  static Status take(Span<DeviceTensor* const> given, const Array<uint32_t>& values,
                     Array<VulkanGraph::External>& list);
  size_t step_of(size_t dispatch) const;
  Status name_dispatches();
  void trace(TraceHook& hook, uint64_t begin) const;

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
  Context& context_;
  VulkanGraph graph_;
  Array<uint32_t> inputs_, outputs_;  // value ids in the graph's order
  Arena constants_;                   // of chains; read when they are uploaded
  PartitionSpec spec_;                // for names in error texts
  Array<size_t> first_dispatch_;      // first dispatch of each step
  Arena texts_;
  Span<const char*> names_;  // of a traced partition, by dispatch: "matmul_f32 [4,8,1]"
  Array<const void*> from_;
  Array<void*> to_;
  Array<VulkanGraph::External> device_in_, device_out_;  // of the run; empty unless it has some
  uint64_t begin_ns_ = 0;
};

bool contains(Span<const uint32_t> ids, uint32_t id) {
  for (uint32_t other : ids) {
    if (other == id) return true;
  }
  return false;
}

// A tensor is made when a step first uses the value: what the device never reads (a Reshape's
// shape) is never uploaded.
Result<TensorId> VulkanPartition::tensor_of(const PartitionSpec& spec, uint32_t value,
                                            Array<TensorId>& tensors) {
  if (value == kNoIndex) return kNoTensor;
  if (tensors[value] != kNoTensor) return tensors[value];
  const PlanValue& v = spec.values[value];
  if (v.data != nullptr) {
    WICK_ASSIGN(tensors[value], graph_.add_constant(v.dtype, v.shape, v.data, v.key));
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
  if (spec.traced) {
    graph_.time_dispatches();
    WICK_TRY(name_dispatches());
  }
  return graph_.finish(spec.pool);
}

size_t VulkanPartition::step_of(size_t dispatch) const {
  size_t step = 0;
  while (step + 1 < first_dispatch_.size() && first_dispatch_[step + 1] <= dispatch) ++step;
  return step;
}

Status VulkanPartition::name_dispatches() {
  WICK_ASSIGN(names_, texts_.array<const char*>(graph_.dispatches()));
  for (size_t i = 0; i < names_.size(); ++i) {
    const Dispatch& d = graph_.dispatch(i);
    constexpr size_t kRoom = 100;
    WICK_ASSIGN(auto text, texts_.array<char>(kRoom));
    snprintf(text.data(), kRoom, "%.60s [%u,%u,%u]", shader(d.shader).name, d.groups[0],
             d.groups[1], d.groups[2]);
    names_[i] = text.data();
  }
  return {};
}

// Lists the run's tensors on the device. Only the first run with some allocates.
Status VulkanPartition::take(Span<DeviceTensor* const> given, const Array<uint32_t>& values,
                             Array<VulkanGraph::External>& list) {
  list.clear();
  bool any = false;
  for (uint32_t value : values) any = any || (!given.empty() && given[value] != nullptr);
  for (size_t i = 0; any && i < values.size(); ++i) {
    const auto* tensor = static_cast<const VulkanTensor*>(given[values[i]]);
    WICK_TRY(list.push_back(tensor == nullptr
                                ? VulkanGraph::External{}
                                : VulkanGraph::External{&tensor->buffer(), tensor->number()}));
  }
  return {};
}

Status VulkanPartition::start(const RunCtx& ctx) {
  begin_ns_ = ctx.trace != nullptr ? now_ns() : 0;
  if (ctx.stop != nullptr && ctx.stop->reached())
    return annotate(ctx.stop->status(), "before the Vulkan device was asked: ");
  for (size_t i = 0; i < inputs_.size(); ++i) from_[i] = ctx.values[inputs_[i]].data;
  WICK_TRY(take(ctx.device_in, inputs_, device_in_));
  WICK_TRY(take(ctx.device_out, outputs_, device_out_));
  WICK_TRY(graph_.use(device_in_, device_out_, ctx.stop));
  return graph_.start(from_, ctx.stop);
}

Status VulkanPartition::finish(const RunCtx& ctx) {
  for (size_t i = 0; i < outputs_.size(); ++i) to_[i] = ctx.values[outputs_[i]].data;
  if (Status s = graph_.collect(to_, ctx.stop); !s.ok()) {
    if (s.code() != Code::kInvalidArgument) return s;
    const size_t step = step_of(graph_.faulty_dispatch());
    const NodeDef& node = *spec_.steps[step].node;
    return annotate(s, "node %.60s (%s): ", node.name, find_op(node.op)->name);
  }
  // Reached only when the device has finished.
  if (ctx.trace != nullptr) trace(*ctx.trace, begin_ns_);
  return {};
}

// Reports one event per dispatch if the device has a clock, else one for the whole command buffer.
// The two clocks are aligned at the moment when the device finished. The rest of the time is the
// host's.
void VulkanPartition::trace(TraceHook& hook, uint64_t begin) const {
  TraceEvent event = {};
  event.node = "";
  event.backend = "vulkan";
  event.index = static_cast<int64_t>(spec_.first_step);
  auto say = [&](const char* op, const char* kernel, uint64_t from, uint64_t to) {
    event.op = op;
    event.kernel = kernel;
    event.begin_ns = from;
    event.end_ns = to < from ? from : to;
    hook.on_op(event);
  };
  const Span<const uint64_t> marks = graph_.marks();
  if (marks.empty() || names_.size() + 3 != marks.size())
    return say("partition", "command buffer", begin, now_ns());
  const uint64_t handed = graph_.handed_over_ns(), done = graph_.done_ns();
  const uint64_t busy = marks[marks.size() - 1];
  auto at = [&](size_t mark) {
    const uint64_t before = busy - marks[mark];
    return before > done - handed ? handed : done - before;
  };
  say("copy in", "memcpy", begin, handed);
  say("submit and wait", "queue", handed, at(0));
  if (marks[1] != 0) say("copy in", "buffer copy", at(0), at(1));
  for (size_t i = 0; i < names_.size(); ++i) {
    const size_t step = step_of(i);
    const NodeDef& node = *spec_.steps[step].node;
    event.node = node.name;
    event.index = static_cast<int64_t>(spec_.first_step + step);
    say(node.info->name, names_[i], at(i + 1), at(i + 2));
  }
  event.node = "";
  event.index = static_cast<int64_t>(spec_.first_step + spec_.steps.size() - 1);
  if (at(marks.size() - 1) != at(marks.size() - 2))
    say("copy out", "buffer copy", at(marks.size() - 2), at(marks.size() - 1));
  say("copy out", "memcpy", done, now_ns());
}

void VulkanPartition::explain(ExplainHook& hook) const {
  PlacedPart part = {};
  part.backend = "vulkan";
  part.kernels = graph_.dispatches();
  part.barriers = graph_.barriers();
  for (size_t i = 0; i < graph_.dispatches(); ++i) {
    const Dispatch& d = graph_.dispatch(i);
    const Shader& s = shader(d.shader);
    PlacedKernel kernel = {};
    kernel.name = s.name;
    kernel.index = static_cast<int64_t>(spec_.first_step + step_of(i));
    kernel.constants = {d.spec, d.spec_count};
    kernel.subgroup_size = context_.device().info().subgroup_size;
    auto module = module_info(s.spirv, kernel.constants, context_.allocator());
    for (size_t k = 0; k < 3; ++k) {
      kernel.groups[k] = d.groups[k];
      kernel.group_size[k] = module.ok() ? module->group_size[k] : 0;
    }
    kernel.shared_bytes = module.ok() ? module->shared_bytes : 0;
    const VulkanGraph::Traffic traffic = graph_.traffic(i);
    kernel.read_bytes = traffic.read;
    kernel.written_bytes = traffic.written;
    part.read_bytes += traffic.read;
    part.written_bytes += traffic.written;
    hook.on_kernel(kernel);
  }
  for (const PlanStep& step : spec_.steps) part.flops += work_of(spec_, step).flops;
  part.arena_bytes = graph_.arena_bytes();
  part.constant_bytes = graph_.constant_bytes();
  part.staging_bytes = graph_.staging_bytes();
  hook.on_part(part);
}

}  // namespace

Result<Owned<Partition>> make_partition(Context& context, const PartitionSpec& spec,
                                        Allocator& allocator) {
  const StopScope whole(nullptr);  // weights and pipelines serve other sessions as well
  void* memory = allocator.allocate(sizeof(VulkanPartition), alignof(VulkanPartition));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "no memory for a Vulkan partition");
  auto* partition = new (memory) VulkanPartition(context, allocator);
  Owned<Partition> owned(partition);
  WICK_TRY(partition->build(spec));
  return owned;
}

}  // namespace wick::vulkan
