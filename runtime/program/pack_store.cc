#include "runtime/program/pack_store.h"

#include "runtime/core/byte_count.h"

namespace wick {

// The memory of forms that were placed together follows its head.
struct PackStore::Block {
  size_t bytes;
  size_t forms;  // that are still there
};

namespace {

constexpr size_t kHead = (2 * sizeof(size_t) + kAlignment - 1) / kAlignment * kAlignment;

}  // namespace

PackStore::~PackStore() {
  for (Form*& bucket : buckets_) {
    while (bucket != nullptr) {
      Form* form = bucket;
      form->users_ = 0;
      unlink(form);
    }
  }
}

Result<PackStore::Form*> PackStore::use(const Key& key) {
  const platform::MutexLock lock(mutex_);
  if (!buckets_.empty()) {
    for (Form* f = buckets_[key.hash() & (buckets_.size() - 1)]; f != nullptr; f = f->next_) {
      if (!(f->key_ == key)) continue;
      ++f->users_;
      return f;
    }
  }
  if (count_ >= buckets_.size()) WICK_TRY(grow_table());
  void* memory = allocator_.allocate(sizeof(Form), alignof(Form));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a packed form");
  auto* form = new (memory) Form(key);
  form->users_ = 1;
  Form*& bucket = buckets_[key.hash() & (buckets_.size() - 1)];
  form->next_ = bucket;
  bucket = form;
  ++count_;
  return form;
}

Status PackStore::grow_table() {
  Array<Form*> larger(allocator_);
  WICK_TRY(larger.resize(buckets_.empty() ? 16 : 2 * buckets_.size()));
  for (Form* form : buckets_) {
    while (form != nullptr) {
      Form* next = form->next_;
      Form*& bucket = larger[form->key_.hash() & (larger.size() - 1)];
      form->next_ = bucket;
      bucket = form;
      form = next;
    }
  }
  buckets_ = std::move(larger);
  return {};
}

void PackStore::leave(Form* form) {
  const platform::MutexLock lock(mutex_);
  if (--form->users_ != 0) return;
  if (keep_ && form->state_.load(std::memory_order_relaxed) == Form::kPacked) return;
  unlink(form);
}

// Frees a form that nobody uses, and its block with the last form in it.
void PackStore::unlink(Form* form) {
  Form** link = &buckets_[form->key_.hash() & (buckets_.size() - 1)];
  while (*link != form) link = &(*link)->next_;
  *link = form->next_;
  --count_;
  if (form->state_.load(std::memory_order_relaxed) == Form::kPacked) --totals_.forms;
  if (Block* block = form->block_; block != nullptr && --block->forms == 0) {
    totals_.bytes -= block->bytes;
    allocator_.deallocate(block, block->bytes, kAlignment);
  }
  form->~Form();
  allocator_.deallocate(form, sizeof(Form), alignof(Form));
}

bool PackStore::claim(Form* form) {
  const platform::MutexLock lock(mutex_);
  if (form->state_.load(std::memory_order_relaxed) != Form::kEmpty) return false;
  form->state_.store(Form::kClaimed, std::memory_order_relaxed);
  return true;
}

Status PackStore::place(Span<Form* const> forms) {
  uint64_t total = 0;
  size_t count = 0;
  for (const Form* form : forms) {
    if (form->room_ != nullptr) continue;
    total += align_up(form->key_.bytes, kAlignment);
    ++count;
  }
  if (count == 0) return {};
  const size_t bytes = byte_count(total + kHead);
  auto* block = static_cast<Block*>(allocator_.allocate(bytes, kAlignment));
  if (block == nullptr) return error(Code::kOutOfMemory, "cannot allocate %zu bytes", bytes);
  *block = {bytes, count};
  char* at = reinterpret_cast<char*>(block) + kHead;
  for (Form* form : forms) {
    if (form->room_ != nullptr) continue;
    form->room_ = at;
    form->block_ = block;
    at += align_up(form->key_.bytes, kAlignment);
  }
  const platform::MutexLock lock(mutex_);
  totals_.bytes += bytes;
  return {};
}

void PackStore::publish(Form* form, bool packed) {
  const platform::MutexLock lock(mutex_);
  form->state_.store(packed ? Form::kPacked : Form::kEmpty, std::memory_order_release);
  if (packed) {
    ++totals_.forms;
    ++totals_.packings;
  }
  published_.wake_all();
}

Status PackStore::wait(const Form& form, Stop* stop) {
  constexpr uint64_t kLookAgain = 5'000'000;  // a flag that cancels wakes nobody
  if (form.data() != nullptr) return {};
  const platform::MutexLock lock(mutex_);
  while (form.state_.load(std::memory_order_relaxed) == Form::kClaimed) {
    if (stop == nullptr) {
      published_.wait(mutex_);
    } else if (stop->reached()) {
      return stop->status();
    } else {
      published_.wait_for(mutex_, kLookAgain);
    }
  }
  return {};
}

PackedTotals PackStore::totals() const {
  const platform::MutexLock lock(mutex_);
  return totals_;
}

}  // namespace wick
