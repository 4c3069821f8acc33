#include "trainer/tensor/device/device.h"

#include "runtime/core/real_text.h"
#include "trainer/tensor/internal.h"

namespace wick {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& type, const Where& where) {
  std::string why = "there are cpu and vulkan";
  if (type == "cpu") why = "there is one cpu: write cpu or cpu:0";
  if (type == "vulkan") why = "write vulkan, or vulkan:0 and on for one of `wick devices`";
  throw_error("Device", "'" + text + "' is no device: " + why, where, Code::kUnsupported);
}

// Returns the number after the colon, in plain decimal form; -1 for anything else.
int index_of(const std::string& digits) {
  int n = -1;
  return read_integer(digits, &n) && n >= 0 && std::to_string(n) == digits ? n : -1;
}

DeviceType type_of(const std::string& text, const std::string& type, int index,
                   const Where& where) {
  if (type == "vulkan") return DeviceType::kVulkan;
  if (type != "cpu" || index > 0) refuse(text, type, where);
  return DeviceType::kCpu;
}

}  // namespace

Device::Device(const char* text, Where where) {
  const std::string all = text == nullptr ? "" : text;
  const size_t colon = all.find(':');
  const std::string type = all.substr(0, colon);
  if (colon != std::string::npos) {
    index_ = index_of(all.substr(colon + 1));
    if (index_ < 0) refuse(all, type, where);
  }
  type_ = type_of(all, type, index_, where);
}

Device::Device(std::string_view type, int index, Where where) : index_(index) {
  const std::string name(type), text = name + ":" + std::to_string(index);
  if (index < 0) refuse(text, name, where);
  type_ = type_of(text, name, index, where);
}

std::string Device::to_string() const {
  const std::string name = is_vulkan() ? "vulkan" : "cpu";
  return has_index() ? name + ":" + std::to_string(index_) : name;
}

}  // namespace wick
