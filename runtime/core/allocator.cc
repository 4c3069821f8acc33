#include "runtime/core/allocator.h"

#include "runtime/platform/memory.h"

namespace wick {
namespace {

class SystemAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t align) override { return platform::allocate(bytes, align); }
  void deallocate(void* p, size_t /*bytes*/, size_t /*align*/) override { platform::deallocate(p); }
};

constinit SystemAllocator g_system;

}  // namespace

Allocator& default_allocator() { return g_system; }

}  // namespace wick
