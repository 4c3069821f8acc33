// Maps addresses to the memory of a device, and keeps the open devices.
#include "trainer/tensor/device/vulkan_memory.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "trainer/tensor/device/vulkan.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick {
namespace {

// An address consists of the tag, a slot number, and an offset into the slot's memory.
constexpr int kOffsetBits = 36, kSlotBits = 19, kChunkBits = 10;
constexpr uint64_t kChunk = uint64_t{1} << kChunkBits;
constexpr uint64_t kSlots = uint64_t{1} << kSlotBits;
static_assert(sizeof(void*) == 8, "the trainer is built for 64 bits");

struct Slot {
  VulkanMemory* memory = nullptr;
  std::shared_ptr<VulkanPlace> place;
};

struct Registry {
  std::mutex mutex;
  // Slots are found without the lock, as a chunk is never moved.
  std::atomic<Slot*> chunks[kSlots / kChunk] = {};
  std::vector<uint32_t> free_slots;
  uint64_t slots = 0;
  std::vector<std::shared_ptr<VulkanPlace>> open;
  VulkanOptions options;
  int best = -1;  // "vulkan" without a number; -1: not determined yet
};
// Never destroyed: tensors in static objects may outlive any order of destruction.
Registry& registry() {
  alignas(Registry) static char memory[sizeof(Registry)];
  static Registry* r = new (memory) Registry;
  return *r;
}

Slot& slot_at(uint64_t n) {
  return registry().chunks[n >> kChunkBits].load(std::memory_order_acquire)[n & (kChunk - 1)];
}
uint64_t number_of(const void* address) {
  return (reinterpret_cast<uintptr_t>(address) & ~kDeviceTag) >> kOffsetBits;
}

// Bits 36 to 54 hold the slot's number, below bit 55 of the tag.
void* address_of(uint64_t slot) {
  return reinterpret_cast<void*>(kDeviceTag | slot << kOffsetBits);  // NOLINT: never followed
}

void* enter(VulkanMemory* memory, std::shared_ptr<VulkanPlace> place) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  uint64_t n = r.slots;
  if (!r.free_slots.empty()) {
    n = r.free_slots.back();
    r.free_slots.pop_back();
  } else if (n == kSlots) {
    return nullptr;
  } else {
    if (n % kChunk == 0) {
      r.chunks[n >> kChunkBits].store(new Slot[kChunk], std::memory_order_release);
      r.free_slots.reserve(n + kChunk);
    }
    ++r.slots;
  }
  Slot& s = slot_at(n);
  s.memory = memory;
  s.place = std::move(place);
  return address_of(n);
}

// The caller must hold the registry's lock.
int best_index(const char* op, const Where& where) {
  Registry& r = registry();
  if (r.best >= 0) return r.best;
  auto best = VulkanEager::find(nullptr);
  if (!best.ok()) throw_status(op, best.status(), where);
  return r.best = *best;
}

std::shared_ptr<VulkanPlace> open_place(const char* op, const Device& device, const Where& where) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const int index = device.has_index() ? device.index() : best_index(op, where);
  std::erase_if(r.open, [](const auto& p) { return p->eager->broken()[0] != 0; });
  for (const auto& place : r.open) {
    if (place->index == index) return place;
  }
  const std::string number = std::to_string(index);
  VulkanOptions options = r.options;
  options.device = number.c_str();
  auto eager = VulkanEager::create(default_allocator(), options);
  if (!eager.ok()) throw_status(op, eager.status(), where);
  static const bool registered = atexit([] { close_vulkan(); }) == 0;
  static_cast<void>(registered);
  auto place = std::make_shared<VulkanPlace>();
  place->eager = std::move(*eager);
  place->index = index;
  r.open.push_back(place);
  return place;
}

[[noreturn]] void fail_on(const VulkanPlace& place, const char* op, Status status,
                          const Where& where) {
  throw_error(op, failure_text(place, status), where, status.code());
}

Tensor new_tensor_at(const std::shared_ptr<VulkanPlace>& place, const Shape& shape, DType dtype,
                     const Where& born) {
  auto bytes = checked_bytes(shape, dtype_bits(dtype));
  if (!bytes.ok()) throw_status("empty", bytes.status(), born);
  auto memory = place->eager->allocate(*bytes);
  if (!memory.ok()) fail_on(*place, "empty", memory.status(), born);
  void* address = *bytes >> kOffsetBits == 0 ? enter(*memory, place) : nullptr;
  if (address == nullptr) {
    place->eager->free(*memory);
    throw_error("empty", "too many or too large tensors for one process", born, Code::kOutOfMemory);
  }
  IntrusivePtr<TensorImpl> impl(new TensorImpl);
  impl->storage = Storage::on_vulkan(address, *bytes, born);
  impl->view = TensorView(address, dtype, shape);
  impl->inference = modes().inference;
  return Tensor(std::move(impl));
}

std::shared_ptr<VulkanPlace> place_of(const TensorView& v) {
  return slot_at(number_of(v.data)).place;
}

}  // namespace

std::string failure_text(const VulkanPlace& place, Status status) {
  std::string text = "vulkan:" + std::to_string(place.index) + ": " + status.message();
  if (place.eager->broken()[0] == 0) return text;
  return text + "; its tensors are lost, and the next transfer to it opens it anew";
}

VulkanSpot spot_of(const void* address) {
  const Slot& s = slot_at(number_of(address));
  const uint64_t offset = reinterpret_cast<uintptr_t>(address) & ((uint64_t{1} << kOffsetBits) - 1);
  return {s.place.get(), s.memory, offset};
}

void release_vulkan(void* address) {
  const uint64_t n = number_of(address);
  Slot& s = slot_at(n);
  std::shared_ptr<VulkanPlace> place = std::move(s.place);  // may be its last: outside the lock
  place->eager->free(s.memory);
  s.memory = nullptr;
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.free_slots.push_back(static_cast<uint32_t>(n));  // does not allocate: the space is reserved
}

bool any_on_device(Span<const TensorView> views) {
  for (const TensorView& v : views) {
    if (on_device(v.data)) return true;
  }
  return false;
}

Device device_of(const TensorView& v) {
  if (!on_device(v.data)) return "cpu";
  return {"vulkan", spot_of(v.data).place->index};
}

Device best_vulkan(const Where& where) {
  std::lock_guard lock(registry().mutex);
  return {"vulkan", best_index("to", where)};
}

Tensor new_tensor_beside(const TensorView& beside, const Shape& shape, DType dtype,
                         const Where& born) {
  if (!on_device(beside.data)) return new_tensor(shape, dtype, born);
  return new_tensor_at(place_of(beside), shape, dtype, born);
}

Tensor full_beside(const TensorView& beside, const Shape& shape, const Tensor& value,
                   const Where& born) {
  const std::shared_ptr<VulkanPlace> place = place_of(beside);
  const DType dtype = value.dtype();
  Tensor t = new_tensor_at(place, shape, dtype, born);
  const size_t bytes = t.layout().nbytes();
  if (bytes == 0) return t;
  uint32_t words[2] = {};
  const size_t size = dtype_size(dtype);
  auto* to = reinterpret_cast<char*>(words);
  for (size_t at = 0; at < sizeof(words); at += size) memcpy(to + at, value.raw().data, size);
  VulkanMemory& memory = *spot_of(t.layout().data).memory;
  Status s = words[0] == words[1]
                 ? place->eager->fill(memory, bytes, words[0])
                 : place->eager->upload(memory, wick::full(shape, 0, dtype).copy_(value).raw().data,
                                        bytes, false);
  if (!s.ok()) fail_on(*place, "full", s, born);
  return t;
}

Tensor zeros_beside(const Tensor& beside, const Shape& shape, DType dtype, const Where& where) {
  if (!beside.is_vulkan()) return zeros(shape, dtype, where);
  return full_beside(beside.layout(), shape, full({}, 0, dtype), where);
}

Tensor to_host(const Tensor& t, const Where& where) {
  return t.is_vulkan() ? transfer("cpu", t, "cpu", false, where) : t;
}

Tensor transfer(const char* op, const Tensor& x, const Device& device, bool non_blocking,
                const Where& where) {
  const Tensor source = x.is_vulkan() && device.is_vulkan() ? to_host(x, where) : x;
  if (device.is_cpu()) {
    Tensor dense = source.detach();
    if (!dense.is_contiguous()) {
      dense = new_tensor_beside(source.layout(), source.raw_shape(), source.dtype(), where);
      copy_bytes(source, dense, where);
    }
    const std::shared_ptr<VulkanPlace> place = place_of(dense.layout());
    Tensor t = new_tensor(dense.raw_shape(), dense.dtype(), where);
    const VulkanSpot spot = spot_of(dense.layout().data);
    Status s =
        place->eager->download(*spot.memory, spot.offset, t.layout().data, t.layout().nbytes());
    if (!s.ok()) fail_on(*place, op, s, where);
    return t;
  }
  const std::shared_ptr<VulkanPlace> place = open_place(op, device, where);
  Tensor dense = source.detach();
  if (!dense.is_contiguous()) {
    dense = new_tensor(source.raw_shape(), source.dtype(), where);
    copy_bytes(source, dense, where);
  }
  Tensor t = new_tensor_at(place, dense.raw_shape(), dense.dtype(), where);
  Status s = place->eager->upload(*spot_of(t.layout().data).memory, dense.raw().data,
                                  t.layout().nbytes(), !non_blocking);
  if (!s.ok()) fail_on(*place, op, s, where);
  return t;
}

Tensor moved_beside(const Tensor& beside, const Tensor& t, const Where& where) {
  const Device there = device_of(beside.layout());
  return device_of(t.layout()) == there ? t : transfer("copy_", t, there, true, where);
}

void wait_for_vulkan(const char* op, const Where& where) {
  std::vector<std::shared_ptr<VulkanPlace>> open;
  {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    open = r.open;
  }
  for (const auto& place : open) {
    if (place->eager->broken()[0] != 0) continue;  // it was reported when it occurred
    if (Status s = place->eager->synchronize(); !s.ok()) fail_on(*place, op, s, where);
  }
}

void set_vulkan_options(const VulkanOptions& options) {
  Registry& r = registry();
  close_vulkan();
  std::lock_guard lock(r.mutex);
  r.options = options;
}

void close_vulkan() {
  std::vector<std::shared_ptr<VulkanPlace>> open;
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::swap(open, r.open);
  r.best = -1;
}

// -- the public functions

std::string why_no_vulkan() {
  try {
    open_place("vulkan", "vulkan", Where::current());
  } catch (const Error& e) {
    const std::string text = e.what();
    const size_t begin = text.find("] "), end = text.rfind(" (");
    return text.substr(begin + 2, end - begin - 2);
  }
  return "";
}
bool vulkan_is_available() { return why_no_vulkan().empty(); }

int vulkan_device_count() {
  auto n = VulkanEager::count();
  return n.ok() ? *n : 0;
}

std::string vulkan_device_name(int index, const Where& where) {
  const Device device = index < 0 ? Device("vulkan") : Device("vulkan", index);
  return open_place("vulkan_device_name", device, where)->eager->device_name();
}

void vulkan_synchronize(const Where& where) { wait_for_vulkan("vulkan_synchronize", where); }

}  // namespace wick
