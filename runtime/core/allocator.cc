#include "runtime/core/allocator.h"

#include <cstdlib>

namespace wick {
namespace {

class MallocAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t align) override {
    if (align < sizeof(void*)) align = sizeof(void*);
    size_t rounded = (bytes + align - 1) / align * align;
    if (rounded < bytes) return nullptr;
    return aligned_alloc(align, rounded == 0 ? align : rounded);
  }
  void deallocate(void* p, size_t /*bytes*/, size_t /*align*/) override { free(p); }
};

constinit MallocAllocator g_malloc;

}  // namespace

Allocator& default_allocator() { return g_malloc; }

}  // namespace wick
