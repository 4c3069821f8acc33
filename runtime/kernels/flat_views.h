// Views blocked values (TensorView::block) as plain tensors over the same memory, so that the plain
// kernels of elementwise ops, of Slice and of Pad can serve them: such an op does not depend on the
// meaning of a dimension, or it moves whole blocks and whole pixels.
#pragma once

#include "runtime/kernels/blocked/blocked.h"
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
  // Returns whether the op, its arguments and the layout of its values allow it, and then changes
  // the query to plain tensors and to arguments that fit them. The views must outlive its use.
  bool make(KernelQuery* query);
  // Makes only the views, for a call whose query was accepted by the make() above.
  bool make(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out);
  // The bytes of scratch in which turn() turns plain operands of an elementwise op into blocks;
  // until then their views have no data.
  uint64_t turned_bytes() const { return turned_bytes_; }
  void turn(void* scratch, ThreadPool* pool);
  Span<const TensorView> in() const { return {in_, ins_}; }
  Span<TensorView> out() { return {out_, outs_}; }

 private:
  static constexpr size_t kMostIn = 12, kMostOut = 4;
  bool elements(const TensorView& y);
  bool moves(TensorView (*view)(const TensorView&));

  Span<const TensorView> given_;
  TensorView in_[kMostIn], out_[kMostOut];
  size_t ins_ = 0, outs_ = 0;
  bool turned_[kMostIn] = {};
  uint64_t turned_bytes_ = 0;
  int64_t lanes_ = 0;
  ShapeArgs args_;
};

}  // namespace wick
