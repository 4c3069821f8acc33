// The device that holds a tensor's bytes and runs its ops: the CPU, or a Vulkan device
// (trainer/tensor/device/vulkan.h).
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace wick {

// The devices that Wick has: the host, and Vulkan.
enum class DeviceType : uint8_t { kCpu, kVulkan };

// Only a name: nothing is opened, and the device need not exist until a tensor is moved to it.
class Device {
 public:
  // Takes "cpu", "cpu:0", "vulkan" (the best one), or "vulkan:1" (numbered as in `wick devices`).
  // Throws Error for anything else, with the existing devices.
  Device(const char* text,  // NOLINT(google-explicit-constructor): x.to("cpu")
         std::source_location where = std::source_location::current());
  Device(std::string_view type, int index,
         std::source_location where = std::source_location::current());

  // Return the type, whether it is that type, and whether an index was given.
  DeviceType type() const { return type_; }
  bool is_cpu() const { return type_ == DeviceType::kCpu; }
  bool is_vulkan() const { return type_ == DeviceType::kVulkan; }
  bool has_index() const { return index_ >= 0; }
  int index() const { return index_; }  // -1: none was given
  std::string to_string() const;        // "cpu", "cpu:0", "vulkan:1"
  // As in PyTorch "cpu" and "cpu:0" differ, although they are the same device.
  friend bool operator==(const Device&, const Device&) = default;

 private:
  DeviceType type_ = DeviceType::kCpu;
  int index_ = -1;
};

}  // namespace wick
