// PackStore: the packed forms of a program's constants. They belong to the program and are shared
// by its sessions: whichever session needs a form first packs it, the others wait and read it.
//
// A form has no bytes until a session has claimed it, packed it and published it. From then on its
// bytes never change, and are freed when no session uses the form any more, or with the program
// where LoadOptions::keep_packed asks for it.
#pragma once

#include <atomic>

#include "runtime/core/array.h"
#include "runtime/core/stop.h"
#include "runtime/platform/threads.h"
#include "runtime/program/program.h"

namespace wick {

struct KernelRow;  // runtime/kernels/kernel.h

class PackStore {
 public:
  struct Key {
    uint32_t constant;     // index in Program::constants()
    const KernelRow* row;  // the row whose pack() wrote it
    uint32_t layout;       // not 0: the meaning of an id never depends on shapes or threads
    size_t bytes;
    int64_t variant;  // KernelPlan::Pack's
    bool operator==(const Key&) const = default;
    size_t hash() const {
      uint64_t hash = (constant + 1) * uint64_t{0x9e3779b97f4a7c15};
      hash ^= (layout + static_cast<uint64_t>(variant) * 31) * uint64_t{0xff51afd7ed558ccd};
      return static_cast<size_t>(hash >> 32);
    }
  };
  class Form;

  PackStore(Allocator& allocator, bool keep)
      : allocator_(allocator), keep_(keep), buckets_(allocator) {}
  ~PackStore();
  // Returns the program's store. A program is constant but for these forms, which its lock guards.
  static PackStore& of(const Program& program) { return *program.packs_; }

  // Returns the form with this key, and counts the caller as a user of it until leave().
  Result<Form*> use(const Key& key);
  void leave(Form* form);

  // Returns true where the caller has to pack the form: nobody has, and nobody is about to. The
  // caller then publishes it, packed or not, whatever happens.
  bool claim(Form* form);
  // Gives memory to those of the forms that have none, all claimed by the caller: one block,
  // because large blocks get large pages.
  Status place(Span<Form* const> forms);
  // Ends a claim. Where the form is not packed, another session may claim it.
  void publish(Form* form, bool packed);
  // Waits until nobody has a claim on the form, or `stop` (null: none) is reached: then its error.
  Status wait(const Form& form, Stop* stop);

  PackedTotals totals() const;

 private:
  struct Block;
  Status grow_table();
  void unlink(Form* form);

  Allocator& allocator_;
  const bool keep_;
  mutable platform::Mutex mutex_;  // guards what follows, and `users` and `next` of the forms
  platform::Condition published_;
  Array<Form*> buckets_;  // their number is a power of two
  size_t count_ = 0;      // of forms in the table
  PackedTotals totals_;
};

class PackStore::Form {
 public:
  explicit Form(const Key& key) : key_(key) {}
  const Key& key() const { return key_; }
  // Returns the packed bytes; null: they are not there yet.
  const void* data() const {
    return state_.load(std::memory_order_acquire) == kPacked ? room_ : nullptr;
  }
  // Returns where the session that claimed the form writes its bytes; null: it was not placed.
  void* room() const { return room_; }

 private:
  friend class PackStore;
  enum State : uint32_t { kEmpty, kClaimed, kPacked };

  const Key key_;
  std::atomic<uint32_t> state_{kEmpty};  // changed under the store's lock
  // Written by the session that has a claim. Others read them once the form is packed, or once they
  // have claimed it themselves.
  void* room_ = nullptr;
  Block* block_ = nullptr;
  uint32_t users_ = 0;
  Form* next_ = nullptr;  // in its bucket
};

}  // namespace wick
