// Ops that move elements and compute nothing: one row serves every dtype of whole bytes, and packed
// ones where ONNX allows them.
#include <algorithm>
#include <bit>

#include "runtime/core/half.h"
#include "runtime/core/int_math.h"
#include "runtime/core/narrow.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/reference/exact.h"
#include "runtime/kernels/reference/rows.h"

namespace wick {
namespace {

using reference::Wide128;

bool match(const KernelQuery& q) {
  size_t size = dtype_size(q.in[0].dtype);
  return (size & (size - 1)) == 0 && size != 0 && size <= 16;
}

bool match_packed(const KernelQuery& q) { return match(q) || dtype_bits(q.in[0].dtype) < 8; }

// The shape is the output's; the elements keep their order.
Status run_reshape(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  copy_strided(in[0], TensorView(out[0].data, in[0].dtype, in[0].shape));
  return {};
}

Status run_transpose(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                     const void* attrs) {
  const auto& perm = static_cast<const TransposeAttrs*>(attrs)->perm;
  TensorView x = in[0];
  for (int i = 0; i < x.rank(); ++i) {
    int from = perm.empty() ? x.rank() - 1 - i : static_cast<int>(perm[i]);
    x.shape[i] = in[0].shape[from];
    x.strides[i] = in[0].strides[from];
  }
  copy_strided(x, out[0]);
  return {};
}

Status run_expand(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  TensorView x(in[0].data, in[0].dtype, out[0].shape);
  int lead = out[0].rank() - in[0].rank();
  for (int i = 0; i < out[0].rank(); ++i) {
    bool spread = i < lead || in[0].shape[i - lead] == 1;
    x.strides[i] = spread ? 0 : in[0].strides[i - lead];
  }
  copy_strided(x, out[0]);
  return {};
}

Status run_concat(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  int axis = axis_of(static_cast<const AxisAttrs*>(attrs)->axis, out[0].rank());
  int64_t at = 0;
  for (const TensorView& x : in) {
    const TensorView part = slice_view(out[0], axis, at, 1, x.shape[axis]);
    if (part.data != x.data) copy_strided(x, part);
    at += x.shape[axis];
  }
  return {};
}

Status run_split(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  int axis = axis_of(static_cast<const SplitAttrs*>(attrs)->axis, in[0].rank());
  int64_t at = 0;
  for (TensorView& y : out) {
    const TensorView part = slice_view(in[0], axis, at, 1, y.shape[axis]);
    if (part.data != y.data) copy_strided(part, y);
    at += y.shape[axis];
  }
  return {};
}

Status plan_slice(const KernelQuery& q, KernelPlan* p) {
  p->keep(q.args->slice);
  return {};
}

Status run_slice(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void*) {
  const auto& range = ctx.plan->kept<SliceRanges>();
  TensorView x = in[0];
  for (int i = 0; i < x.rank(); ++i)
    x = slice_view(x, i, range.start[i], range.step[i], out[0].shape[i]);
  copy_strided(x, out[0]);
  return {};
}

// Returns the source index of output position i of n on an axis padded by `before`; -1: the
// constant. What is wrapped is what negative pads leave, as in PyTorch and ONNX Runtime: the rule
// sees to it that there is some.
int64_t pad_source(int64_t i, int64_t n, int64_t before, int64_t extent, PadMode mode) {
  int64_t at = i - before;
  if (at >= 0 && at < extent) return at;
  if (mode == PadMode::kEdge) return at < 0 ? 0 : extent - 1;
  if (mode == PadMode::kWrap) {  // most pads are shorter than the axis
    const int64_t first = std::max<int64_t>(-before, 0),
                  left = std::min(extent, n - before) - first;
    at -= first;
    if (at < 0 ? at >= -left : at < 2 * left) return first + (at < 0 ? at + left : at - left);
    return first + (at % left + left) % left;
  }
  if (mode == PadMode::kReflect) {
    if (extent == 1) return 0;
    int64_t period = 2 * (extent - 1);
    if (at < 0) at = -at;  // the same by symmetry
    if (at >= period) at %= period;
    return at < extent ? at : period - at;
  }
  return -1;
}

// Accesses elements of whole bytes; a second class accesses packed ones.
template <class T>
struct WholeElements {
  const T* x;
  T* y;
  T value;
  void put(int64_t to) const { y[to] = value; }
  void copy(int64_t from, int64_t to) const { y[to] = x[from]; }
  // Fills a last axis of `n`: elements [lo, hi) come from the source at `from`, the others are the
  // value.
  static constexpr bool kRuns = true;
  void run(int64_t n, int64_t lo, int64_t hi, int64_t from, int64_t step, int64_t to,
           Poll& poll) const {
    in_pieces(poll, lo,
              [&](int64_t begin, int64_t end) { std::fill(y + to + begin, y + to + end, value); });
    in_pieces(poll, hi - lo, [&](int64_t begin, int64_t end) {
      if (step == 1) {
        std::copy(x + from + begin, x + from + end, y + to + lo + begin);
      } else {
        for (int64_t i = begin; i < end; ++i) y[to + lo + i] = x[from + i * step];
      }
    });
    in_pieces(poll, n - hi, [&](int64_t begin, int64_t end) {
      std::fill(y + to + hi + begin, y + to + hi + end, value);
    });
  }
};
struct PackedElements {
  static constexpr bool kRuns = false;
  const void* x;
  void* y;
  uint8_t value;
  int bits;
  void put(int64_t to) const { set_packed(y, bits, to, value); }
  void copy(int64_t from, int64_t to) const { set_packed(y, bits, to, get_packed(x, bits, from)); }
};

// `outside`: in the padding of an earlier axis. Strides may be negative, and so may `from`.
template <class Elements>
void pad_fill(const TensorView& x, const TensorView& y, const int64_t* before, PadMode mode,
              const Elements& e, int axis, bool outside, int64_t from, int64_t to, Poll& poll) {
  if (axis == x.rank()) {
    if (outside) {
      e.put(to);
    } else {
      e.copy(from, to);
    }
    return;
  }
  if constexpr (Elements::kRuns) {
    if (mode == PadMode::kConstant && axis + 1 == x.rank() && y.strides[axis] == 1) {
      const int64_t n = y.shape[axis], begin = before[axis];
      const int64_t lo = outside ? n : std::clamp<int64_t>(begin, 0, n);
      const int64_t hi =
          outside || begin >= n ? n : std::clamp<int64_t>(begin + x.shape[axis], lo, n);
      return e.run(n, lo, hi, hi > lo ? from + (lo - begin) * x.strides[axis] : 0, x.strides[axis],
                   to, poll);
    }
    if (mode != PadMode::kConstant && axis + 1 == x.rank() && y.strides[axis] == 1) {
      // What lies before the source, the source, and what lies behind it.
      const int64_t n = y.shape[axis], begin = before[axis], extent = x.shape[axis];
      const int64_t step = x.strides[axis], lo = std::clamp<int64_t>(begin, 0, n);
      const int64_t hi = begin >= n ? n : std::clamp<int64_t>(begin + extent, lo, n);
      const auto outer = [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last && !poll(); ++i)
          e.copy(from + pad_source(i, n, begin, extent, mode) * step, to + i);
      };
      outer(0, lo);
      if (hi > lo) e.run(hi - lo, 0, hi - lo, from + (lo - begin) * step, step, to + lo, poll);
      return outer(hi, n);
    }
  }
  for (int64_t i = 0; i < y.shape[axis] && !poll(4); ++i) {
    int64_t source = outside ? -1 : pad_source(i, y.shape[axis], before[axis], x.shape[axis], mode);
    pad_fill(x, y, before, mode, e, axis + 1, source < 0,
             source < 0 ? 0 : from + source * x.strides[axis], to + i * y.strides[axis], poll);
  }
}

template <class T>
T float_value(double v, DType dtype) {
  if constexpr (sizeof(T) == 16) {
    return T{};  // complex or string (empty): another value must be an input
  } else if constexpr (sizeof(T) == 4) {
    if (dtype == DType::kF32) return std::bit_cast<T>(static_cast<float>(v));
  } else if constexpr (sizeof(T) == 8) {
    if (dtype == DType::kF64) return std::bit_cast<T>(v);
  } else if constexpr (sizeof(T) == 2) {
    if (dtype == DType::kF16) return Half(static_cast<float>(v)).bits;
    if (dtype == DType::kBF16) return BFloat16(static_cast<float>(v)).bits;
  }
  if constexpr (sizeof(T) < 16) {
    if (dtype == DType::kBool) return static_cast<T>(v != 0);
    return static_cast<T>(reference::saturated<int64_t>(v));
  }
}

template <class T>
Status pad_as(Span<const TensorView> in, Span<TensorView> out, const PadAttrs& a,
              const int64_t* before) {
  bool given = in.size() > 2 && in[2].present() && in[2].numel() > 0;
  auto mode = static_cast<PadMode>(a.mode);
  if (mode != PadMode::kConstant && in[0].numel() == 0 && out[0].numel() != 0) {
    return Status(Code::kShapeMismatch, "cannot reflect, repeat or wrap an empty tensor");
  }
  if (out[0].numel() == 0) return {};
  const int bits = dtype_bits(in[0].dtype);
  Poll poll;
  if (bits < 8) {  // without a value the bits are 0
    const uint8_t value = given ? get_packed(in[2].data, bits, 0) : uint8_t{0};
    out[0].as<uint8_t>()[out[0].nbytes() - 1] = 0;
    pad_fill(in[0], out[0], before, mode, PackedElements{in[0].data, out[0].data, value, bits}, 0,
             false, 0, 0, poll);
  } else {
    const T value = given ? *in[2].as<T>() : float_value<T>(a.value, in[0].dtype);
    pad_fill(in[0], out[0], before, mode, WholeElements<T>{in[0].as<T>(), out[0].as<T>(), value}, 0,
             false, 0, 0, poll);
  }
  return {};
}

Status plan_pad(const KernelQuery& q, KernelPlan* p) {
  p->keep(q.args->pad);
  return {};
}

Status run_pad(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
               const void* attrs) {
  const auto& a = *static_cast<const PadAttrs*>(attrs);
  const int64_t* before = ctx.plan->kept<PadSizes>().before;
  switch (dtype_size(in[0].dtype)) {
    case 0:
    case 1: return pad_as<uint8_t>(in, out, a, before);
    case 2: return pad_as<uint16_t>(in, out, a, before);
    case 4: return pad_as<uint32_t>(in, out, a, before);
    case 8: return pad_as<uint64_t>(in, out, a, before);
    default: return pad_as<Wide128>(in, out, a, before);
  }
}

Status run_shape(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  int64_t start = static_cast<const ShapeOpAttrs*>(attrs)->start, rank = in[0].rank();
  start = start < 0 ? start + rank : start;
  start = start < 0 ? 0 : start;
  for (int64_t i = 0; i < out[0].numel(); ++i)
    out[0].as<int64_t>()[i] = in[0].shape[static_cast<int>(start + i)];
  return {};
}

bool match_any(const KernelQuery&) { return true; }

}  // namespace

WICK_REF_ROWS(Identity, {"identity.any", kStridedInputs | kInPlace, match_packed, nullptr, nullptr,
                         run_reshape});
WICK_REF_ROWS(Reshape,
              {"reshape.any", kStridedInputs, match_packed, nullptr, nullptr, run_reshape});
WICK_REF_ROWS(Flatten,
              {"flatten.any", kStridedInputs, match_packed, nullptr, nullptr, run_reshape});
WICK_REF_ROWS(Squeeze,
              {"squeeze.any", kStridedInputs, match_packed, nullptr, nullptr, run_reshape});
WICK_REF_ROWS(Unsqueeze,
              {"unsqueeze.any", kStridedInputs, match_packed, nullptr, nullptr, run_reshape});
WICK_REF_ROWS(Transpose,
              {"transpose.any", kStridedInputs, match_packed, nullptr, nullptr, run_transpose});
WICK_REF_ROWS(Expand, {"expand.any", kStridedInputs, match_packed, nullptr, nullptr, run_expand});
WICK_REF_ROWS(Concat,
              {"concat.any", kStridedInputs | kPartsInPlace, match, nullptr, nullptr, run_concat});
WICK_REF_ROWS(Split,
              {"split.any", kStridedInputs | kPartsInPlace, match, nullptr, nullptr, run_split});
WICK_REF_ROWS(Slice, {"slice.any", kStridedInputs, match, plan_slice, nullptr, run_slice});
WICK_REF_ROWS(Pad, {"pad.any", kStridedInputs, match_packed, plan_pad, nullptr, run_pad});
WICK_REF_ROWS(Shape, {"shape.any", kStridedInputs, match_any, nullptr, nullptr, run_shape});

WICK_NO_CPU_ROWS(Identity);
WICK_NO_CPU_ROWS(Reshape);
WICK_NO_CPU_ROWS(Flatten);
WICK_NO_CPU_ROWS(Squeeze);
WICK_NO_CPU_ROWS(Unsqueeze);
WICK_NO_CPU_ROWS(Transpose);
WICK_NO_CPU_ROWS(Expand);
WICK_NO_CPU_ROWS(Concat);
WICK_NO_CPU_ROWS(Split);
WICK_NO_CPU_ROWS(Slice);
WICK_NO_CPU_ROWS(Pad);
WICK_NO_CPU_ROWS(Shape);

}  // namespace wick
