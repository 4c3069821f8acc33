// A kernel's scratch, cut into pieces one behind the other.
#pragma once

#include <cstddef>

namespace wick {

class ScratchPieces {
 public:
  explicit ScratchPieces(void* scratch) : at_(static_cast<char*>(scratch)) {}
  // The next piece; `bytes`: a multiple of what its elements are aligned to (rounded()).
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
