// SmallVector: up to N elements inline, more on the heap. Eager calls keep their lists in it, as an
// element costs nothing before it exists.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "runtime/core/span.h"

namespace wick {

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() {}  // NOLINT: inline_ stays as it is
  explicit SmallVector(size_t n) { resize(n); }
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;
  SmallVector(SmallVector&& o) noexcept { take(o); }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this == &o) return *this;
    release();
    take(o);
    return *this;
  }
  ~SmallVector() { release(); }

  // New elements are value-initialized.
  void resize(size_t n) {
    if (n > capacity_) grow(n);
    if (n > size_) std::uninitialized_value_construct(data() + size_, data() + n);
    if (n < size_) std::destroy(data() + n, data() + size_);
    size_ = n;
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(size_ * 2);
    new (data() + size_) T(std::move(value));
    ++size_;
  }
  void clear() { resize(0); }

  T* data() { return heap_ != nullptr ? heap_ : reinterpret_cast<T*>(inline_); }
  const T* data() const { return heap_ != nullptr ? heap_ : reinterpret_cast<const T*>(inline_); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  operator Span<T>() { return {data(), size_}; }  // NOLINT: views are cheap and intended
  operator Span<const T>() const { return {data(), size_}; }  // NOLINT

 private:
  void grow(size_t n) {
    T* grown = std::allocator<T>().allocate(n);
    std::uninitialized_move(begin(), end(), grown);
    std::destroy(begin(), end());
    if (heap_ != nullptr) std::allocator<T>().deallocate(heap_, capacity_);
    heap_ = grown;
    capacity_ = n;
  }
  void release() {
    std::destroy(begin(), end());
    if (heap_ != nullptr) std::allocator<T>().deallocate(heap_, capacity_);
    heap_ = nullptr;
    size_ = 0;
    capacity_ = N;
  }
  // *this must be empty.
  void take(SmallVector& o) {
    if (o.heap_ == nullptr) {
      std::uninitialized_move(o.begin(), o.end(), begin());
      size_ = o.size_;
      o.release();
      return;
    }
    heap_ = std::exchange(o.heap_, nullptr);
    size_ = std::exchange(o.size_, 0);
    capacity_ = std::exchange(o.capacity_, N);
  }

  alignas(T) unsigned char inline_[N * sizeof(T)];
  T* heap_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = N;
};

}  // namespace wick
