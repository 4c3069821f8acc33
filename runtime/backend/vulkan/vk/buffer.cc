#include "runtime/backend/vulkan/vk/buffer.h"

namespace wick::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kHost =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

// The preferred type first; the second is used when no memory of the first is available.
struct Preference {
  VkMemoryPropertyFlags first, second;
};
constexpr Preference kPreferences[] = {
    {kLocal, 0},  // kDevice: any memory that a buffer may use
    {kLocal | kHost, kLocal | kHost},
    {kHost, kHost},
    {kHost | kCached, kHost},
};

Status allocate(const Device& device, const VkMemoryRequirements& need, VkMemoryPropertyFlags flags,
                UniqueMemory& memory) {
  const VkPhysicalDeviceMemoryProperties& types = device.info().memory;
  Status last(Code::kOutOfMemory, "the Vulkan device has no memory of the kind a buffer needs");
  for (uint32_t i = 0; i < types.memoryTypeCount; ++i) {
    if ((need.memoryTypeBits & (1u << i)) == 0) continue;
    if ((types.memoryTypes[i].propertyFlags & flags) != flags) continue;
    VkMemoryAllocateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.allocationSize = need.size;
    info.memoryTypeIndex = i;
    last = memory.create(device, &Api::AllocateMemory, info, "vkAllocateMemory");
    if (last.ok()) return last;
  }
  return last;
}

}  // namespace

bool has_unified_memory(const DeviceInfo& info) {
  for (uint32_t i = 0; i < info.memory.memoryTypeCount; ++i) {
    VkMemoryPropertyFlags flags = info.memory.memoryTypes[i].propertyFlags;
    if ((flags & (kLocal | kHost)) == (kLocal | kHost)) return true;
  }
  return false;
}

Status Buffer::create(const Device& device, uint64_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::kUnified && !has_unified_memory(device.info())) {
    return Status(Code::kUnsupported, "the Vulkan device has no unified memory");
  }
  if (bytes == 0) bytes = 4;  // Vulkan has no empty buffers
  if (bytes > device.info().max_allocation_bytes) {
    return error(Code::kOutOfMemory,
                 "%llu bytes exceed what the Vulkan device gives at once (%llu)",
                 static_cast<unsigned long long>(bytes),
                 static_cast<unsigned long long>(device.info().max_allocation_bytes));
  }
  const Api& api = device.api();
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  WICK_TRY(buffer_.create(device, &Api::CreateBuffer, info, "vkCreateBuffer"));
  VkMemoryRequirements need = {};
  api.GetBufferMemoryRequirements(device.handle(), buffer_.get(), &need);
  const Preference& preference = kPreferences[static_cast<size_t>(kind)];
  Status got = allocate(device, need, preference.first, memory_);
  if (!got.ok() && preference.second != preference.first) {
    got = allocate(device, need, preference.second, memory_);
  }
  WICK_TRY(annotate(got, "%llu bytes: ", static_cast<unsigned long long>(need.size)));
  WICK_TRY(check(api.BindBufferMemory(device.handle(), buffer_.get(), memory_.get(), 0),
                 "vkBindBufferMemory"));
  mapped_ = nullptr;
  if (kind != MemoryKind::kDevice) {
    void* p = nullptr;
    WICK_TRY(check(api.MapMemory(device.handle(), memory_.get(), 0, VK_WHOLE_SIZE, 0, &p),
                   "vkMapMemory"));
    mapped_ = static_cast<std::byte*>(p);
  }
  bytes_ = bytes;
  return {};
}

Status Buffers::create(const Device& device, uint64_t bytes, MemoryKind kind, uint64_t limit) {
  buffers_.clear();
  limit_ = limit;
  WICK_TRY(buffers_.resize(bytes == 0 ? 1 : static_cast<size_t>((bytes + limit - 1) / limit)));
  for (Buffer& buffer : buffers_) {
    const uint64_t here = bytes < limit ? bytes : limit;
    WICK_TRY(buffer.create(device, here, kind));
    bytes -= here;
  }
  return {};
}

uint64_t Buffers::bytes() const {
  uint64_t sum = 0;
  for (const Buffer& buffer : buffers_) sum += buffer.bytes();
  return sum;
}

}  // namespace wick::vulkan
