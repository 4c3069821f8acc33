// VulkanGraph: op calls over device tensors, planned into one arena and recorded into command
// buffers. Add tensors and calls, call finish() once, then run() as often as you want (one caller
// at a time).
#pragma once

#include "runtime/backend/vulkan/ctx/arena.h"
#include "runtime/backend/vulkan/graph/split.h"
#include "runtime/backend/vulkan/vk/descriptors.h"
#include "runtime/backend/vulkan/vk/timer.h"

namespace wick::vulkan {

constexpr TensorId kNoTensor = UINT32_MAX;  // an absent optional input

class VulkanGraph : private Parts {
 public:
  // Both must outlive the graph.
  VulkanGraph(Context& context, Allocator& allocator);
  ~VulkanGraph();  // waits for what start() has submitted
  VulkanGraph(const VulkanGraph&) = delete;
  VulkanGraph& operator=(const VulkanGraph&) = delete;

  Result<TensorId> add_input(DType dtype, const Shape& shape);
  // `data` is read by finish(), not before and not after. `key` is that of Weight.
  Result<TensorId> add_constant(DType dtype, const Shape& shape, const void* data,
                                const void* key = nullptr);
  Result<TensorId> add_temporary(DType dtype, const Shape& shape);
  // Adds a call; calls take effect in the order in which they are added. kUnsupported if there is
  // no shader: then nothing was added. `known`: views of the inputs that have no tensor here
  // because the device does not read them (reads_input); empty for none.
  Status add_call(OpId op, const void* attrs, Span<const TensorId> in, Span<const TensorId> out,
                  Span<const TensorView> known = {});
  // Marks a tensor that run() returns; its index in run()'s outputs is the number of earlier calls
  // of this function.
  Status add_output(TensorId id);

  // Call it before finish(): runs then measure each dispatch, if the device has a clock.
  void time_dispatches() { timed_ = true; }
  // Plans memory, uploads constants, makes pipelines, records commands. `pool` may be null.
  Status finish(ThreadPool* pool = nullptr);

  // Takes contiguous host tensors, in the order of add_input / add_output. Allocates nothing. Fails
  // with kInvalidArgument if a shader finds values that it cannot handle: see faulty_dispatch().
  Status run(Span<const void* const> inputs, Span<void* const> outputs) {
    WICK_TRY(start(inputs));
    return collect(outputs);
  }
  // A buffer of the caller's on the device in place of a host tensor; null: the host has it.
  struct External {
    const Buffer* buffer = nullptr;
    uint64_t number = 0;  // another one for every buffer
  };
  // Sets the buffers of the runs that follow, by input and output (empty: none): a run copies from
  // them before its first dispatch and to them after its last. They are as large as the tensors.
  // Other buffers than before are recorded anew, which waits for a run that was not collected.
  Status use(Span<const External> inputs, Span<const External> outputs, Stop* stop = nullptr);
  // The halves of run(). start() reads the inputs and returns while the device works; it waits for
  // an earlier run that was not collected. If `stop` ends the wait (kDeadline, kCancelled), the run
  // continues and can be collected later.
  Status start(Span<const void* const> inputs, Stop* stop = nullptr);
  Status collect(Span<void* const> outputs, Stop* stop = nullptr);

  // The device memory and staging buffers that it holds, in bytes.
  uint64_t held_bytes() const {
    return hold_.made_bytes() + arena_.bytes() + upload_.bytes() + readback_.bytes();
  }
  uint64_t arena_bytes() const { return arena_.bytes(); }
  size_t arenas() const { return arena_.count(); }
  size_t dispatches() const { return nodes_.size(); }
  // After such a failure: the index of the dispatch, as dispatches() counted when it was added.
  size_t faulty_dispatch() const { return faulty_; }
  size_t barriers() const { return barriers_; }        // between dispatches, recorded by finish()
  size_t batches() const { return commands_.size(); }  // command buffers of a run
  uint64_t constant_bytes() const {                    // constants that it reads
    uint64_t bytes = 0;
    for (TensorId id = 0; id < tensors_.size(); ++id) {
      const Tensor& t = tensors_[id];
      if (t.role == Role::kConstant && t.root == id) bytes += t.bytes;
    }
    return bytes;
  }
  uint64_t staging_bytes() const { return upload_.bytes() + readback_.bytes(); }

  const Dispatch& dispatch(size_t i) const { return nodes_[i].dispatch; }
  // The bytes of a dispatch's tensors, each counted once: what it reads and writes, assuming that a
  // shader accesses all of them.
  struct Traffic {
    uint64_t read = 0, written = 0;
  };
  Traffic traffic(size_t i) const;

  // Times of the last run of a timed graph, in ns of the device's clock: when it began, when its
  // inputs were uploaded, when each dispatch ended, when its outputs were copied. Empty: the device
  // has no clock.
  Span<const uint64_t> marks() const { return timer_.ns(); }
  // Times of the host's clock: when the inputs were submitted, and when the device had finished.
  uint64_t handed_over_ns() const { return handed_over_ns_; }
  uint64_t done_ns() const { return done_ns_; }

 private:
  enum class Role : uint8_t { kInput, kConstant, kTemporary };
  struct Tensor {
    DType dtype = DType::kNone;
    Shape shape;
    Role role = Role::kTemporary;
    bool is_output = false;
    TensorId root = 0;  // itself, or the tensor whose bytes it shares
    uint64_t at = 0;    // offset in the root's bytes
    const void *data = nullptr, *key = nullptr;
    uint64_t bytes = 0;
    int64_t first = 0, last = -1;  // dispatches between which it is live
    uint64_t offset = 0;           // in the arena
    Place place;                   // of a constant
  };
  struct Node {
    Dispatch dispatch;
    TensorId tensor[kMaxBindings] = {};
    uint64_t work = 0;  // its share of the call's work, in floating point operations
  };
  struct Region {
    const Buffer* buffer;
    uint64_t offset, bytes;
  };
  class Hazards;

  Result<TensorId> add_tensor(DType dtype, const Shape& shape, Role role, const void* data);
  Status add_lowered(Lowered& lowered, Span<const TensorId> in, Span<const TensorId> out);
  TensorView view_of(TensorId id) const;
  Region region_of(TensorId id) const;
  Region region_of(const Node& node, uint32_t binding) const;

  // Parts of a call that is too large.
  Result<TensorId> window(TensorId of, uint64_t at, const Shape& shape) override;
  Result<TensorId> part_temporary(DType dtype, const Shape& shape) override {
    return add_temporary(dtype, shape);
  }
  Status move(TensorId from, uint64_t from_at, TensorId to, uint64_t to_at,
              uint64_t bytes) override;
  Status part(OpId op, const void* attrs, Span<const TensorId> in, Span<const TensorId> out,
              Span<const TensorView> known) override;
  Status plan_memory();
  Status create_buffers();
  Status make_ready(ThreadPool* pool);
  Status write_descriptors();
  Status record();
  Status record_commands();
  Status next_batch();
  void record_inputs();
  Status record_dispatches();
  void record_outputs();
  const Buffer* external(const Array<External>& list, size_t i) const {
    return i < list.size() ? list[i].buffer : nullptr;
  }

  Context& context_;
  Allocator& allocator_;
  Array<Tensor> tensors_;
  Array<Node> nodes_;
  Array<TensorId> inputs_, outputs_;
  Array<Array<uint32_t>> tables_;  // tables of lowered calls, until they are uploaded
  Array<VkDescriptorSet> sets_;
  uint64_t arena_need_ = 0;
  Weights::Hold hold_;
  Buffers arena_, upload_, readback_;
  Array<uint64_t> upload_offsets_, readback_offsets_;
  Array<External> from_, to_;  // recorded, by input and output; empty: none
  DescriptorSets descriptors_;
  Array<CommandBuffer> commands_;  // batches
  Submission submission_;
  Timer timer_;
  uint64_t handed_over_ns_ = 0, done_ns_ = 0;
  bool timed_ = false;
  size_t barriers_ = 0, faulty_ = 0;
  TensorId fault_ = kNoTensor;  // the last of outputs_, if there is one
  bool ready_ = false;
};

}  // namespace wick::vulkan
