// Context: one opened device with its queue, set layouts and pipelines. Shared by the graphs of all
// sessions on it; safe to use from several threads.
#pragma once

#include "runtime/backend/vulkan/ctx/arena.h"
#include "runtime/backend/vulkan/ctx/disk_cache.h"
#include "runtime/backend/vulkan/ctx/mutex.h"
#include "runtime/backend/vulkan/ctx/weights.h"
#include "runtime/backend/vulkan/shaders/shaders.h"
#include "runtime/backend/vulkan/vk/command.h"
#include "runtime/core/async_work.h"

namespace wick::vulkan {

struct ContextOptions {
  // Index or part of a name; null or "": the environment's WICK_VULKAN_DEVICE, else the best.
  const char* device = nullptr;
  // Copies through staging buffers even where the host could write device memory, and fills arenas
  // with NaN first: a missing copy shows on unified-memory devices too.
  bool force_staging = false;
  // Only what any device of Vulkan 1.1 has: the shaders that do without 16-bit storage, integer dot
  // products and the like.
  bool plain = false;
  // For tests, 0 for none: shaders see at most so many bytes of a buffer (a multiple of 256 from
  // 1024 on), and no allocation is larger than this (a multiple of 256, not below the largest
  // tensor).
  uint64_t max_range = 0, max_allocation = 0;
  bool timeline = true;  // false, for tests: fences also where the device has timeline semaphores
  const char* loader = nullptr;  // null: the platform's Vulkan loader
  // Floating point operations, and bytes counted as some, that a command buffer of a graph is given
  // at most, a single dispatch apart: systems kill what keeps a device for seconds.
  uint64_t batch_work = uint64_t{1} << 33;
  // What takes longer than this is taken for a device that hangs.
  uint64_t hang_ns = 60'000'000'000;
  Intercept intercept = nullptr;       // for tests
  const char* cache_folder = nullptr;  // DiskCache::open's
};

constexpr size_t kMaxSpecConstants = 13;
constexpr size_t kMaxBatches = 16;  // command buffers of one submission

// One submission at a time of command buffers, from submit() until wait() says that it is over.
class Submission {
 public:
  bool pending() const { return pending_; }

 private:
  friend class Context;
  Fence fence_;
  uint64_t value_ = 0;  // of the context's timeline
  uint64_t begin_ns_ = 0;
  uint64_t ahead_ = 0;  // command buffers that were not known to be over then
  uint64_t batches_ = 0;
  bool pending_ = false;
};

class Context final : private AsyncWork {
 public:
  // kDevice without a loader or a usable device. The allocator must outlive the context.
  static Result<Context*> create(Allocator& allocator, const ContextOptions& options);
  static void destroy(Context* context);  // null is fine; no graph may be left

  Allocator& allocator() const { return allocator_; }
  const Device& device() const { return device_; }
  // True iff graphs put tensors where host and device both reach them quickly.
  bool unified() const { return unified_; }
  bool force_staging() const { return force_staging_; }
  uint64_t batch_work() const { return batch_work_; }
  // Bytes of a buffer that a shader sees, and of one allocation.
  uint64_t max_range() const { return device_.info().limits.maxStorageBufferRange; }
  uint64_t max_allocation() const {
    // A driver rounds a buffer's size up to pages before it compares it.
    constexpr uint64_t kPage = 1 << 16;
    const uint64_t most = device_.info().max_allocation_bytes;
    const uint64_t unit = most >= 16 * kPage ? kPage : kRegionAlignment;
    return most / unit * unit;
  }

  // Made on first use, then kept; alive as long as the context.
  Result<PipelineRef> pipeline(ShaderId id, Span<const uint32_t> specialisation);
  // The same for many, in three steps: what is missing is added to `made` (nothing where it is
  // there, or in `made`); make() may be called from any thread, one an entry; keep() takes them.
  struct CachedPipeline {
    ShaderId id;
    uint32_t count = 0;
    uint32_t specialisation[kMaxSpecConstants] = {};
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    Pipeline pipeline;
  };
  Status want(ShaderId id, Span<const uint32_t> specialisation, Array<CachedPipeline>& made);
  Status make(CachedPipeline& entry);
  Status keep(Array<CachedPipeline>& made);
  Result<VkDescriptorSetLayout> set_layout(uint32_t bindings);

  const DiskCache& disk() const { return disk_; }
  // Keeps what the driver compiled since for the next program.
  void save_pipelines();

  // Gives the device commands, up to kMaxBatches buffers in their order, and does not wait. After
  // kDevice the device is lost().
  Status submit(Span<const CommandBuffer> commands, Submission& submission);
  Status submit(const CommandBuffer& commands, Submission& submission) {
    return submit({&commands, 1}, submission);
  }
  // Until it is over; kDeadline when it is not by `deadline_ns` (0: none): it stays pending then.
  // A device that takes longer than ContextOptions::hang_ns for one of its buffers is lost. What
  // was submitted before has its own time.
  Status wait(Submission& submission, uint64_t deadline_ns = 0) {
    return wait(submission, deadline_ns, nullptr);
  }
  // The same with the deadline of a run (null: none), or kCancelled.
  Status wait(Submission& submission, Stop* stop) {
    return wait(submission, stop == nullptr ? 0 : stop->deadline_ns(), stop);
  }
  Status run(const CommandBuffer& commands, Submission& submission) {
    WICK_TRY(submit(commands, submission));
    return wait(submission);
  }
  // It failed or hung while it worked: nothing is given to it any more.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  // Of a call outside submit() and wait(), which may be the first to be told of a lost device.
  Status noted(Status s);

  // Copies host bytes into device memory through a staging buffer, in pieces.
  struct Upload {
    const void* from;
    Place to;
    uint64_t bytes;
  };
  Status upload(Span<const Upload> pieces);
  Weights& weights() { return weights_; }

 private:
  explicit Context(Allocator& allocator)
      : allocator_(allocator), pipelines_(allocator), weights_(allocator) {}
  ~Context();
  const CachedPipeline* find_locked(ShaderId id, Span<const uint32_t> specialisation) const;
  Status open(const ContextOptions& options);
  void wait_for_all() override;
  Status wait(Submission& submission, uint64_t deadline_ns, Stop* stop);
  // kDeadline: *hangs, or the caller's own deadline.
  Status wait_until_done(Submission& submission, uint64_t deadline_ns, Stop* stop, bool* hangs);
  Result<VkDescriptorSetLayout> set_layout_locked(uint32_t bindings);

  Allocator& allocator_;
  Instance instance_;
  Device device_;
  bool unified_ = false;
  bool force_staging_ = false;
  uint64_t hang_ns_ = 0, batch_work_ = 0;
  std::atomic<bool> lost_{false};
  // What is known of the queue: its last submission that is over, when that was seen, and how many
  // are not.
  std::atomic<uint64_t> done_value_{0}, last_done_ns_{0}, pending_{0};
  Mutex pipelines_lock_;
  UniqueSetLayout layouts_[kMaxBindings + 1];
  DiskCache disk_;
  UniquePipelineCache cache_;
  bool cache_grew_ = false;
  Array<CachedPipeline> pipelines_;
  Mutex queue_lock_;
  bool has_timeline_ = false;
  Timeline timeline_;
  uint64_t submitted_ = 0;  // the timeline's last number
  Weights weights_;
};

}  // namespace wick::vulkan
