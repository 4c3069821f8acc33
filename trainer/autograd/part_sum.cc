#include "trainer/autograd/part_sum.h"

#include <algorithm>

#include "runtime/core/half.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/elementwise/chain.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/view_of.h"
#include "runtime/ops/rules/layout-inl.h"
#include "trainer/autograd/leaf_grad.h"
#include "trainer/tensor/internal.h"

namespace wick {
namespace {

template <class T, class Sum>
void add_lines(const TensorView& part, const TensorView& g) {
  const TensorView in[2] = {part, g}, shape(nullptr, part.dtype, part.shape);
  const ElementLoop<2> loop(shape, in);
  const int64_t to_step = loop.stride[0][loop.rank - 1], from_step = loop.stride[1][loop.rank - 1];
  T* to = part.as<T>();
  const T* from = g.as<T>();
  const BinaryBody body = binary_bodies()(OpId::kAdd);
  loop.parallel_rows(thread_pool(), [=](int64_t, int64_t n, const int64_t* offsets) {
    T* y = to + offsets[0];
    const T* x = from + offsets[1];
    if constexpr (std::is_same_v<T, float>) {
      if (to_step == 1 && (from_step == 1 || from_step == 0) && n >= 16)
        return body(y, false, x, from_step == 0, y, static_cast<size_t>(n));
    }
    for (int64_t i = 0; i < n; ++i, y += to_step, x += from_step)
      *y = static_cast<T>(static_cast<Sum>(*y) + static_cast<Sum>(*x));
  });
}

// part += g, of any strides, which broadcasts to it.
void add_to(const TensorView& part, const TensorView& g) {
  if (part.numel() == 0) return;
  switch (part.dtype) {
    case DType::kF32: return add_lines<float, float>(part, g);
    case DType::kF64: return add_lines<double, double>(part, g);
    case DType::kF16: return add_lines<Half, float>(part, g);
    default: return add_lines<BFloat16, float>(part, g);
  }
}

const SliceAttrs& attrs_of(const OpNode& slice) {
  return *static_cast<const SliceAttrs*>(slice.attrs());
}

// Returns whether the slices are of different places along an axis that both name.
bool apart(const SliceAttrs& a, const SliceAttrs& b, const Shape& x) {
  struct Reach {
    int axis;
    int64_t first, last;
    Reach(const SliceAttrs& s, int64_t i, const Shape& shape)
        : axis(axis_of(s.axes.at_or(i, i), shape.rank())) {
      const auto r = rules::resolve_slice(shape[axis], s.starts[i], s.ends[i], s.steps.at_or(i, 1));
      const int64_t end = r.start + (r.count - 1) * r.step;
      first = std::min(r.start, end), last = std::max(r.start, end);
    }
  };
  for (int64_t i = 0; i < a.starts.count; ++i) {
    const Reach p(a, i, x);
    for (int64_t j = 0; j < b.starts.count; ++j) {
      const Reach q(b, j, x);
      if (p.axis == q.axis && (p.last < q.first || q.last < p.first)) return true;
    }
  }
  return false;
}

}  // namespace

bool PartSums::add(Tensor* sum, const OpNode& slice, const Tensor& g) {
  const auto seen = first_.find(sum);
  if (seen == first_.end() || !sum->defined() || !sole_owner(*sum)) return false;
  if (sum->is_vulkan() || g.is_vulkan() || !is_float(sum->dtype()) || g.dtype() != sum->dtype())
    return false;
  const TensorView whole = sum->layout(), part = view_of(attrs_of(slice), whole);
  if (!(part.shape == g.raw_shape())) return false;
  if (const OpNode* first = seen->second; first != nullptr) {
    // Where both are, -0 + -0 is -0: the zeros of a third one are the first to change that.
    if (!apart(attrs_of(*first), attrs_of(slice), whole.shape)) return false;
    double zero = 0;  // its bytes are a zero of every dtype
    add_to(view_of(attrs_of(*first), whole), TensorView(&zero, whole.dtype, Shape{}));
    seen->second = nullptr;
  }
  add_to(part, g.layout());
  return true;
}

}  // namespace wick
