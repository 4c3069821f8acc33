#include "runtime/core/allocator.h"

#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace wick {
namespace {

// Weights are written once, page by page: a fault for every 4 KiB of them costs more than the
// copy. Where the system leaves it to programs, large blocks ask for pages of this size.
constexpr size_t kHugePage = size_t{1} << 21;

class MallocAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t align) override {
    if (align < sizeof(void*)) align = sizeof(void*);
    size_t rounded = (bytes + align - 1) / align * align;
    if (rounded < bytes) return nullptr;
#if defined(__linux__)
    if (rounded >= kHugePage && align <= kHugePage) {
      rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
      void* p = rounded < bytes ? nullptr : aligned_alloc(kHugePage, rounded);
      // whole pages only: what lies behind the last one stays as small as it is
      if (p != nullptr) (void)madvise(p, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
      return p;
    }
#endif
    return aligned_alloc(align, rounded == 0 ? align : rounded);
  }
  void deallocate(void* p, size_t /*bytes*/, size_t /*align*/) override { free(p); }
};

constinit MallocAllocator g_malloc;

}  // namespace

Allocator& default_allocator() { return g_malloc; }

}  // namespace wick
