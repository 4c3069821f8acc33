// IntrusivePtr: shared ownership with the count inside of the object, one word per handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace wick {

// Base of reference-counted objects. Handles may be copied by any thread. A class with a static
// dispose(T*) is freed by that, otherwise by delete.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  void add_ref() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  // Returns whether this was the last reference.
  bool drop_ref() const { return refs_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  uint32_t holders() const { return refs_.load(std::memory_order_acquire); }
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
  template <class D>
    requires std::is_convertible_v<D*, T*>
  IntrusivePtr(const IntrusivePtr<D>& o) : IntrusivePtr(o.get()) {}  // NOLINT: as pointers do
  IntrusivePtr(IntrusivePtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class D>
    requires std::is_convertible_v<D*, T*>
  IntrusivePtr(IntrusivePtr<D>&& o) noexcept  // NOLINT: as pointers do
      : p_(std::exchange(o.p_, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~IntrusivePtr() {
    if (p_ != nullptr && p_->drop_ref()) free_object();
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) { return a.p_ == b.p_; }

 private:
  template <class D>
  friend class IntrusivePtr;
  void free_object() {
    static_assert(sizeof(T) > 0, "needs the whole class");  // NOLINT(bugprone-sizeof-expression)
    if constexpr (requires { std::remove_const_t<T>::dispose(nullptr); }) {
      std::remove_const_t<T>::dispose(const_cast<std::remove_const_t<T>*>(p_));
    } else {
      delete p_;
    }
  }
  T* p_ = nullptr;
};

}  // namespace wick
