// PackCache: packed weights of one session, shared by its steps and kept over re-bindings.
#pragma once

#include "runtime/core/arena.h"
#include "runtime/core/array.h"
#include "runtime/kernels/kernel.h"

namespace wick {

class PackCache {
 public:
  PackCache(Allocator& allocator, size_t limit) : arena_(allocator, limit), entries_(allocator) {}

  struct Key {
    uint32_t constant;     // index in Program::constants()
    const KernelRow* row;  // whose pack() wrote it
    uint32_t layout;       // not 0: what an id means never varies with shapes or threads
    size_t bytes;
    int64_t variant;  // KernelPlan::Pack's
    bool operator==(const Key&) const = default;
  };
  const void* find(const Key& key) const {
    for (const Entry& e : entries_) {
      if (e.key == key) return e.data;
    }
    return nullptr;
  }
  // Memory for a new packed form; call keep() once it is filled.
  Result<void*> allocate(size_t bytes) { return arena_.allocate(bytes, kAlignment); }
  Status keep(const Key& key, const void* data) { return entries_.push_back({key, data}); }
  size_t bytes() const { return arena_.used(); }

 private:
  struct Entry {
    Key key;
    const void* data;
  };
  Arena arena_;
  Array<Entry> entries_;
};

}  // namespace wick
