#include "runtime/backend/vulkan/eager/pool.h"

#include <new>

#include "runtime/backend/vulkan/ctx/arena.h"

namespace wick::vulkan {
namespace {

constexpr uint64_t kSlabBytes = 1 << 20, kLargestSmall = 64 << 10;
constexpr uint64_t kMostKept = uint64_t{1} << 30;  // of large blocks

// Four sizes per doubling: at most a fifth is unused.
uint64_t large_size(uint64_t bytes) {
  uint64_t base = kLargestSmall;
  while (base * 2 < bytes) base *= 2;
  const uint64_t step = base / 4;
  return (bytes + step - 1) / step * step;
}

}  // namespace

Pool::~Pool() {
  collect(UINT64_MAX, true);
  for (VulkanMemory*& list : small_) {
    while (list != nullptr) {
      VulkanMemory* next = list->next;
      destroy(list);
      list = next;
    }
  }
  Allocator& allocator = context_.allocator();
  while (slabs_ != nullptr) {
    Slab* next = slabs_->next;
    slabs_->~Slab();
    allocator.deallocate(slabs_, sizeof(Slab), alignof(Slab));
    slabs_ = next;
  }
}

Result<VulkanMemory*> Pool::make() {
  void* room = context_.allocator().allocate(sizeof(VulkanMemory), alignof(VulkanMemory));
  if (room == nullptr) return Status(Code::kOutOfMemory, "no memory for a Vulkan tensor");
  return new (room) VulkanMemory;
}

void Pool::destroy(VulkanMemory* memory) {
  memory->~VulkanMemory();
  context_.allocator().deallocate(memory, sizeof(VulkanMemory), alignof(VulkanMemory));
}

Status Pool::add_slab(int small) {
  Allocator& allocator = context_.allocator();
  void* room = allocator.allocate(sizeof(Slab), alignof(Slab));
  if (room == nullptr) return Status(Code::kOutOfMemory, "no memory for Vulkan tensors");
  auto* slab = new (room) Slab;
  const MemoryKind kind = context_.unified() ? MemoryKind::kUnified : MemoryKind::kDevice;
  if (Status s = slab->buffer.create(context_.device(), kSlabBytes, kind); !s.ok()) {
    slab->~Slab();
    allocator.deallocate(slab, sizeof(Slab), alignof(Slab));
    return s;
  }
  slab->next = slabs_;
  slabs_ = slab;
  const uint64_t each = kRegionAlignment << small;
  for (uint64_t at = 0; at + each <= kSlabBytes; at += each) {
    auto piece = make();
    if (!piece.ok()) return at > 0 ? Status() : piece.status();
    (*piece)->buffer = &slab->buffer;
    (*piece)->offset = at;
    (*piece)->bytes = each;
    (*piece)->small = small;
    (*piece)->next = small_[small];
    small_[small] = *piece;
  }
  return {};
}

Result<VulkanMemory*> Pool::take(uint64_t bytes) {
  if (bytes <= kLargestSmall) {
    int small = 0;
    while ((kRegionAlignment << small) < bytes) ++small;
    if (small_[small] == nullptr) WICK_TRY(add_slab(small));
    VulkanMemory* piece = small_[small];
    small_[small] = piece->next;
    live_ += piece->bytes;
    return piece;
  }
  if (bytes > uint64_t{1} << 62) return Status(Code::kOutOfMemory, "no device has so much memory");
  uint64_t size = large_size(bytes);
  const uint64_t most = context_.max_allocation();
  if (size > most && bytes <= most) size = most;
  for (VulkanMemory** at = &large_; *at != nullptr; at = &(*at)->next) {
    if ((*at)->bytes != size) continue;
    VulkanMemory* piece = *at;
    *at = piece->next;
    kept_ -= size;
    live_ += size;
    return piece;
  }
  WICK_ASSIGN(VulkanMemory * piece, make());
  const MemoryKind kind = context_.unified() ? MemoryKind::kUnified : MemoryKind::kDevice;
  if (Status s = piece->own.create(context_.device(), size, kind); !s.ok()) {
    destroy(piece);
    return s;
  }
  piece->buffer = &piece->own;
  piece->bytes = size;
  live_ += size;
  return piece;
}

void Pool::give(VulkanMemory* memory) {
  live_ -= memory->bytes;
  VulkanMemory** list = memory->small >= 0 ? &small_[memory->small] : &large_;
  if (memory->small < 0) {
    if (kept_ + memory->bytes > kMostKept) {
      list = &dying_;
    } else {
      kept_ += memory->bytes;
    }
  }
  memory->next = *list;
  *list = memory;
}

void Pool::collect(uint64_t finished, bool all) {
  auto free_of = [&](VulkanMemory** at, uint64_t* count) {
    while (*at != nullptr) {
      VulkanMemory* piece = *at;
      if (piece->last_use > finished) {
        at = &piece->next;
        continue;
      }
      *at = piece->next;
      if (count != nullptr) *count -= piece->bytes;
      destroy(piece);
    }
  };
  free_of(&dying_, nullptr);
  if (all) free_of(&large_, &kept_);
}

}  // namespace wick::vulkan
