// PackCache: packed weights of one session, shared by its steps and kept over re-bindings.
#pragma once

#include "runtime/core/arena.h"
#include "runtime/core/array.h"
#include "runtime/kernels/kernel.h"

namespace wick {

class PackCache {
 public:
  PackCache(Allocator& allocator, size_t limit)
      : arena_(allocator, limit), entries_(allocator), slots_(allocator) {}

  struct Key {
    uint32_t constant;     // index in Program::constants()
    const KernelRow* row;  // whose pack() wrote it
    uint32_t layout;       // not 0: what an id means never varies with shapes or threads
    size_t bytes;
    int64_t variant;  // KernelPlan::Pack's
    bool operator==(const Key&) const = default;
  };
  const void* find(const Key& key) const {
    const Entry* e = entry(key);
    return e == nullptr || e->failed ? nullptr : e->data;
  }
  // Memory for a form that is not there; keep() it, and fill it before anybody reads it.
  Result<void*> allocate(const Key& key) {
    if (const Entry* e = entry(key); e != nullptr) return e->data;
    return arena_.allocate(key.bytes, kAlignment);
  }
  // From now on others find it; who cannot fill it says fail().
  Status keep(const Key& key, void* data) {
    if (Entry* e = entry(key); e != nullptr) {
      e->failed = false;
      return {};
    }
    if ((entries_.size() + 1) * 2 > slots_.size()) {
      WICK_TRY(slots_.resize(slots_.empty() ? 16 : slots_.size() * 2));
      for (uint32_t& slot : slots_) slot = 0;
      for (size_t i = 0; i < entries_.size(); ++i) enter(entries_[i].key, i);
    }
    WICK_TRY(entries_.push_back({key, data, false}));
    enter(key, entries_.size() - 1);
    return {};
  }
  void fail(const Key& key) {
    if (Entry* e = entry(key); e != nullptr) e->failed = true;
  }
  size_t bytes() const { return arena_.used(); }
  size_t size() const { return entries_.size(); }
  const Key& key(size_t i) const { return entries_[i].key; }
  // Null for a form that could not be made.
  const void* data(size_t i) const { return entries_[i].failed ? nullptr : entries_[i].data; }

 private:
  struct Entry {
    Key key;
    void* data;
    bool failed;
  };
  const Entry* entry(const Key& key) const {
    if (slots_.empty()) return nullptr;
    for (size_t at = slot_of(key); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (const Entry& e = entries_[slots_[at] - 1]; e.key == key) return &e;
    }
    return nullptr;
  }
  Entry* entry(const Key& key) {
    return const_cast<Entry*>(static_cast<const PackCache*>(this)->entry(key));
  }
  size_t slot_of(const Key& key) const {
    uint64_t hash = (key.constant + 1) * uint64_t{0x9e3779b97f4a7c15};
    hash ^= (key.layout + static_cast<uint64_t>(key.variant) * 31) * uint64_t{0xff51afd7ed558ccd};
    return static_cast<size_t>(hash >> 32) & (slots_.size() - 1);
  }
  void enter(const Key& key, size_t entry) {
    size_t at = slot_of(key);
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<uint32_t>(entry) + 1;
  }
  Arena arena_;
  Array<Entry> entries_;
  Array<uint32_t> slots_;  // a power of two of them: entry + 1, 0 free
};

}  // namespace wick
