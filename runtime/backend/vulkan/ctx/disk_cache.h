// DiskCache: facts about a device that are kept between programs. One file per kind, for one driver
// of one device and one set of shaders; an incomplete file counts as missing.
#pragma once

#include "runtime/backend/vulkan/vk/instance.h"

namespace wick::vulkan {

class DiskCache {
 public:
  // `folder` null: the environment's WICK_CACHE_DIR, else $XDG_CACHE_HOME/wick, else ~/.cache/wick.
  // With "", or if none of them exists, nothing is kept.
  void open(const char* folder, const DeviceInfo& device);
  bool enabled() const { return folder_[0] != '\0'; }
  // Identifies the device, its driver and this build's shaders: 32 characters.
  const char* driver() const { return driver_; }

  // Empty when there is no file, or its content is not what was written.
  Status read(const char* kind, Array<uint8_t>& bytes) const;
  // Replaces the file as a whole. Callers go on without the cache if the folder cannot be written.
  Status write(const char* kind, Span<const uint8_t> bytes) const;

 private:
  static constexpr size_t kMaxPath = 1024;
  bool path_of(const char* kind, char* path) const;

  char folder_[kMaxPath] = "";
  char driver_[33] = "";  // hash of device, driver and shaders
};

}  // namespace wick::vulkan
