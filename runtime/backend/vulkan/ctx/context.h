// Context: an opened device with its queue, set layouts and pipelines. The graphs of all sessions
// on the device share it; it is safe to use from several threads.
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
  // Copies through staging buffers even if the host could write device memory, and first fills
  // arenas with NaN, so that a missing copy shows on unified-memory devices too.
  bool force_staging = false;
  // Uses only what every Vulkan 1.1 device has: the shaders without 16-bit storage, integer dot
  // products and the like.
  bool plain = false;
  // For tests, 0 for none: the bytes of a buffer that shaders can access (a multiple of 256 from
  // 1024 on), and the largest allocation (a multiple of 256, not below the largest tensor).
  uint64_t max_range = 0, max_allocation = 0;
  bool timeline = true;          // false, for tests: uses fences even with timeline semaphores
  const char* loader = nullptr;  // null: the platform's Vulkan loader
  // The most floating point operations (and bytes counted as some) in one command buffer of a
  // graph, unless a single dispatch has more: systems kill work that occupies a device for seconds.
  uint64_t batch_work = uint64_t{1} << 33;
  // A device that is busy for longer is considered hung.
  uint64_t hang_ns = 60'000'000'000;
  Intercept intercept = nullptr;       // for tests
  const char* cache_folder = nullptr;  // as in DiskCache::open()
};

constexpr size_t kMaxSpecConstants = 13;
constexpr size_t kMaxBatches = 16;  // command buffers per submission

// Tracks one submission of command buffers, from submit() until wait() says that it has completed.
class Submission {
 public:
  bool pending() const { return pending_; }

 private:
  friend class Context;
  Fence fence_;
  uint64_t value_ = 0;  // of the context's timeline
  uint64_t begin_ns_ = 0;
  uint64_t ahead_ = 0;  // command buffers not known to have completed at that time
  uint64_t batches_ = 0;
  bool pending_ = false;
};

class Context final : private AsyncWork {
 public:
  // Fails with kDevice without a loader or a usable device. The allocator must outlive the context.
  static Result<Context*> create(Allocator& allocator, const ContextOptions& options);
  // Null is fine. Tensors and partitions that are left keep the context until the last of them is
  // gone; other graphs must have been destroyed.
  static void destroy(Context* context);
  void hold() { holders_.fetch_add(1, std::memory_order_relaxed); }  // needs another destroy()
  // Returns another number each time.
  uint64_t next_number() { return numbers_.fetch_add(1, std::memory_order_relaxed) + 1; }

  Allocator& allocator() const { return allocator_; }
  const Device& device() const { return device_; }
  // True if graphs keep tensors in memory that both host and device access quickly.
  bool unified() const { return unified_; }
  bool force_staging() const { return force_staging_; }
  uint64_t batch_work() const { return batch_work_; }
  // The bytes of a buffer that a shader can access, and those of one allocation.
  uint64_t max_range() const { return device_.info().limits.maxStorageBufferRange; }
  uint64_t max_allocation() const {
    // A driver rounds a buffer's size up to pages before it compares it.
    constexpr uint64_t kPage = 1 << 16;
    const uint64_t most = device_.info().max_allocation_bytes;
    const uint64_t unit = most >= 16 * kPage ? kPage : kRegionAlignment;
    return most / unit * unit;
  }

  // Created on first use and kept as long as the context lives.
  Result<PipelineRef> pipeline(ShaderId id, Span<const uint32_t> specialisation);
  // The same for many pipelines, in three steps: want() adds a missing one to `made` (nothing if it
  // exists or is in `made`); make() may be called from any thread, once per entry; keep() stores
  // them.
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
  // Stores newly compiled pipelines for the next program.
  void save_pipelines();
  // Returns the compiled pipelines as the driver writes them.
  Status pipeline_data(Array<uint8_t>& data);
  // Adds what pipeline_data() returned on this driver, perhaps in another program. kInvalidProgram,
  // kUnsupported: it is not this driver's.
  Status add_pipelines(Span<const uint8_t> data);

  // Submits up to kMaxBatches command buffers in order and does not wait. After kDevice the device
  // is lost().
  Status submit(Span<const CommandBuffer> commands, Submission& submission);
  Status submit(const CommandBuffer& commands, Submission& submission) {
    return submit({&commands, 1}, submission);
  }
  // Waits for completion; kDeadline if it is not complete at `deadline_ns` (0: none), and it stays
  // pending. A device that takes longer than ContextOptions::hang_ns for one of its buffers is
  // lost. Earlier submissions have their own time.
  Status wait(Submission& submission, uint64_t deadline_ns = 0) {
    return wait(submission, deadline_ns, nullptr);
  }
  // The same with the deadline of a run (null: none); also returns kCancelled.
  Status wait(Submission& submission, Stop* stop) {
    return wait(submission, stop == nullptr ? 0 : stop->deadline_ns(), stop);
  }
  Status run(const CommandBuffer& commands, Submission& submission) {
    WICK_TRY(submit(commands, submission));
    return wait(submission);
  }
  // Returns when everything that was submitted so far has completed, so that what it uses may be
  // freed. A device that hangs meanwhile is lost.
  void drain();
  // It failed or hung: nothing is submitted to it any more.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  // For calls outside submit() and wait(), which may be the first to see a lost device: records it.
  Status noted(Status s);

  // Copies host bytes to device memory through a staging buffer, in pieces.
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
  Status pipeline_data_locked(Array<uint8_t>& data) const;
  void wait_for_all() override;
  Status wait(Submission& submission, uint64_t deadline_ns, Stop* stop);
  // On kDeadline, *hangs tells a hang from the caller's own deadline.
  Status wait_until_done(Submission& submission, uint64_t deadline_ns, Stop* stop, bool* hangs);
  Result<VkDescriptorSetLayout> set_layout_locked(uint32_t bindings);

  Allocator& allocator_;
  std::atomic<uint32_t> holders_{1};
  std::atomic<uint64_t> numbers_{0};
  Instance instance_;
  Device device_;
  bool unified_ = false;
  bool force_staging_ = false;
  uint64_t hang_ns_ = 0, batch_work_ = 0;
  std::atomic<bool> lost_{false};
  // The known state of the queue: its last completed submission, when that was seen, and how many
  // are not complete.
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
  uint64_t submitted_ = 0;  // last value used of the timeline
  Weights weights_;
};

}  // namespace wick::vulkan
