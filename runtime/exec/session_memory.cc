#include "runtime/exec/session_memory.h"

#include <algorithm>
#include <cstring>

namespace wick {

void SessionMemory::limit_strings_now() {
  auto left = [&] { return max_ram - std::min(max_ram, allocator.held() - strings.held()); };
  if (strings.held() > left()) shrink();
  strings.set_limit(left());
}

Status SessionMemory::allow(const Buffer& buffer, size_t bytes, size_t keep) {
  // Kept bytes exist in both buffers for a while.
  const size_t gone = keep == 0 ? buffer.bytes : 0;
  const size_t more = bytes > buffer.bytes ? bytes - gone : 0;
  auto fits = [&] { return allocator.held() <= max_ram && more <= max_ram - allocator.held(); };
  if (!fits()) shrink();
  if (!fits()) {
    return error(Code::kBudgetExceeded, "max_ram: the session needs %zu bytes, %zu are allowed",
                 allocator.held() + more, max_ram);
  }
  return {};
}

Status SessionMemory::grow(Buffer& buffer, size_t bytes, size_t keep) {
  WICK_TRY(allow(buffer, bytes, keep));
  if (bytes <= buffer.bytes) return {};
  if (keep == 0) release(buffer);
  void* made = allocator.allocate(bytes, kAlignment);
  if (made == nullptr) return error(Code::kOutOfMemory, "cannot allocate %zu bytes", bytes);
  if (keep != 0) memcpy(made, buffer.data, keep);
  release(buffer);
  buffer = {made, bytes};
  return {};
}

Status SessionMemory::grow_ahead(Buffer& buffer, size_t bytes) {
  if (bytes <= buffer.bytes) return {};
  if (bytes < SIZE_MAX / 4 && grow(buffer, 2 * bytes).ok()) return {};
  return grow(buffer, bytes);
}

void SessionMemory::release(Buffer& buffer) {
  allocator.deallocate(buffer.data, buffer.bytes, kAlignment);
  buffer = {};
}

void SessionMemory::shrink() {
  strings.shrink();
  temp.shrink();
  for (KeptArena* arena = kept; arena != nullptr; arena = arena->next()) arena->shrink();
}

}  // namespace wick
