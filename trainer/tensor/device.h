// Where a tensor's bytes are and its ops run. The trainer's only device is the CPU; Vulkan is a
// backend of exported programs.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace wick {

enum class DeviceType : uint8_t { kCpu };

class Device {
 public:
  // "cpu" or "cpu:0"; Error for anything else, with what there is.
  Device(const char* text,  // NOLINT(google-explicit-constructor): x.to("cpu")
         std::source_location where = std::source_location::current());
  Device(std::string_view type, int index,
         std::source_location where = std::source_location::current());

  DeviceType type() const { return DeviceType::kCpu; }
  bool has_index() const { return index_ >= 0; }
  int index() const { return index_; }  // -1: none was given
  std::string to_string() const;        // "cpu", "cpu:0"
  // PyTorch's: "cpu" and "cpu:0" differ, though they are one place.
  friend bool operator==(const Device&, const Device&) = default;

 private:
  int index_ = -1;
};

}  // namespace wick
