#include "runtime/platform/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace wick::platform {
namespace {

// Weights are written once, page by page, and a page fault for every 4 KiB costs more than the
// copy. Where the system lets programs choose, large blocks request pages of this size.
[[maybe_unused]] constexpr size_t kHugePage = size_t{1} << 21;

}  // namespace

void* allocate(size_t bytes, size_t align) {
  if (align < sizeof(void*)) align = sizeof(void*);
  size_t rounded = (bytes + align - 1) / align * align;
  if (rounded < bytes) return nullptr;
#if defined(MADV_HUGEPAGE)
  if (rounded >= kHugePage && align <= kHugePage) {
    rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* p = rounded < bytes ? nullptr : aligned_alloc(kHugePage, rounded);
    // whole pages only: the remainder after the last one keeps small pages
    if (p != nullptr) (void)madvise(p, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
    return p;
  }
#endif
  return aligned_alloc(align, rounded == 0 ? align : rounded);
}

void deallocate(void* p) { free(p); }

int map_file(int fd, size_t bytes, const void** at) {
  void* p = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) return errno;
  *at = p;
  return 0;
}

void unmap(const void* at, size_t bytes) { munmap(const_cast<void*>(at), bytes); }

void release_pages(const void* data, size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(data);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t from = (first + page - 1) / page * page, to = (first + bytes) / page * page;
  if (to <= from) return;
  auto* begin = static_cast<char*>(const_cast<void*>(data)) + (from - first);
  (void)madvise(begin, to - from, MADV_DONTNEED);
}

}  // namespace wick::platform
