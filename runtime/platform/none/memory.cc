// Uses the C library's memory; a program that has none gives Wick its own Allocator.
#include "runtime/platform/memory.h"

#include <cerrno>
#include <cstdlib>
#if defined(__NEWLIB__)
#include <malloc.h>
#endif

namespace wick::platform {

void* allocate(size_t bytes, size_t align) {
  if (align < sizeof(void*)) align = sizeof(void*);
  const size_t rounded = (bytes + align - 1) / align * align;
  if (rounded < bytes) return nullptr;
#if defined(__NEWLIB__)  // not every build of newlib has what its aligned_alloc() calls
  return memalign(align, rounded == 0 ? align : rounded);
#else
  return aligned_alloc(align, rounded == 0 ? align : rounded);
#endif
}

void deallocate(void* p) { free(p); }

int map_file(int /*fd*/, size_t /*bytes*/, const void** /*at*/) { return ENOSYS; }
void unmap(const void* /*at*/, size_t /*bytes*/) {}
void release_pages(const void* /*data*/, size_t /*bytes*/) {}

}  // namespace wick::platform
