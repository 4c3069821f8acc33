// Where a tensor's bytes are and its ops run: the CPU, or a Vulkan device
// (trainer/tensor/vulkan.h).
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace wick {

enum class DeviceType : uint8_t { kCpu, kVulkan };

// A name: nothing is opened, and the device need not be there until a tensor goes to it.
class Device {
 public:
  // "cpu", "cpu:0", "vulkan" (the best one), "vulkan:1" (of those that `wick devices` lists); Error
  // for anything else, with what there is.
  Device(const char* text,  // NOLINT(google-explicit-constructor): x.to("cpu")
         std::source_location where = std::source_location::current());
  Device(std::string_view type, int index,
         std::source_location where = std::source_location::current());

  DeviceType type() const { return type_; }
  bool is_cpu() const { return type_ == DeviceType::kCpu; }
  bool is_vulkan() const { return type_ == DeviceType::kVulkan; }
  bool has_index() const { return index_ >= 0; }
  int index() const { return index_; }  // -1: none was given
  std::string to_string() const;        // "cpu", "cpu:0", "vulkan:1"
  // PyTorch's: "cpu" and "cpu:0" differ, though they are one place.
  friend bool operator==(const Device&, const Device&) = default;

 private:
  DeviceType type_ = DeviceType::kCpu;
  int index_ = -1;
};

}  // namespace wick
