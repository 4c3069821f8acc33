#include "runtime/backend/vulkan/ctx/context.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace wick::vulkan {
namespace {

bool same_words(const uint32_t* a, Span<const uint32_t> b) {
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

Result<Context*> Context::create(Allocator& allocator, const ContextOptions& options) {
  void* memory = allocator.allocate(sizeof(Context), alignof(Context));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "no memory for a Vulkan context");
  auto* context = new (memory) Context(allocator);
  if (Status s = context->open(options); !s.ok()) {
    destroy(context);
    return s;
  }
  return context;
}

void Context::destroy(Context* context) {
  if (context == nullptr) return;
  Allocator& allocator = context->allocator_;
  context->~Context();
  allocator.deallocate(context, sizeof(Context), alignof(Context));
}

Context::~Context() {
  if (device_.abandoned()) instance_.abandon();
}

Status Context::open(const ContextOptions& options) {
  hang_ns_ = options.hang_ns;
  WICK_TRY(instance_.open(options.loader, options.intercept));
  Array<DeviceInfo> devices(allocator_);
  WICK_TRY(instance_.devices(devices));
  const char* selector = options.device;
  if (selector == nullptr || selector[0] == '\0') selector = getenv("WICK_VULKAN_DEVICE");
  WICK_ASSIGN(size_t index, choose_device(devices, selector));
  WICK_TRY(device_.open(instance_, devices[index]));
  VkPhysicalDeviceType type = device_.info().type;
  // A discrete GPU may map its memory too, but the host reads it slowly: staging is better there.
  bool near = type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  force_staging_ = options.force_staging;
  unified_ = near && has_unified_memory(device_.info()) && !force_staging_;
  disk_.open(options.cache_folder, device_.info());
  Array<uint8_t> kept(allocator_);
  WICK_TRY(disk_.read("pipelines", kept));
  VkPipelineCacheCreateInfo cache = {};
  cache.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  cache.initialDataSize = kept.size();
  cache.pInitialData = kept.data();
  return cache_.create(device_, &Api::CreatePipelineCache, cache, "vkCreatePipelineCache");
}

void Context::save_pipelines() {
  MutexLock lock(pipelines_lock_);
  if (!cache_grew_ || lost() || !disk_.enabled()) return;
  cache_grew_ = false;
  size_t bytes = 0;
  Array<uint8_t> data(allocator_);
  const Api& api = device_.api();
  if (api.GetPipelineCacheData(device_.handle(), cache_.get(), &bytes, nullptr) != VK_SUCCESS ||
      !data.resize(bytes).ok() ||
      api.GetPipelineCacheData(device_.handle(), cache_.get(), &bytes, data.data()) != VK_SUCCESS) {
    return;
  }
  // What cannot be kept is compiled again.
  (void)disk_.write("pipelines", {data.data(), bytes});
}

Result<VkDescriptorSetLayout> Context::set_layout(uint32_t bindings) {
  MutexLock lock(pipelines_lock_);
  return set_layout_locked(bindings);
}

Result<VkDescriptorSetLayout> Context::set_layout_locked(uint32_t bindings) {
  if (bindings > kMaxBindings) return Status(Code::kInternal, "a shader with too many bindings");
  if (layouts_[bindings].get() == VK_NULL_HANDLE) {
    WICK_TRY(create_set_layout(device_, bindings, layouts_[bindings]));
  }
  return layouts_[bindings].get();
}

Result<PipelineRef> Context::pipeline(ShaderId id, Span<const uint32_t> specialisation) {
  if (specialisation.size() > kMaxSpecConstants)
    return Status(Code::kInternal, "too many constants");
  MutexLock lock(pipelines_lock_);
  for (const CachedPipeline& p : pipelines_) {
    if (p.id == id && p.count == specialisation.size() &&
        same_words(p.specialisation, specialisation)) {
      return p.pipeline.ref();
    }
  }
  const Shader& s = shader(id);
  CachedPipeline entry;
  entry.id = id;
  entry.count = static_cast<uint32_t>(specialisation.size());
  for (size_t i = 0; i < specialisation.size(); ++i) entry.specialisation[i] = specialisation[i];
  WICK_ASSIGN(VkDescriptorSetLayout layout, set_layout_locked(s.bindings));
  Status made = entry.pipeline.create(device_, {s.spirv, specialisation, layout}, cache_.get());
  WICK_TRY(annotate(made, "shader %s: ", s.name));
  cache_grew_ = true;
  PipelineRef ref = entry.pipeline.ref();
  WICK_TRY(pipelines_.push_back(std::move(entry)));
  return ref;
}

// What was submitted reads and writes buffers that the caller frees when this fails: it must be
// known to be over, or nothing may be freed.
Status Context::wait(Fence& fence) {
  Status done = fence.wait(hang_ns_);
  if (done.ok()) return done;
  lost_.store(true, std::memory_order_relaxed);
  if (done.code() == Code::kDeadline) {
    device_.abandon();
    return error(Code::kDevice, "the Vulkan device was still busy after %llu ms: it seems to hang",
                 static_cast<unsigned long long>(hang_ns_ / 1'000'000));
  }
  device_.settle();
  return done;
}

Status Context::run(CommandBuffer& commands, Fence& fence) {
  WICK_TRY(submit(commands, fence));
  return wait(fence);
}

Status Context::submit(CommandBuffer& commands, Fence& fence) {
  if (lost()) return Status(Code::kDevice, "the Vulkan device was lost before");
  WICK_TRY(fence.reset());
  VkCommandBuffer buffer = commands.handle();
  VkSubmitInfo submit = {};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &buffer;
  MutexLock lock(queue_lock_);
  Status s = check(device_.api().QueueSubmit(device_.queue(), 1, &submit, fence.handle()),
                   "vkQueueSubmit");
  if (s.code() == Code::kDevice) lost_.store(true, std::memory_order_relaxed);
  return s;
}

Status Context::upload(Span<const Upload> pieces, const Buffer& to) {
  constexpr uint64_t kStagingBytes = 16 << 20;
  uint64_t largest = 0;
  for (const Upload& piece : pieces) largest = piece.bytes > largest ? piece.bytes : largest;
  if (largest == 0) return {};
  Buffer staging;
  CommandBuffer commands;
  Fence fence;
  WICK_TRY(staging.create(device_, largest < kStagingBytes ? largest : kStagingBytes,
                          MemoryKind::kUpload));
  WICK_TRY(commands.create(device_));
  WICK_TRY(fence.create(device_));
  for (const Upload& piece : pieces) {
    for (uint64_t done = 0; done < piece.bytes; done += kStagingBytes) {
      uint64_t n = piece.bytes - done < kStagingBytes ? piece.bytes - done : kStagingBytes;
      memcpy(staging.mapped(), static_cast<const std::byte*>(piece.from) + done, n);
      WICK_TRY(commands.begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
      commands.copy(staging, 0, to, piece.offset + done, n);
      // Later submissions on this queue read what was copied.
      commands.barrier(kCopyAccess, kShaderAccess);
      WICK_TRY(commands.end());
      WICK_TRY(run(commands, fence));
    }
  }
  return {};
}

}  // namespace wick::vulkan
