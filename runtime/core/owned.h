// Owned<T>: a unique owner for objects that T::destroy(T*) frees (each remembers its Allocator).
#pragma once

#include <utility>

namespace wick {

// A pointer that owns: T::destroy() frees what it points to. It can be moved, not copied.
template <class T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T* p) : p_(p) {}
  Owned(Owned&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Owned& operator=(Owned&& o) noexcept {
    if (this != &o) reset(std::exchange(o.p_, nullptr));
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { reset(); }
  // Frees what it has, and takes p.
  void reset(T* p = nullptr) {
    if (p_ != nullptr) T::destroy(p_);
    p_ = p;
  }
  // Gives up what it has without freeing it.
  T* release() { return std::exchange(p_, nullptr); }
  // Returns the pointer; null where there is none.
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  T* p_ = nullptr;
};

}  // namespace wick
