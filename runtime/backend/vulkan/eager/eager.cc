#include "runtime/backend/vulkan/eager/eager.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "runtime/backend/vulkan/eager/recorder.h"

namespace wick {

using vulkan::MutexLock;

struct VulkanEager::State {
  State(Allocator& a, Owned<VulkanBackend> b)
      : allocator(a), backend(std::move(b)), pool(backend->context()), queue(backend->context()) {}

  Allocator& allocator;
  Owned<VulkanBackend> backend;
  vulkan::Pool pool;  // destroyed after the queue, which may still use it
  vulkan::EagerQueue queue;
  vulkan::Mutex lock;
};

Result<Owned<VulkanEager>> VulkanEager::create(Allocator& allocator, const VulkanOptions& options) {
  WICK_ASSIGN(Owned<VulkanBackend> backend, VulkanBackend::create(allocator, options));
  void* room = allocator.allocate(sizeof(State), alignof(State));
  void* own = allocator.allocate(sizeof(VulkanEager), alignof(VulkanEager));
  if (room == nullptr || own == nullptr) {
    allocator.deallocate(room, sizeof(State), alignof(State));
    allocator.deallocate(own, sizeof(VulkanEager), alignof(VulkanEager));
    return Status(Code::kOutOfMemory, "no memory for a Vulkan device");
  }
  Owned<VulkanEager> eager(new (own) VulkanEager);
  eager->state_ = new (room) State(allocator, std::move(backend));
  WICK_TRY(eager->state_->queue.open());
  eager->enlist();
  return eager;
}

void VulkanEager::destroy(VulkanEager* eager) {
  if (eager == nullptr) return;
  eager->leave();
  State* state = eager->state_;
  Allocator& allocator = state->allocator;
  if (eager->broken()[0] == 0) (void)state->queue.flush();
  state->queue.settle();
  if (eager->broken()[0] == 0) state->backend->context().save_pipelines();
  state->~State();
  allocator.deallocate(state, sizeof(State), alignof(State));
  eager->~VulkanEager();
  allocator.deallocate(eager, sizeof(VulkanEager), alignof(VulkanEager));
}

Result<int> VulkanEager::find(const char* device) {
  vulkan::Instance instance;
  WICK_TRY(instance.open());
  Array<vulkan::DeviceInfo> found(default_allocator());
  WICK_TRY(instance.devices(found));
  if (device == nullptr || device[0] == 0) device = getenv("WICK_VULKAN_DEVICE");
  WICK_ASSIGN(size_t at, vulkan::choose_device(found, device));
  return static_cast<int>(at);
}

Result<int> VulkanEager::count() {
  vulkan::Instance instance;
  WICK_TRY(instance.open());
  Array<vulkan::DeviceInfo> found(default_allocator());
  WICK_TRY(instance.devices(found));
  return static_cast<int>(found.size());
}

const char* VulkanEager::device_name() const { return state_->backend->device_name(); }

// Every error except those of one call makes the device unusable: recorded commands are lost with
// it.
Status VulkanEager::checked(Status s) {
  if (s.ok() || s.code() == Code::kUnsupported || s.code() == Code::kInvalidArgument) return s;
  if (!state_->queue.dead() && !state_->backend->context().lost()) return s;
  if (is_broken_.load(std::memory_order_relaxed)) return s;
  snprintf(broken_, sizeof(broken_), "%s", s.message());
  is_broken_.store(true, std::memory_order_release);
  return s;
}

Status VulkanEager::usable() const {
  if (broken()[0] == 0) return {};
  return error(Code::kDevice, "the Vulkan device failed before: %s", broken());
}

Result<VulkanMemory*> VulkanEager::allocate(uint64_t bytes) {
  MutexLock lock(state_->lock);
  WICK_TRY(usable());
  auto first = state_->pool.take(bytes);
  if (first.ok() || first.status().code() != Code::kOutOfMemory) return first;
  WICK_TRY(checked(state_->queue.wait_all()));
  state_->pool.collect(state_->queue.finished(), true);
  auto second = state_->pool.take(bytes);
  if (second.ok()) return second;
  return annotate(second.status(), "%llu bytes are live on the Vulkan device; ",
                  static_cast<unsigned long long>(state_->pool.live_bytes()));
}

void VulkanEager::free(VulkanMemory* memory) {
  MutexLock lock(state_->lock);
  state_->pool.give(memory);
  state_->pool.collect(state_->queue.finished(), false);
}

uint64_t VulkanEager::live_bytes() const {
  MutexLock lock(state_->lock);
  return state_->pool.live_bytes();
}
uint64_t VulkanEager::kept_bytes() const {
  MutexLock lock(state_->lock);
  return state_->pool.kept_bytes();
}

Status VulkanEager::upload(VulkanMemory& to, const void* from, uint64_t bytes, bool wait) {
  if (bytes == 0) return {};
  MutexLock lock(state_->lock);
  WICK_TRY(usable());
  vulkan::EagerQueue& queue = state_->queue;
  if (to.mapped() != nullptr) {
    WICK_TRY(checked(queue.reap()));
    if (to.last_use <= queue.finished()) {  // no command uses it
      memcpy(to.mapped(), from, bytes);
      return {};
    }
  }
  WICK_TRY(checked(queue.stage(from, {&to, 0, bytes, true})));
  return checked(wait ? queue.wait(to.last_use) : queue.flush());
}

Status VulkanEager::download(VulkanMemory& from, uint64_t offset, void* to, uint64_t bytes) {
  MutexLock lock(state_->lock);
  WICK_TRY(usable());
  if (bytes > 0) WICK_TRY(checked(state_->queue.read_back({&from, offset, bytes, false}, to)));
  return state_->queue.take_fault();
}

Status VulkanEager::fill(VulkanMemory& to, uint64_t bytes, uint32_t word) {
  MutexLock lock(state_->lock);
  WICK_TRY(usable());
  return checked(state_->queue.fill({&to, 0, bytes, true}, word));
}

Status VulkanEager::copy(const VulkanOperand& from, const VulkanOperand& to) {
  MutexLock lock(state_->lock);
  WICK_TRY(usable());
  vulkan::Recorder recorder(state_->backend->context(), state_->pool, state_->queue, {});
  return checked(recorder.copy(from, to));
}

Status VulkanEager::run(const VulkanCall& call) {
  MutexLock lock(state_->lock);
  WICK_TRY(usable());
  return checked(record(call));
}

Status VulkanEager::record(const VulkanCall& call) {
  vulkan::Recorder recorder(state_->backend->context(), state_->pool, state_->queue,
                            {call.op, call.file, call.line});
  if (call.op == OpId::kIdentity) return recorder.copy(call.in[0], call.out[0]);
  Array<TensorView> views(state_->allocator);
  WICK_TRY(views.reserve(call.in.size() + call.out.size()));
  for (const VulkanOperand& o : call.in)
    WICK_TRY(
        views.push_back({o.memory != nullptr ? nullptr : o.view.data, o.view.dtype, o.view.shape}));
  for (const VulkanOperand& o : call.out)
    WICK_TRY(views.push_back({nullptr, o.view.dtype, o.view.shape}));
  const Span<const TensorView> in = {views.data(), call.in.size()};
  const Span<const TensorView> out = {views.data() + call.in.size(), call.out.size()};
  KernelQuery query;
  query.op = call.op;
  query.attrs = call.attrs;
  query.in = in;
  query.out = out;
  WICK_TRY(state_->backend->why_not(query));
  Array<vulkan::TensorId> ids(state_->allocator);
  WICK_TRY(ids.reserve(views.size()));
  for (const VulkanOperand& o : call.in) {
    WICK_ASSIGN(vulkan::TensorId id, recorder.bindable(o));
    WICK_TRY(ids.push_back(id));
  }
  for (const VulkanOperand& o : call.out) {
    WICK_ASSIGN(vulkan::TensorId id, recorder.add(o));
    WICK_TRY(ids.push_back(id));
  }
  const Span<const vulkan::TensorId> in_ids = {ids.data(), call.in.size()};
  const Span<const vulkan::TensorId> out_ids = {ids.data() + call.in.size(), call.out.size()};
  if (!vulkan::is_expanded(call.op)) {
    const Status s = recorder.call(call.op, call.attrs, in_ids, out_ids);
    if (s.code() != Code::kUnsupported || !vulkan::may_expand(call.op, in, out)) return s;
  }
  return vulkan::expand({call.op, call.attrs, in, in_ids, out, out_ids}, recorder);
}

bool VulkanEager::reads_input(OpId op, size_t input) { return vulkan::reads_input(op, input); }

Status VulkanEager::flush() {
  MutexLock lock(state_->lock);
  WICK_TRY(usable());
  return checked(state_->queue.flush());
}

Status VulkanEager::synchronize() {
  MutexLock lock(state_->lock);
  WICK_TRY(usable());
  WICK_TRY(checked(state_->queue.wait_all()));
  return state_->queue.take_fault();
}

void VulkanEager::wait_for_all() {
  MutexLock lock(state_->lock);
  if (usable().ok()) (void)checked(state_->queue.wait_all());  // the next call reports an error
}

size_t VulkanEager::in_flight() const {
  MutexLock lock(state_->lock);
  return state_->queue.in_flight();
}

}  // namespace wick
