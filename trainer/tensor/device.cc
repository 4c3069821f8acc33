#include "trainer/tensor/device.h"

#include "trainer/tensor/internal.h"

namespace wick {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& type, const Where& where) {
  std::string why = "there is cpu (cpu:0) only";
  if (type == "cpu")
    why = "there is one cpu: write cpu or cpu:0";
  else if (type == "vulkan")
    why += " to train on; Vulkan runs exported programs: wick run --backend vulkan";
  throw_error("Device", "'" + text + "' is no device of the trainer: " + why, where,
              Code::kUnsupported);
}

}  // namespace

Device::Device(const char* text, Where where) {
  const std::string all = text == nullptr ? "" : text;
  const size_t colon = all.find(':');
  const std::string type = all.substr(0, colon);
  if (type != "cpu") refuse(all, type, where);
  if (colon == std::string::npos) return;
  if (all.substr(colon + 1) != "0") refuse(all, type, where);
  index_ = 0;
}

Device::Device(std::string_view type, int index, Where where) : index_(index) {
  const std::string name(type);
  if (name != "cpu" || index != 0) refuse(name + ":" + std::to_string(index), name, where);
}

std::string Device::to_string() const { return has_index() ? "cpu:0" : "cpu"; }

}  // namespace wick
