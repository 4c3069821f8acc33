#include "trainer/tensor/view_rule.h"

#include "runtime/kernels/copy.h"
#include "runtime/ops/rules/layout-inl.h"

namespace wick {

// Walks both shapes from the back: a run of old dims that is one piece in memory may be cut anew.
bool reshape_strides(const TensorView& v, const Shape& shape, Strides* strides) {
  if (v.contiguous()) {
    *strides = contiguous_strides(shape);
    return true;
  }
  strides->set_rank(shape.rank());
  int at = shape.rank() - 1;
  int64_t piece = 1, cut = 1;  // elements of the old run, and of the new dims taken from it
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
  switch (op) {
    case OpId::kReshape:
    case OpId::kFlatten:
    case OpId::kSqueeze:
    case OpId::kUnsqueeze:
      out->shape = out_shape;
      return reshape_strides(x, out_shape, &out->strides);
    case OpId::kTranspose: {
      const auto& perm = static_cast<const TransposeAttrs*>(attrs)->perm;
      for (int i = 0; i < x.rank(); ++i) {
        int from = perm.empty() ? x.rank() - 1 - i : static_cast<int>(perm[i]);
        out->shape[i] = x.shape[from];
        out->strides[i] = x.strides[from];
      }
      return true;
    }
    case OpId::kExpand: {
      int lead = out_shape.rank() - x.rank();
      out->shape = out_shape;
      out->strides.set_rank(out_shape.rank());
      for (int i = 0; i < out_shape.rank(); ++i) {
        bool spread = i < lead || (x.shape[i - lead] == 1 && out_shape[i] != 1);
        out->strides[i] = spread ? 0 : x.strides[i - lead];
      }
      return true;
    }
    case OpId::kSlice: {
      if (in.size() > 1) return false;
      const auto& a = *static_cast<const SliceAttrs*>(attrs);
      for (int64_t i = 0; i < a.starts.count; ++i) {
        int64_t axis = a.axes.at_or(i, i);
        int d = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
        auto r = rules::resolve_slice(x.shape[d], a.starts[i], a.ends[i], a.steps.at_or(i, 1));
        *out = slice_view(*out, d, r.count == 0 ? 0 : r.start, r.step, r.count);
      }
      return true;
    }
    default: return false;
  }
}

}  // namespace wick
