// The C ABI of wick/c/vulkan.h. It is in Wick::vulkan, also in a build without Vulkan, where its
// functions say so.
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

// What wick_vulkan_create() makes: the only kind of wick_backend that there is.
struct OpenDevice : wick_backend {
  explicit OpenDevice(const wick_allocator& a) : allocator(a) {}
  CAllocator allocator;
  Owned<VulkanBackend> vulkan;
};

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
  if (backend == nullptr) return;
  auto* device = static_cast<OpenDevice*>(backend);
  device->vulkan.reset();
  CAllocator allocator = device->allocator;
  device->~OpenDevice();
  allocator.deallocate(device, sizeof(OpenDevice), alignof(OpenDevice));
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
