// Context: one opened device with its queue, set layouts and pipelines. Shared by the graphs of all
// sessions on it; safe to use from several threads.
#pragma once

#include "runtime/backend/vulkan/ctx/disk_cache.h"
#include "runtime/backend/vulkan/ctx/mutex.h"
#include "runtime/backend/vulkan/shaders/shaders.h"
#include "runtime/backend/vulkan/vk/command.h"

namespace wick::vulkan {

struct ContextOptions {
  // Index or part of a name; null or "": the environment's WICK_VULKAN_DEVICE, else the best.
  const char* device = nullptr;
  // Copies through staging buffers even where the host could write device memory, and fills arenas
  // with NaN first: a missing copy shows on unified-memory devices too.
  bool force_staging = false;
  const char* loader = nullptr;  // null: the platform's Vulkan loader
  // What takes longer than this is taken for a device that hangs.
  uint64_t hang_ns = 60'000'000'000;
  Intercept intercept = nullptr;       // for tests
  const char* cache_folder = nullptr;  // DiskCache::open's
};

constexpr size_t kMaxSpecConstants = 10;

class Context {
 public:
  // kDevice without a loader or a usable device. The allocator must outlive the context.
  static Result<Context*> create(Allocator& allocator, const ContextOptions& options);
  static void destroy(Context* context);  // null is fine; no graph may be left

  Allocator& allocator() const { return allocator_; }
  const Device& device() const { return device_; }
  // True iff graphs put tensors where host and device both reach them quickly.
  bool unified() const { return unified_; }
  bool force_staging() const { return force_staging_; }

  // Made on first use, then kept; alive as long as the context.
  Result<PipelineRef> pipeline(ShaderId id, Span<const uint32_t> specialisation);
  Result<VkDescriptorSetLayout> set_layout(uint32_t bindings);

  const DiskCache& disk() const { return disk_; }
  // Keeps what the driver compiled since for the next program.
  void save_pipelines();

  // Submits and waits until the device is done. After kDevice the device is lost().
  Status run(CommandBuffer& commands, Fence& fence);
  // The two halves of it.
  Status submit(CommandBuffer& commands, Fence& fence);
  Status wait(Fence& fence);
  // It failed or hung while it worked: nothing is given to it any more.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

  // Copies host bytes into device memory through a staging buffer, in pieces.
  struct Upload {
    const void* from;
    uint64_t offset, bytes;
  };
  Status upload(Span<const Upload> pieces, const Buffer& to);

 private:
  struct CachedPipeline {
    ShaderId id;
    uint32_t count = 0;
    uint32_t specialisation[kMaxSpecConstants] = {};
    Pipeline pipeline;
  };

  explicit Context(Allocator& allocator) : allocator_(allocator), pipelines_(allocator) {}
  ~Context();
  Status open(const ContextOptions& options);
  Result<VkDescriptorSetLayout> set_layout_locked(uint32_t bindings);

  Allocator& allocator_;
  Instance instance_;
  Device device_;
  bool unified_ = false;
  bool force_staging_ = false;
  uint64_t hang_ns_ = 0;
  std::atomic<bool> lost_{false};
  Mutex pipelines_lock_;
  UniqueSetLayout layouts_[kMaxBindings + 1];
  DiskCache disk_;
  UniquePipelineCache cache_;
  bool cache_grew_ = false;
  Array<CachedPipeline> pipelines_;
  Mutex queue_lock_;
};

}  // namespace wick::vulkan
