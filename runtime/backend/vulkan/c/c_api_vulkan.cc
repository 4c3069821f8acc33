// The C ABI of wick/c/vulkan.h. It is in Wick::vulkan, also in a build without Vulkan, where its
// functions say so.
#include <atomic>
#include <utility>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/exec/c_handles.h"
#include "runtime/ops/op_info.h"
#include "wick/c/vulkan.h"

using namespace wick;         // NOLINT: this file only translates
using namespace wick::c_api;  // NOLINT

struct wick_vulkan_devices {
  Array<VulkanDevice> list{default_allocator()};
};

namespace {

// What wick_vulkan_create() makes: the only kind of wick_backend that there is. Its tensors keep
// it.
struct OpenDevice : wick_backend {
  explicit OpenDevice(const wick_allocator& a) : allocator(a) {}
  CAllocator allocator;
  std::atomic<size_t> holders{1};
  Owned<VulkanBackend> vulkan;
};

void release(OpenDevice* device) {
  if (device->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  device->vulkan.reset();
  CAllocator allocator = device->allocator;
  device->~OpenDevice();
  allocator.deallocate(device, sizeof(OpenDevice), alignof(OpenDevice));
}

// The only kind of wick_device_tensor that there is.
struct OpenTensor : wick_device_tensor {
  explicit OpenTensor(OpenDevice* d) : device(d) {
    device->holders.fetch_add(1, std::memory_order_relaxed);
  }
  OpenDevice* device;
  Owned<DeviceTensor> owned;
};

Result<TensorView> view_of(const wick_tensor* tensor, const char* name) {
  WICK_TRY(check_pointer(tensor, name));
  TensorView view;
  if (to_view(*tensor, &view)) return view;
  return error(Code::kInvalidArgument, "%s: rank %d or dtype %d is out of range", name,
               tensor->rank, tensor->dtype);
}

VulkanBackend& vulkan_of(const wick_backend* backend) {
  return *static_cast<const OpenDevice*>(backend)->vulkan;
}

// `name`: a text that lives as long as what the caller asked.
Status put_device(const VulkanDevice& from, const char* name, wick_vulkan_device* to) {
  wick_vulkan_device d = {};
  d.name = name;
  d.type = from.type;
  d.why_unusable = from.why_unusable;
  d.best = from.best ? 1 : 0;
  d.vulkan_major = from.vulkan_major;
  d.vulkan_minor = from.vulkan_minor;
  d.driver_version = from.driver_version;
  d.memory_bytes = from.memory_bytes;
  d.largest_allocation_bytes = from.largest_allocation_bytes;
  d.largest_tensor_bytes = from.largest_tensor_bytes;
  d.subgroup_size = from.subgroup_size;
  d.shared_memory_bytes = from.shared_memory_bytes;
  d.subgroup_arithmetic = from.subgroup_arithmetic ? 1 : 0;
  d.f16_storage = from.f16_storage ? 1 : 0;
  d.f16_arithmetic = from.f16_arithmetic ? 1 : 0;
  d.f16_rounds_to_even = from.f16_rounds_to_even ? 1 : 0;
  d.f16_keeps_subnormals = from.f16_keeps_subnormals ? 1 : 0;
  d.f16_keeps_specials = from.f16_keeps_specials ? 1 : 0;
  d.f16_ieee = from.f16_ieee ? 1 : 0;
  d.i8_storage = from.i8_storage ? 1 : 0;
  d.integer_dot = from.integer_dot ? 1 : 0;
  d.matrix_units = from.matrix_units ? 1 : 0;
  return write_struct(d, to, "device");
}

class ReportToC final : public VulkanSelfTest {
 public:
  explicit ReportToC(const wick_vulkan_report& report) : report_(report) {}

  void on_call(const Call& from) override {
    if (report_.on_call == nullptr) return;
    wick_vulkan_checked to = {};
    to.size = sizeof(to);
    to.op = from.op;
    to_tensor(from.made, &to.made);
    to.made.data = nullptr;
    to.kernels = from.kernels.data();
    to.kernel_count = from.kernels.size();
    to.wrong = from.wrong;
    report_.on_call(report_.user, &to);
  }
  void on_unused(const char* kernel) override {
    if (report_.on_unused != nullptr) report_.on_unused(report_.user, kernel);
  }

 private:
  const wick_vulkan_report& report_;
};

Status open_device(OpenDevice& device, const wick_vulkan_options& o) {
  VulkanOptions options;
  options.device = o.device;
  options.cache_folder = o.cache_folder;
  if (o.hang_ns != 0) options.hang_ns = o.hang_ns;
  options.check_kernels = o.skip_kernel_checks == 0;
  if (o.offload_all != 0) options.offload = VulkanOptions::Offload::kAllItCan;
  WICK_ASSIGN(device.vulkan, VulkanBackend::create(device.allocator, options));
  device.backend = device.vulkan.get();
  return {};
}

}  // namespace

int wick_vulkan_devices_list(wick_vulkan_devices** out) {
  auto list = [&]() -> Status {
    WICK_TRY(check_pointer(out, "devices"));
    void* memory =
        default_allocator().allocate(sizeof(wick_vulkan_devices), alignof(wick_vulkan_devices));
    if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a list of devices");
    auto* devices = new (memory) wick_vulkan_devices;
    if (Status found = VulkanBackend::devices(devices->list); !found.ok()) {
      wick_vulkan_devices_free(devices);
      return found;
    }
    *out = devices;
    return {};
  };
  return fail(list(), {});
}
void wick_vulkan_devices_free(wick_vulkan_devices* devices) {
  if (devices == nullptr) return;
  devices->~wick_vulkan_devices();
  default_allocator().deallocate(devices, sizeof(wick_vulkan_devices),
                                 alignof(wick_vulkan_devices));
}
size_t wick_vulkan_devices_count(const wick_vulkan_devices* devices) {
  return devices == nullptr ? 0 : devices->list.size();
}
int wick_vulkan_devices_get(const wick_vulkan_devices* devices, size_t i,
                            wick_vulkan_device* device) {
  auto get = [&]() -> Status {
    WICK_TRY(check_pointer(devices, "devices"));
    WICK_TRY(check_pointer(device, "device"));
    if (i >= devices->list.size())
      return error(Code::kInvalidArgument, "there is no device %zu of %zu", i,
                   devices->list.size());
    return put_device(devices->list[i], devices->list[i].name, device);
  };
  return fail(get(), {});
}

int wick_vulkan_create(const wick_vulkan_options* given, wick_backend** out) {
  auto create = [&]() -> Status {
    wick_vulkan_options o;
    WICK_TRY(read_options(given, &o));
    WICK_TRY(check_pointer(out, "backend"));
    WICK_TRY(check_allocator(o.allocator));
    CAllocator allocator(o.allocator);
    void* memory = allocator.allocate(sizeof(OpenDevice), alignof(OpenDevice));
    if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a device");
    auto* device = new (memory) OpenDevice(o.allocator);
    if (Status opened = open_device(*device, o); !opened.ok()) {
      wick_vulkan_free(device);
      return opened;
    }
    *out = device;
    return {};
  };
  return fail(create(), {});
}
void wick_vulkan_free(wick_backend* backend) {
  if (backend != nullptr) release(static_cast<OpenDevice*>(backend));
}
int wick_vulkan_opened(const wick_backend* backend, wick_vulkan_device* device) {
  auto get = [&]() -> Status {
    WICK_TRY(check_pointer(backend, "backend"));
    WICK_TRY(check_pointer(device, "device"));
    const VulkanBackend& vulkan = vulkan_of(backend);
    return put_device(vulkan.device(), vulkan.device_name(), device);
  };
  return fail(get(), {});
}

int wick_vulkan_tensor_create(wick_backend* backend, const wick_tensor* type,
                              wick_device_tensor** out) {
  auto create = [&]() -> Status {
    WICK_TRY(check_pointer(backend, "backend"));
    WICK_TRY(check_pointer(out, "tensor"));
    WICK_ASSIGN(const TensorView view, view_of(type, "type"));
    auto* device = static_cast<OpenDevice*>(backend);
    WICK_ASSIGN(Owned<DeviceTensor> made, device->vulkan->create_tensor(view.dtype, view.shape));
    void* memory = device->allocator.allocate(sizeof(OpenTensor), alignof(OpenTensor));
    if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a device tensor");
    auto* tensor = new (memory) OpenTensor(device);
    tensor->tensor = made.get();
    tensor->owned = std::move(made);
    *out = tensor;
    return {};
  };
  return fail(create(), {});
}
void wick_vulkan_tensor_free(wick_device_tensor* given) {
  if (given == nullptr) return;
  auto* tensor = static_cast<OpenTensor*>(given);
  OpenDevice* device = tensor->device;
  tensor->~OpenTensor();
  device->allocator.deallocate(tensor, sizeof(OpenTensor), alignof(OpenTensor));
  release(device);
}
int wick_vulkan_tensor_type(const wick_device_tensor* tensor, wick_tensor* type) {
  Status s = check_pointer(tensor, "tensor");
  if (s.ok()) s = check_pointer(type, "type");
  if (s.ok())
    to_tensor(TensorView(nullptr, tensor->tensor->dtype(), tensor->tensor->shape()), type);
  return fail(s, {});
}
int wick_vulkan_tensor_write(wick_device_tensor* tensor, const wick_tensor* from) {
  auto write = [&]() -> Status {
    WICK_TRY(check_pointer(tensor, "tensor"));
    WICK_ASSIGN(const TensorView view, view_of(from, "from"));
    return tensor->tensor->write(view);
  };
  return fail(write(), {});
}
int wick_vulkan_tensor_read(wick_device_tensor* tensor, const wick_tensor* to) {
  auto read = [&]() -> Status {
    WICK_TRY(check_pointer(tensor, "tensor"));
    WICK_ASSIGN(const TensorView view, view_of(to, "to"));
    return tensor->tensor->read(view);
  };
  return fail(read(), {});
}
int wick_vulkan_save_cache(wick_backend* backend, const char* path) {
  Status s = check_pointer(backend, "backend");
  if (s.ok()) s = check_pointer(path, "path");
  if (s.ok()) s = vulkan_of(backend).save_cache(path);
  return fail(s, {});
}
int wick_vulkan_load_cache(wick_backend* backend, const char* path) {
  Status s = check_pointer(backend, "backend");
  if (s.ok()) s = check_pointer(path, "path");
  if (s.ok()) s = vulkan_of(backend).load_cache(path);
  return fail(s, {});
}

size_t wick_vulkan_checked_count(const wick_backend* backend) {
  return backend == nullptr ? 0 : vulkan_of(backend).checked();
}
size_t wick_vulkan_complaint_count(const wick_backend* backend) {
  return backend == nullptr ? 0 : vulkan_of(backend).complaint_count();
}
const char* wick_vulkan_complaint(const wick_backend* backend, size_t i) {
  return i < wick_vulkan_complaint_count(backend) ? vulkan_of(backend).complaint(i) : nullptr;
}
int wick_vulkan_self_test(wick_backend* backend, const wick_vulkan_report* given) {
  auto test = [&]() -> Status {
    WICK_TRY(check_pointer(backend, "backend"));
    wick_vulkan_report report;
    WICK_TRY(read_struct(given, &report, "report"));
    ReportToC to(report);
    return vulkan_of(backend).self_test(to);
  };
  return fail(test(), {});
}
int wick_vulkan_kernel_count(size_t* count) {
  auto get = [&]() -> Status {
    WICK_TRY(check_pointer(count, "count"));
    Array<VulkanKernel> list(default_allocator());
    WICK_TRY(VulkanBackend::kernels(list));
    *count = list.size();
    return {};
  };
  return fail(get(), {});
}
int wick_vulkan_kernel_get(size_t i, wick_vulkan_kernel* kernel) {
  auto get = [&]() -> Status {
    WICK_TRY(check_pointer(kernel, "kernel"));
    Array<VulkanKernel> list(default_allocator());
    WICK_TRY(VulkanBackend::kernels(list));
    if (i >= list.size())
      return error(Code::kInvalidArgument, "there is no kernel %zu of %zu", i, list.size());
    wick_vulkan_kernel full = {};
    full.name = list[i].name;
    for (int k = 0; k < 3; ++k) full.group_size[k] = list[i].group_size[k];
    full.shared_bytes = list[i].shared_bytes;
    full.buffers = list[i].buffers;
    return write_struct(full, kernel, "kernel");
  };
  return fail(get(), {});
}
const char* wick_vulkan_why_no_shader(const char* op) {
  const OpInfo* info = op == nullptr ? nullptr : find_op(op);
  return info == nullptr ? nullptr : VulkanBackend::why_no_shader(info->id);
}
