// Values in blocks of channels (TensorView::block) as plain tensors of their memory, so that the
// plain kernels of elementwise ops and of Concat serve them: such an op does not ask what a
// dimension means.
#pragma once

#include "runtime/kernels/blocked.h"
#include "runtime/kernels/kernel.h"

namespace wick {

inline bool has_blocks(const KernelQuery& q) {
  for (Span<const TensorView> list : {q.in, q.out}) {
    for (const TensorView& v : list) {
      if (v.block != 0) return true;
    }
  }
  return false;
}

class FlatViews {
 public:
  // False where the op, or how its values lie, does not allow it.
  bool make(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out);
  Span<const TensorView> in() const { return {in_, count_}; }
  Span<TensorView> out() { return {&out_, 1}; }

 private:
  static constexpr size_t kMost = 12;
  TensorView in_[kMost], out_;
  size_t count_ = 0;
};

}  // namespace wick
