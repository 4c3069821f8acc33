#include "runtime/backend/vulkan/eager/eager.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "runtime/backend/vulkan/ctx/arena.h"
#include "runtime/backend/vulkan/eager/queue.h"
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/backend/vulkan/graph/expand.h"

namespace wick {

using vulkan::CallNote;
using vulkan::Dispatch;
using vulkan::Touch;

struct VulkanEager::State {
  State(Allocator& a, Owned<VulkanBackend> b)
      : allocator(a), backend(std::move(b)), pool(backend->context()), queue(backend->context()) {}

  Allocator& allocator;
  Owned<VulkanBackend> backend;
  vulkan::Pool pool;  // behind the queue, which may still use it
  vulkan::EagerQueue queue;
  vulkan::Mutex lock;
};

namespace {

using vulkan::MutexLock;

Touch touch(const VulkanOperand& o, bool write) {
  return {o.memory, o.offset, o.view.nbytes(), write};
}

// All of the memory, for shaders that find their elements by themselves.
Touch whole(const VulkanOperand& o, bool write) { return {o.memory, 0, o.memory->bytes, write}; }

// Dims of one element are left out, and neighbours that both views walk as one are merged.
struct Walk {
  int rank = 0;
  int64_t dims[kMaxRank + 1] = {}, from[kMaxRank + 1] = {}, to[kMaxRank + 1] = {};
};
Walk walk_of(const TensorView& from, const TensorView& to) {
  Walk w;
  for (int i = 0; i < from.rank(); ++i) {
    const int64_t n = from.shape[i], a = from.strides[i], b = to.strides[i];
    if (n == 1) continue;
    const int last = w.rank - 1;
    if (last >= 0 && w.from[last] == a * n && w.to[last] == b * n) {
      w.dims[last] *= n;
      w.from[last] = a;
      w.to[last] = b;
      continue;
    }
    w.dims[w.rank] = n;
    w.from[w.rank] = a;
    w.to[w.rank++] = b;
  }
  return w;
}

// Calls over operands, on their way to the queue. Temporaries live as long as it does.
class Recorder final : public vulkan::Builder {
 public:
  Recorder(Allocator& allocator, vulkan::Pool& pool, vulkan::EagerQueue& queue, CallNote note)
      : pool_(pool),
        queue_(queue),
        note_(note),
        operands_(allocator),
        temporaries_(allocator),
        lowered_(allocator) {}
  ~Recorder() {
    for (VulkanMemory* m : temporaries_) pool_.give(m);
  }

  Result<vulkan::TensorId> add(const VulkanOperand& operand) {
    WICK_TRY(operands_.push_back(operand));
    return static_cast<vulkan::TensorId>(operands_.size() - 1);
  }
  const VulkanOperand& operator[](vulkan::TensorId id) const { return operands_[id]; }

  Result<vulkan::TensorId> temporary(DType dtype, const Shape& shape) override {
    VulkanOperand o;
    o.view = TensorView(nullptr, dtype, shape);
    WICK_TRY(temporaries_.reserve(temporaries_.size() + 1));
    WICK_ASSIGN(o.memory, pool_.take(o.view.nbytes()));
    WICK_TRY(temporaries_.push_back(o.memory));
    return add(o);
  }
  Result<vulkan::TensorId> constant(float value) override {
    WICK_ASSIGN(vulkan::TensorId id, temporary(DType::kF32, Shape{}));
    WICK_TRY(queue_.fill(touch(operands_[id], true), std::bit_cast<uint32_t>(value)));
    return id;
  }
  Status call(OpId op, const void* attrs, Span<const vulkan::TensorId> in,
              Span<const vulkan::TensorId> out) override;

  // The operand itself where a shader can bind it, else a copy in one piece.
  Result<vulkan::TensorId> bindable(const VulkanOperand& operand) {
    if (operand.memory == nullptr) return add(operand);
    if (operand.view.contiguous() && operand.offset % vulkan::kRegionAlignment == 0)
      return add(operand);
    WICK_ASSIGN(vulkan::TensorId id, temporary(operand.view.dtype, operand.view.shape));
    const VulkanOperand to = operands_[id];
    WICK_TRY(copy(operand, to));
    return id;
  }
  Status copy(const VulkanOperand& from, const VulkanOperand& to);

 private:
  static constexpr size_t kMost = 64;  // operands of one call
  Status gather_small(const VulkanOperand& from, const Walk& w, const VulkanOperand& to);

  vulkan::Pool& pool_;
  vulkan::EagerQueue& queue_;
  CallNote note_;
  Array<VulkanOperand> operands_;
  Array<VulkanMemory*> temporaries_;
  vulkan::Lowered lowered_;
};

Status Recorder::call(OpId op, const void* attrs, Span<const vulkan::TensorId> in,
                      Span<const vulkan::TensorId> out) {
  TensorView views[kMost];
  if (in.size() + out.size() > kMost) return vulkan::unsupported("too many inputs");
  for (size_t i = 0; i < in.size(); ++i) views[i] = operands_[in[i]].view;
  for (size_t i = 0; i < out.size(); ++i) views[in.size() + i] = operands_[out[i]].view;
  OpCall call;
  call.op = op;
  call.attrs = attrs;
  call.in = {views, in.size()};
  call.out = {views + in.size(), out.size()};
  WICK_TRY(vulkan::lower(call, lowered_));
  if (lowered_.alias) {
    VulkanOperand from = operands_[in[0]];
    from.view = TensorView(nullptr, from.view.dtype, operands_[out[0]].view.shape);
    return queue_.copy(touch(from, false), touch(operands_[out[0]], true));
  }
  for (const Dispatch& d : lowered_.dispatches) {
    Touch touches[vulkan::kMaxBindings];
    for (uint32_t k = 0; k < d.operands; ++k) {
      const int operand = d.operand[k];
      if (operand == vulkan::kFaultOperand) continue;
      touches[k] = operand >= 0 ? touch(operands_[in[static_cast<size_t>(operand)]], false)
                                : touch(operands_[out[static_cast<size_t>(~operand)]], true);
    }
    WICK_TRY(queue_.dispatch(d, {touches, d.operands}, note_));
  }
  return {};
}

Status Recorder::gather_small(const VulkanOperand& from, const Walk& w, const VulkanOperand& to) {
  const auto size = static_cast<int64_t>(dtype_size(from.view.dtype));
  if (!to.view.contiguous() || to.offset % 4 != 0)
    return vulkan::unsupported("no shader that writes elements of one or two bytes by strides");
  const int64_t n = from.view.numel();
  Dispatch d = vulkan::flat_dispatch(vulkan::ShaderId::k_gather_small, (n * size + 3) / 4);
  add_spec(d, static_cast<uint32_t>(w.rank));
  add_spec(d, static_cast<uint32_t>(size));
  add_push(d, n);
  add_push(d, static_cast<int64_t>(from.offset) / size);
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.dims[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.from[i] : int64_t{0});
  d.operands = 2;
  const Touch touches[] = {whole(from, false), touch(to, true)};
  return queue_.dispatch(d, touches, note_);
}

Status Recorder::copy(const VulkanOperand& from, const VulkanOperand& to) {
  const int64_t n = from.view.numel();
  if (n == 0) return {};
  if (from.view.contiguous() && to.view.contiguous())
    return queue_.copy(touch(from, false), touch(to, true));
  auto size = static_cast<int64_t>(dtype_size(from.view.dtype));
  if (from.memory->bytes / 4 > static_cast<uint64_t>(vulkan::kMaxElements) ||
      to.memory->bytes / 4 > static_cast<uint64_t>(vulkan::kMaxElements))
    return vulkan::unsupported("a view of memory too large for 32-bit indices");
  Walk w = walk_of(from.view, to.view);
  if (w.rank > kMaxRank) return vulkan::unsupported("too many dims that do not merge");
  if (size < 4) return gather_small(from, w, to);
  if (size > 8) return vulkan::unsupported("no shader that moves elements of more than 8 bytes");
  const int64_t words = size / 4;  // of an element
  if (words > 1) {
    if (w.rank == kMaxRank) return vulkan::unsupported("too many dims that do not merge");
    for (int i = 0; i < w.rank; ++i) {
      w.from[i] *= words;
      w.to[i] *= words;
    }
    w.dims[w.rank] = words;
    w.from[w.rank] = w.to[w.rank] = 1;
    ++w.rank;
  }
  Dispatch d = vulkan::flat_dispatch(vulkan::ShaderId::k_copy_32, n * words);
  add_spec(d, static_cast<uint32_t>(w.rank));
  add_push(d, n * words);
  add_push(d, static_cast<int64_t>(from.offset) / 4);
  add_push(d, static_cast<int64_t>(to.offset) / 4);
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.dims[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.from[i] : int64_t{0});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < w.rank ? w.to[i] : int64_t{0});
  d.operands = 2;
  const Touch touches[] = {whole(from, false), whole(to, true)};
  return queue_.dispatch(d, touches, note_);
}

}  // namespace

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
  return eager;
}

void VulkanEager::destroy(VulkanEager* eager) {
  if (eager == nullptr) return;
  State* state = eager->state_;
  Allocator& allocator = state->allocator;
  if (eager->broken_[0] == 0) (void)state->queue.flush();
  state->queue.settle();
  if (eager->broken_[0] == 0) state->backend->context().save_pipelines();
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

// Every error but those of one call leaves the device unusable: what is recorded is lost with it.
Status VulkanEager::checked(Status s) {
  if (s.ok() || s.code() == Code::kUnsupported || s.code() == Code::kInvalidArgument) return s;
  if (!state_->queue.dead() && !state_->backend->context().lost()) return s;
  if (broken_[0] == 0) snprintf(broken_, sizeof(broken_), "%s", s.message());
  return s;
}

Status VulkanEager::usable() const {
  if (broken_[0] == 0) return {};
  return error(Code::kDevice, "the Vulkan device failed before: %s", broken_);
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
    queue.reap();
    if (to.last_use <= queue.finished()) {  // nobody else is at it
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
  Recorder recorder(state_->allocator, state_->pool, state_->queue, {});
  return checked(recorder.copy(from, to));
}

Status VulkanEager::run(const VulkanCall& call) {
  MutexLock lock(state_->lock);
  WICK_TRY(usable());
  return checked(record(call));
}

Status VulkanEager::record(const VulkanCall& call) {
  Recorder recorder(state_->allocator, state_->pool, state_->queue,
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
  if (!vulkan::is_expanded(call.op)) return recorder.call(call.op, call.attrs, in_ids, out_ids);
  return vulkan::expand({call.op, call.attrs, in, in_ids, out_ids[0]}, recorder);
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

size_t VulkanEager::in_flight() const {
  MutexLock lock(state_->lock);
  return state_->queue.in_flight();
}

}  // namespace wick
