// Checks which memory a step accesses in the block that all steps share. AddressSanitizer sees a
// single block; while a step runs, everything in it except the step's own tensors and scratch is
// poisoned. In other builds this compiles to nothing.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"

#if defined(__SANITIZE_ADDRESS__)
#define WICK_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WICK_POISONS 1
#endif
#endif
#ifdef WICK_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace wick {

class StepMemory {
 public:
#ifdef WICK_POISONS
  StepMemory(Span<char> arena, Span<char> scratch, Span<const TensorView> in,
             Span<const TensorView> out)
      : arena_(arena) {
    ASAN_POISON_MEMORY_REGION(arena.data(), arena.size());
    open(scratch.data(), scratch.size());
    for (const TensorView& v : in) open(v.data, v.nbytes());
    for (const TensorView& v : out) open(v.data, v.nbytes());
  }
  StepMemory(const StepMemory&) = delete;
  ~StepMemory() { ASAN_UNPOISON_MEMORY_REGION(arena_.data(), arena_.size()); }

 private:
  // Memory outside of the arena is not changed.
  void open(const void* p, size_t bytes) const {
    const auto* at = static_cast<const char*>(p);
    if (at >= arena_.data() && at < arena_.data() + arena_.size())
      ASAN_UNPOISON_MEMORY_REGION(p, bytes);
  }
  Span<char> arena_;
#else
  StepMemory(Span<char>, Span<char>, Span<const TensorView>, Span<const TensorView>) {}
#endif
};

}  // namespace wick
