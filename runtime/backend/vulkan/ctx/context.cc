#include "runtime/backend/vulkan/ctx/context.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/backend/backend.h"

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
  if (context == nullptr || context->holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Allocator& allocator = context->allocator_;
  context->~Context();
  allocator.deallocate(context, sizeof(Context), alignof(Context));
}

Context::~Context() {
  leave();
  if (device_.abandoned()) instance_.abandon();
}

Status Context::open(const ContextOptions& options) {
  hang_ns_ = options.hang_ns;
  batch_work_ = options.batch_work;
  WICK_TRY(instance_.open(options.loader, options.intercept));
  Array<DeviceInfo> devices(allocator_);
  WICK_TRY(instance_.devices(devices));
  const char* selector = options.device;
  if (selector == nullptr || selector[0] == '\0') selector = getenv("WICK_VULKAN_DEVICE");
  WICK_ASSIGN(size_t index, choose_device(devices, selector));
  DeviceInfo& info = devices[index];
  if (options.plain) forget_options(info);
  if (options.max_range != 0 && options.max_range < info.limits.maxStorageBufferRange)
    info.limits.maxStorageBufferRange = static_cast<uint32_t>(options.max_range);
  if (options.max_allocation != 0 && options.max_allocation < info.max_allocation_bytes)
    info.max_allocation_bytes = options.max_allocation;
  info.timeline = info.timeline && options.timeline;
  WICK_TRY(device_.open(instance_, info));
  has_timeline_ = device_.info().timeline;
  if (has_timeline_) WICK_TRY(timeline_.create(device_));
  VkPhysicalDeviceType type = device_.info().type;
  // A discrete GPU may map its memory too, but the host reads it slowly: staging is faster there.
  bool near = type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  const char* staging = getenv("WICK_VULKAN_FORCE_STAGING");
  force_staging_ = options.force_staging || (staging != nullptr && staging[0] == '1');
  unified_ = near && has_unified_memory(device_.info()) && !force_staging_;
  disk_.open(options.cache_folder, device_.info());
  Array<uint8_t> kept(allocator_);
  WICK_TRY(disk_.read("pipelines", kept));
  VkPipelineCacheCreateInfo cache = {};
  cache.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  cache.initialDataSize = kept.size();
  cache.pInitialData = kept.data();
  WICK_TRY(cache_.create(device_, &Api::CreatePipelineCache, cache, "vkCreatePipelineCache"));
  enlist();
  return {};
}

// The sessions of a device find out by themselves if it is lost or hangs.
void Context::wait_for_all() {
  if (lost()) return;
  MutexLock lock(queue_lock_);
  if (submitted_ == 0) return;
  if (has_timeline_) {
    (void)timeline_.wait(submitted_, hang_ns_);
  } else {
    (void)device_.api().DeviceWaitIdle(device_.handle());
  }
}

void Context::drain() {
  Submission all;
  {
    MutexLock lock(queue_lock_);
    if (lost() || submitted_ == 0) return;
    if (!has_timeline_) {
      (void)device_.settle();
      return;
    }
    all.value_ = submitted_;
  }
  all.begin_ns_ = now_ns();
  all.pending_ = true;
  (void)wait(all);
}

void Context::save_pipelines() {
  MutexLock lock(pipelines_lock_);
  if (!cache_grew_ || lost() || !disk_.enabled()) return;
  cache_grew_ = false;
  Array<uint8_t> data(allocator_);
  // If the pipelines cannot be stored, they are compiled again.
  if (pipeline_data_locked(data).ok()) (void)disk_.write("pipelines", data);
}

Status Context::pipeline_data_locked(Array<uint8_t>& data) const {
  size_t bytes = 0;
  const Api& api = device_.api();
  WICK_TRY(check(api.GetPipelineCacheData(device_.handle(), cache_.get(), &bytes, nullptr),
                 "vkGetPipelineCacheData"));
  WICK_TRY(data.resize(bytes));
  WICK_TRY(check(api.GetPipelineCacheData(device_.handle(), cache_.get(), &bytes, data.data()),
                 "vkGetPipelineCacheData"));
  return data.resize(bytes);
}

Status Context::pipeline_data(Array<uint8_t>& data) {
  MutexLock lock(pipelines_lock_);
  return pipeline_data_locked(data);
}

// A driver reads the head of the data again and trusts what follows it.
Status Context::add_pipelines(Span<const uint8_t> data) {
  VkPipelineCacheHeaderVersionOne head;
  if (data.empty()) return {};
  if (data.size() < sizeof(head)) return Status(Code::kInvalidProgram, "its pipelines are cut off");
  memcpy(&head, data.data(), sizeof(head));
  const DeviceInfo& info = device_.info();
  if (head.headerSize < sizeof(head) || head.headerSize > data.size() ||
      head.headerVersion != VK_PIPELINE_CACHE_HEADER_VERSION_ONE) {
    return Status(Code::kInvalidProgram, "its pipelines have no valid head");
  }
  if (head.vendorID != info.vendor_id || head.deviceID != info.device_id ||
      memcmp(head.pipelineCacheUUID, info.cache_uuid, VK_UUID_SIZE) != 0) {
    return Status(Code::kUnsupported, "its pipelines are another driver's");
  }
  UniquePipelineCache added;
  VkPipelineCacheCreateInfo create = {};
  create.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  create.initialDataSize = data.size();
  create.pInitialData = data.data();
  MutexLock lock(pipelines_lock_);
  WICK_TRY(added.create(device_, &Api::CreatePipelineCache, create, "vkCreatePipelineCache"));
  const VkPipelineCache from = added.get();
  return check(device_.api().MergePipelineCaches(device_.handle(), cache_.get(), 1, &from),
               "vkMergePipelineCaches");
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

const Context::CachedPipeline* Context::find_locked(ShaderId id,
                                                    Span<const uint32_t> specialisation) const {
  for (const CachedPipeline& p : pipelines_) {
    if (p.id == id && p.count == specialisation.size() &&
        same_words(p.specialisation, specialisation)) {
      return &p;
    }
  }
  return nullptr;
}

Result<PipelineRef> Context::pipeline(ShaderId id, Span<const uint32_t> specialisation) {
  Array<CachedPipeline> made(allocator_);
  WICK_TRY(want(id, specialisation, made));
  for (CachedPipeline& entry : made) WICK_TRY(make(entry));
  WICK_TRY(keep(made));
  MutexLock lock(pipelines_lock_);
  return find_locked(id, specialisation)->pipeline.ref();
}

Status Context::want(ShaderId id, Span<const uint32_t> specialisation,
                     Array<CachedPipeline>& made) {
  if (specialisation.size() > kMaxSpecConstants)
    return Status(Code::kInternal, "too many constants");
  for (const CachedPipeline& p : made) {
    if (p.id == id && p.count == specialisation.size() &&
        same_words(p.specialisation, specialisation))
      return {};
  }
  MutexLock lock(pipelines_lock_);
  if (find_locked(id, specialisation) != nullptr) return {};
  CachedPipeline entry;
  entry.id = id;
  entry.count = static_cast<uint32_t>(specialisation.size());
  for (size_t i = 0; i < specialisation.size(); ++i) entry.specialisation[i] = specialisation[i];
  WICK_ASSIGN(entry.layout, set_layout_locked(shader(id).bindings));
  return made.push_back(std::move(entry));
}

Status Context::make(CachedPipeline& entry) {
  const Shader& s = shader(entry.id);
  Status made = entry.pipeline.create(
      device_, {s.spirv, {entry.specialisation, entry.count}, entry.layout}, cache_.get());
  return annotate(made, "shader %s: ", s.name);
}

Status Context::keep(Array<CachedPipeline>& made) {
  MutexLock lock(pipelines_lock_);
  for (CachedPipeline& entry : made) {
    // Another session may have made it in the meantime.
    if (find_locked(entry.id, {entry.specialisation, entry.count}) != nullptr) continue;
    cache_grew_ = true;
    WICK_TRY(pipelines_.push_back(std::move(entry)));
  }
  made.clear();
  return {};
}

Status Context::submit(Span<const CommandBuffer> commands, Submission& submission) {
  if (submission.pending_) return Status(Code::kInternal, "a submission is still under way");
  if (lost()) return Status(Code::kDevice, "the Vulkan device was lost before");
  if (!has_timeline_) {
    if (submission.fence_.handle() == VK_NULL_HANDLE) WICK_TRY(submission.fence_.create(device_));
    WICK_TRY(submission.fence_.reset());
  }
  if (commands.empty() || commands.size() > kMaxBatches)
    return Status(Code::kInternal, "a submission of no command buffer or too many");
  const auto count = static_cast<uint32_t>(commands.size());
  VkCommandBuffer buffers[kMaxBatches];
  VkSemaphore signalled = timeline_.handle();
  uint64_t numbers[kMaxBatches];
  VkTimelineSemaphoreSubmitInfo values[kMaxBatches] = {};
  VkSubmitInfo submits[kMaxBatches] = {};
  for (uint32_t i = 0; i < count; ++i) {
    buffers[i] = commands[i].handle();
    submits[i].sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submits[i].commandBufferCount = 1;
    submits[i].pCommandBuffers = &buffers[i];
    if (!has_timeline_) continue;
    values[i].sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    values[i].signalSemaphoreValueCount = 1;
    values[i].pSignalSemaphoreValues = &numbers[i];
    submits[i].pNext = &values[i];
    submits[i].signalSemaphoreCount = 1;
    submits[i].pSignalSemaphores = &signalled;
  }
  submission.begin_ns_ = now_ns();
  MutexLock lock(queue_lock_);
  for (uint32_t i = 0; i < count; ++i) numbers[i] = submitted_ + i + 1;
  Status s = check(device_.api().QueueSubmit(
                       device_.queue(), count, submits,
                       has_timeline_ ? VkFence(VK_NULL_HANDLE) : submission.fence_.handle()),
                   "vkQueueSubmit");
  if (s.code() == Code::kDevice) lost_.store(true, std::memory_order_relaxed);
  WICK_TRY(s);
  submitted_ += count;
  submission.value_ = submitted_;
  submission.batches_ = count;
  submission.ahead_ = pending_.fetch_add(count, std::memory_order_relaxed);
  submission.pending_ = true;
  return {};
}

// The queue works in order, so it hangs only if nothing at all completes for hang_ns_: earlier
// submissions of others come first, whether or not somebody waits for them. A timeline shows the
// queue's progress; with fences each earlier command buffer is granted the same time.
Status Context::wait_until_done(Submission& submission, uint64_t deadline_ns, Stop* stop,
                                bool* hangs) {
  constexpr uint64_t kSliceNs = 5'000'000;  // interval of checks whether the run is cancelled
  const uint64_t each = has_timeline_ ? 1 : submission.ahead_ + submission.batches_;
  for (;;) {
    const uint64_t over = done_value_.load(std::memory_order_relaxed);
    const uint64_t next = over < submission.value_ ? over + 1 : submission.value_;
    auto since = [&] {
      const uint64_t last = last_done_ns_.load(std::memory_order_relaxed);
      return last > submission.begin_ns_ ? last : submission.begin_ns_;
    };
    const uint64_t from = since(), hang = from + each * hang_ns_, now = now_ns();
    const bool sooner = deadline_ns != 0 && deadline_ns < hang;
    const uint64_t until = sooner ? deadline_ns : hang;
    uint64_t timeout = until > now ? until - now : 0;
    const bool slice = stop != nullptr && stop->may_cancel() && timeout > kSliceNs;
    if (slice) timeout = kSliceNs;
    Status done = has_timeline_ ? timeline_.wait(next, timeout) : submission.fence_.wait(timeout);
    if (done.code() == Code::kDeadline && slice) {
      if (!stop->reached()) continue;
      *hangs = false;
      return stop->status();
    }
    if (done.code() == Code::kDeadline && !sooner && since() != from) continue;
    *hangs = done.code() == Code::kDeadline && !sooner;
    if (!done.ok()) return done;
    if (!has_timeline_) {
      last_done_ns_.store(now_ns(), std::memory_order_relaxed);
      return done;
    }
    // Only a completion that is new shows progress of the queue, not one that was known.
    uint64_t known = over;
    while (known < next) {
      if (!done_value_.compare_exchange_weak(known, next, std::memory_order_relaxed)) continue;
      last_done_ns_.store(now_ns(), std::memory_order_relaxed);
      break;
    }
    if (next == submission.value_) return done;
  }
}

Status Context::noted(Status s) {
  if (is_device_lost(s)) lost_.store(true, std::memory_order_relaxed);
  return s;
}

// Submitted commands use buffers that the caller frees when this fails, so the work must be known
// to have ended, or nothing may be freed.
Status Context::wait(Submission& submission, uint64_t deadline_ns, Stop* stop) {
  if (!submission.pending_) return Status(Code::kInternal, "nothing was submitted");
  bool hangs = false;
  Status done = wait_until_done(submission, deadline_ns, stop, &hangs);
  if (done.code() == Code::kCancelled) return done;
  if (done.code() == Code::kDeadline && !hangs) return done;
  submission.pending_ = false;
  pending_.fetch_sub(submission.batches_, std::memory_order_relaxed);
  if (done.ok()) return done;
  lost_.store(true, std::memory_order_relaxed);
  if (hangs) {
    device_.abandon();
    return error(Code::kDevice, "the Vulkan device was still busy after %llu ms: it seems to hang",
                 static_cast<unsigned long long>(hang_ns_ / 1'000'000));
  }
  MutexLock lock(queue_lock_);
  device_.settle();
  return done;
}

Status Context::upload(Span<const Upload> pieces) {
  constexpr uint64_t kStagingBytes = 16 << 20;
  uint64_t largest = 0;
  for (const Upload& piece : pieces) largest = piece.bytes > largest ? piece.bytes : largest;
  if (largest == 0) return {};
  Buffer staging;
  CommandBuffer commands;
  Submission submission;
  WICK_TRY(staging.create(device_, largest < kStagingBytes ? largest : kStagingBytes,
                          MemoryKind::kUpload));
  WICK_TRY(commands.create(device_));
  for (const Upload& piece : pieces) {
    for (uint64_t done = 0; done < piece.bytes; done += kStagingBytes) {
      uint64_t n = piece.bytes - done < kStagingBytes ? piece.bytes - done : kStagingBytes;
      memcpy(staging.mapped(), static_cast<const std::byte*>(piece.from) + done, n);
      WICK_TRY(commands.begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
      commands.copy({&staging, 0}, {piece.to.buffer, piece.to.offset + done}, n);
      // Later submissions on this queue read the copied data.
      commands.barrier(kCopyAccess, kShaderAccess);
      WICK_TRY(commands.end());
      WICK_TRY(run(commands, submission));
    }
  }
  return {};
}

}  // namespace wick::vulkan
