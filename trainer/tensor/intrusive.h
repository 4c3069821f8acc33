// IntrusivePtr: shared ownership with the count inside the object, one word a handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace wick {

// Base of counted objects. Handles may be copied from any thread.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  void add_ref() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  // True when this was the last reference.
  bool drop_ref() const { return refs_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool unique() const { return refs_.load(std::memory_order_acquire) == 1; }

 protected:
  ~Counted() = default;

 private:
  mutable std::atomic<uint32_t> refs_{0};
};

template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  explicit IntrusivePtr(T* p) : p_(p) {
    if (p_ != nullptr) p_->add_ref();
  }
  IntrusivePtr(const IntrusivePtr& o) : IntrusivePtr(o.p_) {}
  IntrusivePtr(IntrusivePtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~IntrusivePtr() {
    if (p_ != nullptr && p_->drop_ref()) delete p_;
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace wick
