// Array<T>: a growable array from an explicit Allocator, whose growth can fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "runtime/core/allocator.h"
#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick {

template <class T>
class Array {
 public:
  explicit Array(Allocator& allocator) : allocator_(&allocator) {}
  Array(Array&& o) noexcept
      : allocator_(o.allocator_), data_(o.data_), size_(o.size_), capacity_(o.capacity_) {
    o.data_ = nullptr;
    o.size_ = o.capacity_ = 0;
  }
  Array& operator=(Array&& o) noexcept {
    if (this != &o) {
      free_all();
      allocator_ = o.allocator_;
      data_ = std::exchange(o.data_, nullptr);
      size_ = std::exchange(o.size_, 0);
      capacity_ = std::exchange(o.capacity_, 0);
    }
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { free_all(); }

  Status reserve(size_t n) {
    if (n <= capacity_) return {};
    if (n > SIZE_MAX / sizeof(T)) return Status(Code::kOutOfMemory, "array size overflows");
    auto* p = static_cast<T*>(allocator_->allocate(n * sizeof(T), align()));
    if (p == nullptr) return error(Code::kOutOfMemory, "cannot allocate %zu bytes", n * sizeof(T));
    for (size_t i = 0; i < size_; ++i) {
      new (p + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    if (data_ != nullptr) allocator_->deallocate(data_, capacity_ * sizeof(T), align());
    data_ = p;
    capacity_ = n;
    return {};
  }
  Status resize(size_t n) {
    WICK_TRY(reserve(n));
    while (size_ < n) new (data_ + size_++) T();
    while (size_ > n) data_[--size_].~T();
    return {};
  }
  Status push_back(T value) {
    if (size_ == capacity_) WICK_TRY(reserve(capacity_ == 0 ? 8 : capacity_ * 2));
    new (data_ + size_++) T(std::move(value));
    return {};
  }
  void clear() {
    while (size_ > 0) data_[--size_].~T();
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  operator Span<T>() { return {data_, size_}; }              // NOLINT: views are cheap and intended
  operator Span<const T>() const { return {data_, size_}; }  // NOLINT
  Allocator& allocator() const { return *allocator_; }

 private:
  static constexpr size_t align() {
    return alignof(T) < sizeof(void*) ? sizeof(void*) : alignof(T);
  }
  void free_all() {
    clear();
    if (data_ != nullptr) allocator_->deallocate(data_, capacity_ * sizeof(T), align());
    data_ = nullptr;
    capacity_ = 0;
  }

  Allocator* allocator_;
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace wick
