// Divides a kernel's scratch into consecutive pieces.
#pragma once

#include <cstddef>

namespace wick {

class ScratchPieces {
 public:
  explicit ScratchPieces(void* scratch) : at_(static_cast<char*>(scratch)) {}
  // Returns the next piece; `bytes` must be a multiple of the elements' alignment (rounded()).
  template <class T>
  T* take(size_t bytes) {
    void* piece = at_;
    at_ += bytes;
    return static_cast<T*>(piece);
  }

 private:
  char* at_;
};

}  // namespace wick
