#include "runtime/backend/vulkan/backend.h"

#include <cstring>
#include <new>

#include "runtime/backend/vulkan/graph/expand.h"
#include "runtime/backend/vulkan/partition.h"
#include "runtime/backend/vulkan/trust/trust.h"

namespace wick {

using vulkan::Context;
using vulkan::Fingerprint;
using vulkan::Trust;

namespace {

// Looks whether each part of a call has a shader, and makes nothing.
class Probe final : public vulkan::Builder {
 public:
  Probe(Allocator& allocator, Fingerprint* fingerprint)
      : views_(allocator), lowered_(allocator), fingerprint_(fingerprint) {}

  Result<vulkan::TensorId> temporary(DType dtype, const Shape& shape) override {
    return add(TensorView(nullptr, dtype, shape));
  }
  Result<vulkan::TensorId> constant(float) override {
    return add(TensorView(nullptr, DType::kF32, Shape{}));
  }
  Status call(OpId op, const void* attrs, Span<const vulkan::TensorId> in,
              Span<const vulkan::TensorId> out) override {
    TensorView inputs[kMost], made = views_[out[0]];
    if (in.size() > kMost) return Status(Code::kUnsupported, "too many inputs");
    for (size_t i = 0; i < in.size(); ++i) inputs[i] = views_[in[i]];
    OpCall part;
    part.op = op;
    part.attrs = attrs;
    part.in = {inputs, in.size()};
    part.out = {&made, 1};
    WICK_TRY(annotate(vulkan::lower(part, lowered_), "%s: ", find_op(op)->name));
    if (fingerprint_ != nullptr) fingerprint_->add(part, lowered_);
    return {};
  }
  Result<vulkan::TensorId> add(const TensorView& view) {
    WICK_TRY(views_.push_back(view));
    return static_cast<vulkan::TensorId>(views_.size() - 1);
  }

 private:
  static constexpr size_t kMost = 3;  // inputs of a part
  Array<TensorView> views_;
  vulkan::Lowered lowered_;
  Fingerprint* fingerprint_;
};

Status probe(const KernelQuery& query, Allocator& allocator, Fingerprint* fingerprint) {
  Probe probe(allocator, fingerprint);
  Array<vulkan::TensorId> ids(allocator);
  for (const TensorView& view : query.in) {
    WICK_ASSIGN(auto id, probe.add(view));
    WICK_TRY(ids.push_back(id));
  }
  WICK_ASSIGN(auto out, probe.add(query.out[0]));
  return vulkan::expand({query.op, query.attrs, query.in, ids, out}, probe);
}

}  // namespace

Result<Owned<VulkanBackend>> VulkanBackend::create(Allocator& allocator,
                                                   const VulkanOptions& options) {
  vulkan::ContextOptions context_options;
  context_options.device = options.device;
  context_options.force_staging = options.force_staging;
  context_options.hang_ns = options.hang_ns;
  context_options.intercept = options.intercept;
  context_options.cache_folder = options.cache_folder;
  WICK_ASSIGN(Context * context, Context::create(allocator, context_options));
  void* memory = allocator.allocate(sizeof(VulkanBackend), alignof(VulkanBackend));
  if (memory == nullptr) {
    Context::destroy(context);
    return Status(Code::kOutOfMemory, "no memory for the Vulkan backend");
  }
  Owned<VulkanBackend> backend(new (memory) VulkanBackend(allocator, context));
  if (options.check_kernels) {
    void* room = allocator.allocate(sizeof(Trust), alignof(Trust));
    if (room == nullptr) return Status(Code::kOutOfMemory, "no memory for the Vulkan backend");
    backend->trust_ = new (room) Trust(*context, allocator);
    backend->trust_->load(context->disk());
  }
  return backend;
}

Status VulkanBackend::devices(Array<VulkanDevice>& out) {
  out.clear();
  vulkan::Instance instance;
  WICK_TRY(instance.open());
  Array<vulkan::DeviceInfo> found(out.allocator());
  WICK_TRY(instance.devices(found));
  auto best = vulkan::choose_device(found, nullptr);
  for (size_t i = 0; i < found.size(); ++i) {
    const vulkan::DeviceInfo& from = found[i];
    VulkanDevice d;
    static_assert(sizeof(d.name) == sizeof(from.name));
    memcpy(d.name, from.name, sizeof(d.name));
    d.type = vulkan::device_type_name(from.type);
    d.why_unusable = vulkan::why_unusable(from);
    d.best = best.ok() && *best == i;
    d.vulkan_major = VK_API_VERSION_MAJOR(from.api_version);
    d.vulkan_minor = VK_API_VERSION_MINOR(from.api_version);
    d.driver_version = from.driver_version;
    d.memory_bytes = from.local_bytes;
    d.largest_allocation_bytes = from.max_allocation_bytes;
    d.largest_tensor_bytes = from.limits.maxStorageBufferRange;
    d.subgroup_size = from.subgroup_size;
    d.shared_memory_bytes = from.limits.maxComputeSharedMemorySize;
    d.subgroup_arithmetic = from.subgroup_arithmetic;
    d.f16_storage = from.f16_storage;
    d.f16_arithmetic = from.f16_arithmetic;
    d.i8_storage = from.i8_storage;
    d.integer_dot = from.integer_dot;
    d.matrix_units = from.matrix_units;
    WICK_TRY(out.push_back(d));
  }
  return {};
}

void VulkanBackend::destroy(VulkanBackend* backend) {
  if (backend == nullptr) return;
  Allocator& allocator = backend->allocator_;
  if (backend->trust_ != nullptr) {
    backend->trust_->save(backend->context_->disk());
    backend->trust_->~Trust();
    allocator.deallocate(backend->trust_, sizeof(Trust), alignof(Trust));
  }
  Context::destroy(backend->context_);
  backend->~VulkanBackend();
  allocator.deallocate(backend, sizeof(VulkanBackend), alignof(VulkanBackend));
}

const char* VulkanBackend::device_name() const { return context_->device().info().name; }
const char* VulkanBackend::device_type() const {
  return vulkan::device_type_name(context_->device().info().type);
}

Status VulkanBackend::why_not(const KernelQuery& query) {
  if (context_->lost()) return Status(Code::kDevice, "the Vulkan device was lost before");
  const uint64_t limit = context_->device().info().limits.maxStorageBufferRange;
  auto check = [&](const TensorView& view) -> Status {
    if (!view.present() || view.nbytes() <= limit) return {};
    return error(Code::kUnsupported,
                 "a tensor of %zu bytes is more than a shader of this device sees", view.nbytes());
  };
  for (const TensorView& view : query.out) WICK_TRY(check(view));
  for (const TensorView& view : query.in) WICK_TRY(check(view));
  Fingerprint fingerprint;
  WICK_TRY(shaders_of(query, allocator_, &fingerprint));
  if (trust_ == nullptr || fingerprint.dispatches() == 0) return {};
  if (trust_->holds(query, fingerprint.value())) return {};
  if (context_->lost()) return Status(Code::kDevice, "the Vulkan device was lost");
  return Status(Code::kDevice, "this driver was not seen to compute what the CPU does");
}

size_t VulkanBackend::complaint_count() const {
  return trust_ == nullptr ? 0 : trust_->complaint_count();
}
const char* VulkanBackend::complaint(size_t i) const { return trust_->complaint(i); }
size_t VulkanBackend::checked() const { return trust_ == nullptr ? 0 : trust_->checked(); }

bool VulkanBackend::has_shaders(const KernelQuery& query, Allocator& allocator) {
  return shaders_of(query, allocator, nullptr).ok();
}

Status VulkanBackend::shaders_of(const KernelQuery& query, Allocator& allocator,
                                 Fingerprint* fingerprint) {
  if (query.custom != nullptr) return Status(Code::kUnsupported, "no shader for a custom op");
  if (vulkan::is_expanded(query.op)) return probe(query, allocator, fingerprint);
  constexpr size_t kMaxOutputs = 8;
  if (query.out.size() > kMaxOutputs) return Status(Code::kUnsupported, "too many outputs");
  TensorView out[kMaxOutputs];
  for (size_t i = 0; i < query.out.size(); ++i) out[i] = query.out[i];
  OpCall call;
  call.op = query.op;
  call.attrs = query.attrs;
  call.in = query.in;
  call.out = {out, query.out.size()};
  vulkan::Lowered lowered(allocator);
  WICK_TRY(vulkan::lower(call, lowered));
  if (fingerprint != nullptr) fingerprint->add(call, lowered);
  return {};
}

Result<Owned<Partition>> VulkanBackend::compile(const PartitionSpec& spec, Allocator& allocator) {
  WICK_ASSIGN(auto partition, vulkan::make_partition(*context_, spec, allocator));
  if (trust_ != nullptr) trust_->save(context_->disk());
  context_->save_pipelines();
  return partition;
}

}  // namespace wick
