#include "trainer/tensor/view_rule.h"

#include "runtime/kernels/view_of.h"
#include "runtime/ops/op_info.h"

namespace wick {

// Walks both shapes from the end: a contiguous run of old dims may be divided into new dims.
bool reshape_strides(const TensorView& v, const Shape& shape, Strides* strides) {
  if (v.contiguous()) {
    *strides = contiguous_strides(shape);
    return true;
  }
  strides->set_rank(shape.rank());
  int at = shape.rank() - 1;
  int64_t piece = 1, cut = 1;  // elements of the old run, and of the new dims made from it
  int64_t step = v.rank() > 0 ? v.strides[v.rank() - 1] : 1;
  for (int i = v.rank() - 1; i >= 0; --i) {
    piece *= v.shape[i];
    bool run_ends = i == 0 || (v.shape[i - 1] != 1 && v.strides[i - 1] != piece * step);
    if (!run_ends) continue;
    while (at >= 0 && (cut < piece || shape[at] == 1)) {
      (*strides)[at] = cut * step;
      cut *= shape[at--];
    }
    if (cut != piece) return false;
    if (i > 0) {
      step = v.strides[i - 1];
      piece = cut = 1;
    }
  }
  return at < 0;
}

bool view_rule(OpId op, const void* attrs, Span<const TensorView> in, const Shape& out_shape,
               TensorView* out) {
  const TensorView& x = in[0];
  *out = x;
  const OpKind kind = kind_of(op);
  if (kind == OpKind::kView) {
    if (op == OpId::kIdentity) return false;  // returns a separate tensor
    out->shape = out_shape;
    return reshape_strides(x, out_shape, &out->strides);
  }
  if (kind != OpKind::kMove) return false;  // most ops end here
  if (op == OpId::kTranspose) {
    const auto& perm = static_cast<const TransposeAttrs*>(attrs)->perm;
    for (int i = 0; i < x.rank(); ++i) {
      int from = perm.empty() ? x.rank() - 1 - i : static_cast<int>(perm[i]);
      out->shape[i] = x.shape[from];
      out->strides[i] = x.strides[from];
    }
    return true;
  }
  if (op == OpId::kExpand) {
    int lead = out_shape.rank() - x.rank();
    out->shape = out_shape;
    out->strides.set_rank(out_shape.rank());
    for (int i = 0; i < out_shape.rank(); ++i) {
      bool spread = i < lead || (x.shape[i - lead] == 1 && out_shape[i] != 1);
      out->strides[i] = spread ? 0 : x.strides[i - lead];
    }
    return true;
  }
  if (op == OpId::kSlice) {
    if (in.size() > 1) return false;
    *out = view_of(*static_cast<const SliceAttrs*>(attrs), x);
    return true;
  }
  if (op != OpId::kAsStrided || !x.contiguous()) return false;
  *out = view_of(*static_cast<const StridedAttrs*>(attrs), x);
  return true;
}

}  // namespace wick
