// PackCache: the packed weights that one session uses. They belong to the program (PackStore); the
// session keeps those that it has used until it is freed, also when it is bound again.
#pragma once

#include "runtime/core/array.h"
#include "runtime/program/pack_store.h"
#include "runtime/program/release.h"

namespace wick {

class PackCache {
 public:
  // `limit`: the most bytes of forms that the session may use, whichever session packed them.
  PackCache(const Program& program, Allocator& allocator, size_t limit)
      : program_(program),
        store_(PackStore::of(program)),
        allocator_(allocator),
        limit_(limit < SIZE_MAX / 2 ? limit : SIZE_MAX / 2),
        entries_(allocator),
        slots_(allocator) {}
  PackCache(const PackCache&) = delete;
  PackCache& operator=(const PackCache&) = delete;
  ~PackCache() {
    for (const Entry& entry : entries_) store_.leave(entry.form);
  }

  // The session's allocator, for memory that is freed before a form.
  Allocator& allocator() const { return allocator_; }
  PackStore& store() const { return store_; }

  using Key = PackStore::Key;
  // Returns the entry with this key, a new one if there is none.
  Result<uint32_t> entry(const Key& key) {
    for (size_t at = slots_.empty() ? 0 : slot_of(key); !slots_.empty() && slots_[at] != 0;
         at = (at + 1) & (slots_.size() - 1)) {
      if (entries_[slots_[at] - 1].form->key() == key) return slots_[at] - 1;
    }
    if ((entries_.size() + 1) * 2 > slots_.size()) {
      WICK_TRY(slots_.resize(slots_.empty() ? 16 : slots_.size() * 2));
      for (uint32_t& slot : slots_) slot = 0;
      for (size_t i = 0; i < entries_.size(); ++i) enter(entries_[i].form->key(), i);
    }
    const size_t bytes = (key.bytes + kAlignment - 1) & ~(kAlignment - 1);
    if (bytes < key.bytes || bytes > limit_ - bytes_) {
      return error(Code::kBudgetExceeded, "max_ram: %zu bytes more than the %zu of %zu in use",
                   key.bytes, bytes_, limit_);
    }
    const size_t added = entries_.size();
    WICK_TRY(entries_.push_back({}));
    auto form = store_.use(key);
    if (!form.ok()) {
      WICK_TRY(entries_.resize(added));
      return form.status();
    }
    entries_[added].form = *form;
    bytes_ += bytes;
    enter(key, added);
    return static_cast<uint32_t>(added);
  }
  PackStore::Form& form(size_t i) const { return *entries_[i].form; }
  // True from when the first step of a binding needs the form packed until that binding ends.
  bool planned(size_t i) const { return entries_[i].planned; }
  void set_planned(size_t i, bool planned) { entries_[i].planned = planned; }
  // Releases the pages of the bytes that the form was packed from: the file still has them.
  void release_raw(size_t i) const {
    const TensorView& raw = program_.constants()[key(i).constant].view;
    release_pages(program_, raw.data, raw.nbytes());
  }
  size_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }
  const Key& key(size_t i) const { return entries_[i].form->key(); }
  // Returns the packed form; null: not packed.
  const void* data(size_t i) const { return entries_[i].form->data(); }

 private:
  struct Entry {
    PackStore::Form* form = nullptr;
    bool planned = false;
  };
  size_t slot_of(const Key& key) const {
    return static_cast<size_t>(key.hash()) & (slots_.size() - 1);
  }
  void enter(const Key& key, size_t entry) {
    size_t at = slot_of(key);
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<uint32_t>(entry) + 1;
  }
  const Program& program_;
  PackStore& store_;
  Allocator& allocator_;
  const size_t limit_;
  size_t bytes_ = 0;  // of the forms, aligned
  Array<Entry> entries_;
  Array<uint32_t> slots_;  // their number is a power of two; entry + 1, or 0 where free
};

}  // namespace wick
