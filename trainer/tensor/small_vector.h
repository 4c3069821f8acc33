// SmallVector: up to N elements inline, the heap beyond. What an eager call keeps its lists in.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "runtime/core/span.h"

namespace wick {

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  explicit SmallVector(size_t n) { resize(n); }
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;
  SmallVector(SmallVector&& o) noexcept { *this = std::move(o); }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this == &o) return *this;
    for (size_t i = 0; i < N; ++i) inline_[i] = std::move(o.inline_[i]);
    heap_ = std::move(o.heap_);
    size_ = std::exchange(o.size_, 0);
    capacity_ = std::exchange(o.capacity_, N);
    return *this;
  }

  // New elements are T().
  void resize(size_t n) {
    if (n > capacity_) {
      std::unique_ptr<T[]> grown(new T[n]());
      for (size_t i = 0; i < size_; ++i) grown[i] = std::move(data()[i]);
      heap_ = std::move(grown);
      capacity_ = n;
    }
    for (size_t i = n; i < size_; ++i) data()[i] = T();
    size_ = n;
  }
  void push_back(T value) {
    size_t at = size_;
    if (at == capacity_) {
      resize(at * 2);
      size_ = at;
    }
    size_ = at + 1;
    data()[at] = std::move(value);
  }
  void clear() { resize(0); }

  T* data() { return heap_ ? heap_.get() : inline_; }
  const T* data() const { return heap_ ? heap_.get() : inline_; }
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
  T inline_[N] = {};
  std::unique_ptr<T[]> heap_;
  size_t size_ = 0;
  size_t capacity_ = N;
};

}  // namespace wick
