// DiskCache: what a device was found to do, kept between programs. One file a kind, for one driver
// of one device and one set of shaders; a file that is not whole counts as missing.
#pragma once

#include "runtime/backend/vulkan/vk/instance.h"

namespace wick::vulkan {

class DiskCache {
 public:
  // `folder` null: the environment's WICK_CACHE_DIR, else $XDG_CACHE_HOME/wick, else ~/.cache/wick.
  // "" keeps nothing, and so does a machine without any of them.
  void open(const char* folder, const DeviceInfo& device);
  bool enabled() const { return folder_[0] != '\0'; }

  // Empty when there is none, or it is not what was written.
  Status read(const char* kind, Array<uint8_t>& bytes) const;
  // Replaces the file as a whole. A folder that cannot be written is no reason to fail: callers go
  // on without.
  Status write(const char* kind, Span<const uint8_t> bytes) const;

 private:
  static constexpr size_t kMaxPath = 1024;
  bool path_of(const char* kind, char* path) const;

  char folder_[kMaxPath] = "";
  char driver_[33] = "";  // of device, driver and shaders
};

}  // namespace wick::vulkan
