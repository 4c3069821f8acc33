// Views blocked values (TensorView::block) as plain tensors over the same memory, so that the plain
// kernels of elementwise ops and of Concat can serve them: such ops do not depend on the meaning of
// a dimension.
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
  // Returns false where the op or the layouts of its values do not allow it.
  bool make(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out);
  Span<const TensorView> in() const { return {in_, count_}; }
  Span<TensorView> out() { return {&out_, 1}; }

 private:
  static constexpr size_t kMost = 12;
  TensorView in_[kMost], out_;
  size_t count_ = 0;
};

}  // namespace wick
