#include <algorithm>
#include <cstring>

#include "runtime/backend/backend.h"
#include "runtime/backend/vulkan/graph/graph.h"

namespace wick::vulkan {

// The bytes read and written since the last barrier. Two accesses conflict if they touch the same
// bytes and one of them writes. Arena memory is reused, so this compares bytes, not tensors.
class VulkanGraph::Hazards {
 public:
  explicit Hazards(Allocator& allocator) : reads_(allocator), writes_(allocator) {}
  bool conflicts(const Region& r, bool write) const {
    return touches(writes_, r) || (write && touches(reads_, r));
  }
  Status add(const Region& r, bool write) {
    return write ? writes_.push_back(r) : reads_.push_back(r);
  }
  void clear() {
    reads_.clear();
    writes_.clear();
  }

 private:
  static bool touches(const Array<Region>& regions, const Region& r) {
    for (const Region& other : regions) {
      if (other.buffer == r.buffer && other.offset < r.offset + r.bytes &&
          r.offset < other.offset + other.bytes) {
        return true;
      }
    }
    return false;
  }
  Array<Region> reads_, writes_;
};

// Several dispatches may write the fault word without order: they do it atomically.
static bool writes(const Dispatch& d, uint32_t k) { return d.operand[k] < 0; }

VulkanGraph::Region VulkanGraph::region_of(TensorId id) const {
  const Tensor& t = tensors_[id];
  const Tensor& root = tensors_[t.root];
  const Place place = root.role == Role::kConstant ? root.place : arena_.at(root.offset);
  return {place.buffer, place.offset + t.at, t.bytes};
}

VulkanGraph::Region VulkanGraph::region_of(const Node& node, uint32_t binding) const {
  Region r = region_of(node.tensor[binding]);
  const Window& window = node.dispatch.window[binding];
  if (window.bytes != 0) r.offset += window.offset, r.bytes = window.bytes;
  return r;
}

Status VulkanGraph::write_descriptors() {
  if (nodes_.empty()) return {};
  uint32_t bindings = 0;
  Array<VkDescriptorSetLayout> layouts(allocator_);
  for (const Node& node : nodes_) {
    bindings += node.dispatch.operands;
    WICK_ASSIGN(VkDescriptorSetLayout layout, context_.set_layout(node.dispatch.operands));
    WICK_TRY(layouts.push_back(layout));
  }
  WICK_TRY(descriptors_.create(context_.device(), static_cast<uint32_t>(nodes_.size()), bindings));
  WICK_TRY(sets_.resize(nodes_.size()));
  WICK_TRY(descriptors_.allocate({layouts.data(), layouts.size()}, sets_.data()));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    VkDescriptorBufferInfo ranges[kMaxBindings];
    const uint32_t count = nodes_[i].dispatch.operands;
    for (uint32_t k = 0; k < count; ++k) {
      const Region r = region_of(nodes_[i], k);
      ranges[k] = {r.buffer->handle(), r.offset, r.bytes};
    }
    descriptors_.write(sets_[i], {ranges, count});
  }
  return {};
}

// Ends the current command buffer and begins the next. A barrier there also waits for everything
// that was submitted before.
Status VulkanGraph::next_batch() {
  if (!commands_.empty()) WICK_TRY(commands_.back().end());
  WICK_TRY(commands_.push_back(CommandBuffer()));
  WICK_TRY(commands_.back().create(context_.device()));
  return commands_.back().begin(0);
}

Status VulkanGraph::record_dispatches() {
  Hazards hazards(allocator_);
  uint64_t all = 0, work = 0;
  for (const Node& node : nodes_) all += node.work;
  // The work of any two consecutive batches is more than `most`.
  const uint64_t most = std::max(context_.batch_work(), all / (kMaxBatches / 2 - 1) + 1);
  barriers_ = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const Dispatch& d = node.dispatch;
    if (work > 0 && work + node.work > most) {
      work = 0;
      WICK_TRY(next_batch());
    }
    work += node.work;
    bool conflict = false;
    for (uint32_t k = 0; k < d.operands; ++k) {
      conflict = conflict || hazards.conflicts(region_of(node, k), writes(d, k));
    }
    if (conflict) {
      commands_.back().barrier(kShaderAccess, kShaderAccess);
      hazards.clear();
      ++barriers_;
    }
    for (uint32_t k = 0; k < d.operands; ++k) {
      WICK_TRY(hazards.add(region_of(node, k), writes(d, k)));
    }
    WICK_ASSIGN(PipelineRef pipeline, context_.pipeline(d.shader, {d.spec, d.spec_count}));
    commands_.back().dispatch(pipeline, sets_[i], {d.push, d.push_words}, d.groups);
    timer_.mark(commands_.back());
  }
  return {};
}

Status VulkanGraph::record() {
  const Device& device = context_.device();
  if (context_.force_staging()) {
    constexpr uint32_t kNan = 0x7fc00000;
    CommandBuffer once;
    WICK_TRY(once.create(device));
    WICK_TRY(once.begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
    for (const Buffer& arena : arena_) once.fill({&arena, 0}, arena.bytes() / 4 * 4, kNan);
    once.barrier(kCopyAccess, kCopyAccess);
    once.barrier(kCopyAccess, kShaderAccess);
    WICK_TRY(once.end());
    WICK_TRY(context_.run(once, submission_));
  }
  if (timed_) WICK_TRY(timer_.create(device, static_cast<uint32_t>(nodes_.size()) + 3));
  return record_commands();
}

Status VulkanGraph::record_commands() {
  commands_.clear();
  WICK_TRY(next_batch());
  timer_.begin(commands_.back());
  timer_.mark(commands_.back());
  record_inputs();
  timer_.mark(commands_.back());
  WICK_TRY(record_dispatches());
  record_outputs();
  timer_.mark(commands_.back());
  return commands_.back().end();
}

void VulkanGraph::record_inputs() {
  CommandBuffer& commands = commands_.back();
  bool copies = !context_.unified();
  if (fault_ != kNoTensor) {
    commands.fill(arena_.at(tensors_[fault_].offset), 4, 0);
    copies = true;
  }
  bool waits = false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& t = tensors_[inputs_[i]];
    const Buffer* from = external(from_, i);
    if (t.bytes == 0 || (from == nullptr && context_.unified())) continue;
    // Runs that were submitted earlier may have written it.
    if (from != nullptr && !waits) commands.barrier(kCopyAccess, kCopyAccess);
    waits = waits || from != nullptr;
    commands.copy(from != nullptr ? Place{from, 0} : upload_.at(upload_offsets_[i]),
                  arena_.at(t.offset), t.bytes);
  }
  if (copies || waits) commands.barrier(kCopyAccess, kShaderAccess);
}

void VulkanGraph::record_outputs() {
  CommandBuffer& commands = commands_.back();
  bool copies = !context_.unified();
  for (size_t i = 0; i < outputs_.size(); ++i) copies = copies || external(to_, i) != nullptr;
  if (!copies) return commands.barrier(kShaderAccess, kHostRead);
  // An output may be an input's bytes, not written by any shader; a buffer of the caller's may have
  // been read or written by copies of earlier runs.
  const Access both = {kShaderAccess.stages | kCopyAccess.stages,
                       kShaderAccess.access | kCopyAccess.access};
  commands.barrier(both, kCopyAccess);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Region r = region_of(outputs_[i]);
    const Buffer* to = external(to_, i);
    if (r.bytes == 0 || (to == nullptr && context_.unified())) continue;
    commands.copy({r.buffer, r.offset},
                  to != nullptr ? Place{to, 0} : readback_.at(readback_offsets_[i]), r.bytes);
  }
  commands.barrier(both, kHostRead);
}

Status VulkanGraph::use(Span<const External> inputs, Span<const External> outputs, Stop* stop) {
  auto same = [](Span<const External> a, const Array<External>& b) {
    for (size_t i = 0; i < a.size() || i < b.size(); ++i) {
      if ((i < a.size() ? a[i].number : 0) != (i < b.size() ? b[i].number : 0)) return false;
    }
    return true;
  };
  if (ready_ && same(inputs, from_) && same(outputs, to_)) return {};
  auto fits = [&](Span<const External> given, const auto& ids) {
    for (size_t i = 0; i < given.size() && i < ids.size(); ++i) {
      if (given[i].buffer != nullptr && given[i].buffer->bytes() < tensors_[ids[i]].bytes)
        return false;
    }
    return true;
  };
  if (!fits(inputs, inputs_) || !fits(outputs, outputs_))
    return Status(Code::kInternal, "a tensor on the device is smaller than the graph's");
  if (submission_.pending()) WICK_TRY(context_.wait(submission_, stop));
  ready_ = false;  // until everything is recorded
  from_.clear();
  to_.clear();
  for (const External& e : inputs) WICK_TRY(from_.push_back(e));
  for (const External& e : outputs) WICK_TRY(to_.push_back(e));
  WICK_TRY(context_.noted(record_commands()));
  ready_ = true;
  return {};
}

Status VulkanGraph::start(Span<const void* const> inputs, Stop* stop) {
  if (!ready_) return Status(Code::kInternal, "the graph is not finished");
  if (inputs.size() != inputs_.size()) {
    return error(Code::kInvalidArgument, "the graph has %zu inputs, given %zu", inputs_.size(),
                 inputs.size());
  }
  if (submission_.pending()) WICK_TRY(context_.wait(submission_, stop));
  bool unified = context_.unified();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& t = tensors_[inputs_[i]];
    if (external(from_, i) != nullptr) continue;
    const Place to = unified ? arena_.at(t.offset) : upload_.at(upload_offsets_[i]);
    if (t.bytes > 0) memcpy(to.buffer->mapped() + to.offset, inputs[i], t.bytes);
  }
  if (timed_) handed_over_ns_ = now_ns();
  return context_.submit({commands_.data(), commands_.size()}, submission_);
}

Status VulkanGraph::collect(Span<void* const> outputs, Stop* stop) {
  const size_t count = outputs_.size() - (fault_ == kNoTensor ? 0 : 1);
  if (outputs.size() != count) {
    return error(Code::kInvalidArgument, "the graph has %zu outputs, given %zu", count,
                 outputs.size());
  }
  WICK_TRY(context_.wait(submission_, stop));
  if (timed_) done_ns_ = now_ns();
  WICK_TRY(context_.noted(timer_.read()));
  const bool unified = context_.unified();
  auto bytes_of = [&](size_t i) -> const std::byte* {
    const Region r = region_of(outputs_[i]);
    const Place from = unified ? Place{r.buffer, r.offset} : readback_.at(readback_offsets_[i]);
    return from.buffer->mapped() + from.offset;
  };
  if (fault_ != kNoTensor) {
    uint32_t fault;
    memcpy(&fault, bytes_of(count), sizeof(fault));
    if (fault != 0) {
      if (fault > nodes_.size())
        return Status(Code::kDevice, "the Vulkan device noted a fault of no dispatch");
      faulty_ = fault - 1;
      return Status(Code::kInvalidArgument, nodes_[faulty_].dispatch.fault_text);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (external(to_, i) != nullptr) continue;
    const size_t bytes = tensors_[outputs_[i]].bytes;
    if (bytes > 0) memcpy(outputs[i], bytes_of(i), bytes);
  }
  return {};
}

}  // namespace wick::vulkan
