#include "runtime/backend/vulkan/backend.h"

#include <cstring>
#include <new>

#include "runtime/backend/vulkan/device_tensor.h"
#include "runtime/backend/vulkan/graph/rows.h"
#include "runtime/backend/vulkan/graph/split.h"
#include "runtime/backend/vulkan/offload.h"
#include "runtime/backend/vulkan/partition.h"
#include "runtime/backend/vulkan/trust/trust.h"

namespace wick {

using vulkan::Context;
using vulkan::Fingerprint;
using vulkan::Trust;

namespace {

// Checks whether each part of a call has a shader, without creating anything.
class Probe final : public vulkan::Builder, private vulkan::Parts {
 public:
  // `each`: not null to have every part checked by itself. `most`: greatest size of a tensor in
  // bytes.
  Probe(Allocator& allocator, const vulkan::Capabilities& can, uint64_t range, uint64_t most,
        Fingerprint* fingerprint, Trust* each)
      : views_(allocator),
        lowered_(allocator, can),
        most_(most),
        fingerprint_(fingerprint),
        each_(each) {
    lowered_.range = range;
  }
  // Returns whether a part was too large to run as one: then the whole is too large to be checked
  // at once.
  bool was_split() const { return was_split_; }

  Result<vulkan::TensorId> temporary(DType dtype, const Shape& shape) override {
    WICK_ASSIGN(size_t bytes, checked_bytes(shape, dtype_bits(dtype)));
    if (bytes > most_) {
      return error(Code::kUnsupported,
                   "a tensor of %zu bytes in between; this device allocates %llu", bytes,
                   static_cast<unsigned long long>(most_));
    }
    return add(TensorView(nullptr, dtype, shape));
  }
  Result<vulkan::TensorId> constant(DType dtype, double) override {
    return add(TensorView(nullptr, dtype, Shape{}));
  }
  Status call(OpId op, const void* attrs, Span<const vulkan::TensorId> in,
              Span<const vulkan::TensorId> out) override {
    TensorView inputs[kMost], made[kMost];
    if (in.size() > kMost || out.size() > kMost)
      return Status(Code::kUnsupported, "too many tensors");
    for (size_t i = 0; i < in.size(); ++i) inputs[i] = views_[in[i]];
    for (size_t i = 0; i < out.size(); ++i) made[i] = views_[out[i]];
    OpCall part;
    part.op = op;
    part.attrs = attrs;
    part.in = {inputs, in.size()};
    part.out = {made, out.size()};
    const char* name = find_op(op)->name;
    if (vulkan::is_too_large(part, lowered_.range)) {
      if (out.size() != 1) return Status(Code::kUnsupported, "a large call of many outputs");
      was_split_ = true;
      return annotate(vulkan::split(part, in, out[0], lowered_.range, *this), "%s: ", name);
    }
    WICK_TRY(annotate(vulkan::lower(part, lowered_), "%s: ", name));
    if (fingerprint_ != nullptr) fingerprint_->add(part, lowered_);
    if (each_ == nullptr || lowered_.dispatches.empty()) return {};
    Fingerprint own;
    own.add(part, lowered_);
    const KernelQuery query{op, attrs, part.in, part.out, 1, nullptr};
    return each_->why_not(query, own.value());
  }
  Result<vulkan::TensorId> add(const TensorView& view) {
    WICK_TRY(views_.push_back(view));
    return static_cast<vulkan::TensorId>(views_.size() - 1);
  }

 private:
  Result<vulkan::TensorId> window(vulkan::TensorId of, uint64_t at, const Shape& shape) override {
    const TensorView& whole = views_[of];
    std::byte* data = whole.data == nullptr ? nullptr : static_cast<std::byte*>(whole.data) + at;
    return add(TensorView(data, whole.dtype, shape));
  }
  Result<vulkan::TensorId> part_temporary(DType dtype, const Shape& shape) override {
    return temporary(dtype, shape);
  }
  Status move(vulkan::TensorId, uint64_t from_at, vulkan::TensorId, uint64_t to_at,
              uint64_t bytes) override {
    vulkan::Dispatch d;
    return vulkan::lower_move(from_at, to_at, bytes, d);
  }
  Status part(OpId op, const void* attrs, Span<const vulkan::TensorId> in,
              Span<const vulkan::TensorId> out, Span<const TensorView>) override {
    return call(op, attrs, in, out);
  }

  static constexpr size_t kMost = 16;  // inputs of a part
  Array<TensorView> views_;
  vulkan::Lowered lowered_;
  uint64_t most_;
  Fingerprint* fingerprint_;
  Trust* each_;
  bool was_split_ = false;
};

Status probe(const KernelQuery& query, Allocator& allocator, Probe& probe, bool expanded) {
  Array<vulkan::TensorId> ids(allocator), out(allocator);
  for (const TensorView& view : query.in) {
    WICK_ASSIGN(auto id, probe.add(view));
    WICK_TRY(ids.push_back(id));
  }
  for (const TensorView& view : query.out) {
    WICK_ASSIGN(auto id, probe.add(view));
    WICK_TRY(out.push_back(id));
  }
  if (!expanded) return probe.call(query.op, query.attrs, ids, out);
  return vulkan::expand({query.op, query.attrs, query.in, ids, query.out, out}, probe);
}

OpCall call_of(const KernelQuery& query, Span<TensorView> out) {
  for (size_t i = 0; i < query.out.size(); ++i) out[i] = query.out[i];
  OpCall call;
  call.op = query.op;
  call.attrs = query.attrs;
  call.in = query.in;
  call.out = out.subspan(0, query.out.size());
  return call;
}

VulkanDevice device_of(const vulkan::DeviceInfo& from) {
  VulkanDevice d;
  static_assert(sizeof(d.name) == sizeof(from.name));
  memcpy(d.name, from.name, sizeof(d.name));
  d.type = vulkan::device_type_name(from.type);
  d.why_unusable = vulkan::why_unusable(from);
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
  d.f16_rounds_to_even = from.f16_rounds_to_even;
  d.f16_keeps_subnormals = from.f16_keeps_subnormals;
  d.f16_keeps_specials = from.f16_keeps_specials;
  d.f16_ieee = from.f16_ieee;
  d.i8_storage = from.i8_storage;
  d.integer_dot = from.integer_dot;
  d.matrix_units = from.matrix_units;
  return d;
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
  context_options.max_range = options.max_range;
  context_options.max_allocation = options.max_allocation;
  context_options.timeline = options.timeline;
  WICK_ASSIGN(Context * context, Context::create(allocator, context_options));
  void* memory = allocator.allocate(sizeof(VulkanBackend), alignof(VulkanBackend));
  if (memory == nullptr) {
    Context::destroy(context);
    return Status(Code::kOutOfMemory, "no memory for the Vulkan backend");
  }
  Owned<VulkanBackend> backend(new (memory) VulkanBackend(allocator, context));
  backend->all_it_can_ = options.offload == VulkanOptions::Offload::kAllItCan;
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
    VulkanDevice d = device_of(found[i]);
    d.best = best.ok() && *best == i;
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

VulkanDevice VulkanBackend::device() const { return device_of(context_->device().info()); }
const char* VulkanBackend::device_name() const { return context_->device().info().name; }
const char* VulkanBackend::device_type() const {
  return vulkan::device_type_name(context_->device().info().type);
}

Status VulkanBackend::why_not(const KernelQuery& query) {
  if (context_->lost()) return Status(Code::kDevice, "the device was lost");
  const uint64_t range = context_->max_range();
  bool beyond = false;  // larger than a shader can access
  for (const Span<const TensorView> views : {query.in, query.out}) {
    for (const TensorView& view : views) {
      if (!view.present()) continue;
      if (view.nbytes() > context_->max_allocation()) {
        return error(Code::kUnsupported, "a tensor of %zu bytes; this device allocates %llu",
                     view.nbytes(), static_cast<unsigned long long>(context_->max_allocation()));
      }
      beyond = beyond || view.nbytes() > range;
    }
  }
  Fingerprint fingerprint;
  const auto can = vulkan::capabilities_of(context_->device().info());
  Form form = Form::kCall;
  const Limits limits = {range, context_->max_allocation()};
  WICK_TRY(shaders_of(query, allocator_, can, limits, &fingerprint, &form));
  if (trust_ == nullptr || fingerprint.dispatches() == 0) return {};
  if (form == Form::kCallInParts || form == Form::kExpandedInParts) {
    Probe each(allocator_, can, range, context_->max_allocation(), nullptr, trust_);
    return context_->noted(probe(query, allocator_, each, form == Form::kExpandedInParts));
  }
  // Mere copies are not compared when their size would take several times as much host memory.
  if (beyond && vulkan::is_copied(query.op)) return {};
  return context_->noted(trust_->why_not(query, fingerprint.value()));
}

Status VulkanBackend::pays(const PartitionSpec& spec) {
  return all_it_can_ ? Status() : vulkan::worth_copying(spec);
}

size_t VulkanBackend::complaint_count() const {
  return trust_ == nullptr ? 0 : trust_->complaint_count();
}
const char* VulkanBackend::complaint(size_t i) const { return trust_->complaint(i); }
size_t VulkanBackend::checked() const { return trust_ == nullptr ? 0 : trust_->checked(); }

bool VulkanBackend::has_shaders(const KernelQuery& query, Allocator& allocator) {
  Fingerprint fingerprint;
  Form form = Form::kCall;
  return shaders_of(query, allocator, {}, {}, &fingerprint, &form).ok();
}

const char* VulkanBackend::why_no_shader(OpId op) { return vulkan::vulkan_row(op).why_none; }

Status VulkanBackend::shaders_of(const KernelQuery& query, Allocator& allocator,
                                 const vulkan::Capabilities& can, const Limits& limits,
                                 Fingerprint* fingerprint, Form* form) {
  if (query.custom != nullptr) return Status(Code::kUnsupported, "no shader for a custom op");
  constexpr size_t kMaxOutputs = 8;
  if (query.out.size() > kMaxOutputs) return Status(Code::kUnsupported, "too many outputs");
  TensorView out[kMaxOutputs];
  const OpCall call = call_of(query, out);
  auto look = [&](bool expanded) {
    *fingerprint = Fingerprint();
    Probe parts(allocator, can, limits.range, limits.allocation, fingerprint, nullptr);
    Status s = probe(query, allocator, parts, expanded);
    *form = !parts.was_split() ? Form::kCall
            : expanded         ? Form::kExpandedInParts
                               : Form::kCallInParts;
    return s;
  };
  if (vulkan::is_expanded(query.op)) return look(true);
  const bool may = vulkan::may_expand(query.op, query.in, query.out);
  if (vulkan::is_too_large(call, limits.range)) {
    Status s = look(false);
    return s.code() == Code::kUnsupported && may ? look(true) : s;
  }
  vulkan::Lowered lowered(allocator, can);
  lowered.range = limits.range;
  if (Status s = vulkan::lower(call, lowered); !s.ok()) return may ? look(true) : s;
  fingerprint->add(call, lowered);
  return {};
}

Result<Owned<DeviceTensor>> VulkanBackend::create_tensor(DType dtype, const Shape& shape) {
  auto tensor = vulkan::VulkanTensor::create(*context_, allocator_, dtype, shape);
  WICK_TRY(context_->noted(tensor.status()));
  return tensor;
}

Result<Owned<Partition>> VulkanBackend::compile(const PartitionSpec& spec, Allocator& allocator) {
  auto partition = vulkan::make_partition(*context_, spec, allocator);
  WICK_TRY(context_->noted(partition.status()));
  if (trust_ != nullptr) trust_->save(context_->disk());
  context_->save_pipelines();
  return partition;
}

}  // namespace wick
