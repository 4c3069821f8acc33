// Views as copies, and writes of src where a view reads: one row serves every dtype of whole bytes.
#include "runtime/kernels/copy.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/view_of.h"
#include "runtime/ops/rules/layout-inl.h"

namespace wick {

TensorView view_of(const SliceAttrs& a, const TensorView& x) {
  TensorView v = x;
  for (int64_t i = 0; i < a.starts.count; ++i) {
    int64_t axis = a.axes.at_or(i, i);
    int d = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    auto r = rules::resolve_slice(x.shape[d], a.starts[i], a.ends[i], a.steps.at_or(i, 1));
    v = slice_view(v, d, r.start, r.step, r.count);
  }
  return v;
}

TensorView view_of(const StridedAttrs& a, const TensorView& x) {
  TensorView v(x.data, x.dtype, Shape(a.sizes.span()));
  for (int i = 0; i < v.rank(); ++i) v.strides[i] = a.strides[i];
  if (v.numel() > 0)
    v.data = static_cast<char*>(x.data) + a.offset * static_cast<int64_t>(dtype_size(x.dtype));
  return v;
}

namespace {

bool match(const KernelQuery& q) {
  size_t size = dtype_size(q.in[0].dtype);
  return (size & (size - 1)) == 0 && size != 0 && size <= 16 && q.in[0].dtype != DType::kString;
}

Status run_as_strided(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                      const void* attrs) {
  copy_strided(view_of(*static_cast<const StridedAttrs*>(attrs), in[0]), out[0]);
  return {};
}

template <class A>
Status run_scatter(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  if (in[0].data != out[0].data) copy_strided(in[0], out[0]);
  TensorView part = view_of(*static_cast<const A*>(attrs), out[0]);
  if (!(part.shape == in[1].shape))
    return Status(Code::kShapeMismatch, "the part to replace changed after planning");
  copy_strided(in[1], part);
  return {};
}

}  // namespace

WICK_REF_ROWS(SliceScatter,
              {"slice_scatter.any", kInPlace, match, nullptr, nullptr, run_scatter<SliceAttrs>});
WICK_REF_ROWS(AsStrided, {"as_strided.any", 0, match, nullptr, nullptr, run_as_strided});
WICK_REF_ROWS(AsStridedScatter, {"as_strided_scatter.any", kInPlace, match, nullptr, nullptr,
                                 run_scatter<StridedAttrs>});

WICK_NO_CPU_ROWS(SliceScatter);
WICK_NO_CPU_ROWS(AsStrided);
WICK_NO_CPU_ROWS(AsStridedScatter);

}  // namespace wick
