#include "runtime/platform/memory.h"

#define WIN32_LEAN_AND_MEAN
#include <io.h>
#include <malloc.h>
#include <windows.h>

#include <cerrno>
#include <cstdint>

namespace wick::platform {

void* allocate(size_t bytes, size_t align) {
  if (align < sizeof(void*)) align = sizeof(void*);
  return _aligned_malloc(bytes == 0 ? align : bytes, align);
}

void deallocate(void* p) { _aligned_free(p); }

int map_file(int fd, size_t bytes, const void** at) {
  auto* const file = reinterpret_cast<HANDLE>(_get_osfhandle(fd));
  HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) return EIO;
  *at = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, bytes);
  CloseHandle(mapping);  // the view keeps it open
  return *at != nullptr ? 0 : ENOMEM;
}

void unmap(const void* at, size_t /*bytes*/) { UnmapViewOfFile(at); }

// VirtualUnlock() on pages that are not locked removes them from the working set.
void release_pages(const void* data, size_t bytes) {
  VirtualUnlock(const_cast<void*>(data), bytes);
}

}  // namespace wick::platform
