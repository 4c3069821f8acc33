#include "runtime/backend/vulkan/ctx/disk_cache.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/backend/vulkan/shaders/shaders.h"
#include "runtime/core/atomic_file.h"
#include "runtime/core/regular_file.h"
#include "runtime/core/sha256.h"
#include "runtime/platform/files.h"

namespace wick::vulkan {
namespace {

constexpr char kMagic[8] = {'W', 'i', 'c', 'k', 'v', 'k', '0', '1'};
constexpr size_t kHeader = sizeof(kMagic) + 32;
constexpr uint64_t kLargest = uint64_t{256} << 20;  // no file of ours is larger

template <class T>
Span<const uint8_t> bytes_of(const T& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof(value)};
}

void make_folder(char* path) {  // and its parent
  char* slash = strrchr(path, '/');
  if (slash != nullptr && slash != path) {
    *slash = '\0';
    platform::make_folder(path);
    *slash = '/';
  }
  platform::make_folder(path);
}

void digest_of(Span<const uint8_t> bytes, uint8_t* digest) {
  Sha256 sha;
  sha.update(bytes);
  sha.finish(digest);
}

}  // namespace

void DiskCache::open(const char* folder, const DeviceInfo& device) {
  const char* sub = "";
  if (folder == nullptr) folder = getenv("WICK_CACHE_DIR");
  if (folder == nullptr && (folder = getenv("XDG_CACHE_HOME")) != nullptr) sub = "/wick";
  if (folder == nullptr && (folder = getenv("HOME")) != nullptr) sub = "/.cache/wick";
  if (folder != nullptr && folder[0] != '\0') {
    int n = snprintf(folder_, sizeof(folder_), "%s%s", folder, sub);
    if (n < 0 || static_cast<size_t>(n) + 80 > sizeof(folder_)) folder_[0] = '\0';
  }
  Sha256 sha;
  sha.update(bytes_of(device.cache_uuid));
  sha.update(bytes_of(device.device_uuid));
  sha.update(bytes_of(device.driver_version));
  sha.update({reinterpret_cast<const uint8_t*>(device.name), strlen(device.name)});
  for (const Shader& s : shaders())
    sha.update({reinterpret_cast<const uint8_t*>(s.spirv.data()), s.spirv.size_bytes()});
  memcpy(driver_, sha.finish_text().text, sizeof(driver_) - 1);
}

bool DiskCache::path_of(const char* kind, char* path) const {
  const int n = snprintf(path, kMaxPath, "%.*s/vulkan-%s.%s", static_cast<int>(kMaxPath) - 80,
                         folder_, driver_, kind);
  return enabled() && n > 0 && static_cast<size_t>(n) < kMaxPath;
}

Status DiskCache::read(const char* kind, Array<uint8_t>& bytes) const {
  bytes.clear();
  char path[kMaxPath];
  if (!path_of(kind, path)) return {};
  RegularFile file;
  if (!file.open(path).ok()) return {};
  Status s;
  if (file.size() > kHeader && file.size() <= kLargest) {
    s = bytes.resize(static_cast<size_t>(file.size()));
    if (s.ok() && !file.read(0, bytes.data(), bytes.size()).ok()) bytes.clear();
  }
  if (!s.ok() || bytes.empty()) return s;
  uint8_t digest[32];
  const size_t n = bytes.size() - kHeader;
  digest_of({bytes.data() + kHeader, n}, digest);
  if (memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0 ||
      memcmp(bytes.data() + sizeof(kMagic), digest, sizeof(digest)) != 0) {
    bytes.clear();
    return {};
  }
  memmove(bytes.data(), bytes.data() + kHeader, n);
  return bytes.resize(n);
}

Status DiskCache::write(const char* kind, Span<const uint8_t> bytes) const {
  char path[kMaxPath];
  if (!path_of(kind, path)) return {};
  if (bytes.size() > kLargest - kHeader)  // read() would not take it
    return Status(Code::kBudgetExceeded, "it is too large for the cache folder");
  memcpy(path, folder_, sizeof(folder_));
  make_folder(path);
  path_of(kind, path);
  uint8_t header[kHeader];
  memcpy(header, kMagic, sizeof(kMagic));
  digest_of(bytes, header + sizeof(kMagic));
  // A link here is nobody's wish: what it leads to would be replaced.
  platform::FileInfo there;
  if (platform::file_info(platform::kNoFolder, path, false, &there) == 0 &&
      there.kind == platform::FileKind::kLink)
    platform::remove_file(path);
  AtomicFile file;
  WICK_TRY(file.open(path));
  WICK_TRY(file.write(header, sizeof(header)));
  WICK_TRY(file.write(bytes.data(), bytes.size()));
  return file.commit();
}

}  // namespace wick::vulkan
