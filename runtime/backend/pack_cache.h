// PackCache: packed weights of one session, shared by its steps and kept when it is bound again.
#pragma once

#include "runtime/core/arena.h"
#include "runtime/core/array.h"
#include "runtime/kernels/kernel.h"

namespace wick {

class PackCache {
 public:
  PackCache(Allocator& allocator, size_t limit)
      : allocator_(allocator), arena_(allocator, limit), entries_(allocator), slots_(allocator) {}

  // The session's allocator, for memory that is freed before a form.
  Allocator& allocator() const { return allocator_; }

  struct Key {
    uint32_t constant;     // index in Program::constants()
    const KernelRow* row;  // the row whose pack() wrote it
    uint32_t layout;       // not 0: the meaning of an id never depends on shapes or threads
    size_t bytes;
    int64_t variant;  // KernelPlan::Pack's
    bool operator==(const Key&) const = default;
  };
  // Returns the entry with this key, a new one if there is none.
  Result<uint32_t> entry(const Key& key) {
    for (size_t at = slots_.empty() ? 0 : slot_of(key); !slots_.empty() && slots_[at] != 0;
         at = (at + 1) & (slots_.size() - 1)) {
      if (entries_[slots_[at] - 1].key == key) return slots_[at] - 1;
    }
    if ((entries_.size() + 1) * 2 > slots_.size()) {
      WICK_TRY(slots_.resize(slots_.empty() ? 16 : slots_.size() * 2));
      for (uint32_t& slot : slots_) slot = 0;
      for (size_t i = 0; i < entries_.size(); ++i) enter(entries_[i].key, i);
    }
    WICK_TRY(entries_.push_back({key}));
    enter(key, entries_.size() - 1);
    return static_cast<uint32_t>(entries_.size() - 1);
  }
  // Allocates memory for new packed forms, in one block: large blocks get large pages.
  Result<void*> allocate(size_t bytes) { return arena_.allocate(bytes, kAlignment); }
  // Returns the memory of an entry's form; null: not allocated yet.
  void* room(size_t i) const { return entries_[i].room; }
  void set_room(size_t i, void* room) { entries_[i].room = room; }
  // Marks the form as packed; one that failed is packed in the next binding.
  void set_packed(size_t i) { entries_[i].packed = true; }
  // True from when the first binding plans to pack it until that binding ends.
  bool planned(size_t i) const { return entries_[i].planned; }
  void set_planned(size_t i, bool planned) { entries_[i].planned = planned; }
  size_t bytes() const { return arena_.used(); }
  size_t size() const { return entries_.size(); }
  const Key& key(size_t i) const { return entries_[i].key; }
  // Returns the packed form; null: not packed.
  const void* data(size_t i) const { return entries_[i].packed ? entries_[i].room : nullptr; }

 private:
  struct Entry {
    Key key;
    void* room = nullptr;
    bool planned = false, packed = false;
  };
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
  Allocator& allocator_;
  Arena arena_;
  Array<Entry> entries_;
  Array<uint32_t> slots_;  // their number is a power of two; entry + 1, or 0 where free
};

}  // namespace wick
