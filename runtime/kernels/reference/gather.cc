// Gather, GatherElements, ScatterElements.
#include <cstring>

#include "runtime/kernels/copy.h"
#include "runtime/kernels/reference/indices.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// out[o, j] = x[o, index[j]], of elements.
template <class T>
Status gather_as(const TensorView& x, const TensorView& index, int64_t outer, int64_t extent,
                 TensorView* out) {
  const TensorView indices = index;  // a copy whose dtype no store can change
  const int64_t count = indices.numel();
  const T* from = x.as<T>();
  T* to = out->as<T>();
  Poll poll;
  for (int64_t o = 0; o < outer; ++o, from += extent, to += count) {
    const bool all =
        each_ints(poll, indices, 0, count, [=](int64_t begin, int64_t end, const int64_t* p) {
          for (int64_t j = begin; j < end; ++j) {
            const int64_t at = p[j - begin];
            to[j] = from[at < 0 ? at + extent : at];
          }
        });
    if (!all) return {};
  }
  return {};
}

Status run_gather(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  int axis = axis_of(static_cast<const AxisAttrs*>(attrs)->axis, in[0].rank());
  int64_t extent = in[0].shape[axis];
  WICK_TRY(check_indices(in[1], axis, extent));
  // out[outer, j, inner] = x[outer, index[j], inner]
  TensorView x = in[0];
  int64_t outer = 1, inner = 1, count = in[1].numel();
  for (int i = 0; i < axis; ++i) outer *= x.shape[i];
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.shape[i];
  auto line = static_cast<size_t>(inner) * dtype_size(x.dtype);
  if (stopped()) return {};  // indices were not checked
  switch (line) {
    case 1: return gather_as<uint8_t>(x, in[1], outer, extent, &out[0]);
    case 2: return gather_as<uint16_t>(x, in[1], outer, extent, &out[0]);
    case 4: return gather_as<uint32_t>(x, in[1], outer, extent, &out[0]);
    case 8:
      if (dtype_size(x.dtype) < 8) break;  // the memory may not be aligned for it
      return gather_as<uint64_t>(x, in[1], outer, extent, &out[0]);
    default: break;
  }
  const char* from = static_cast<const char*>(x.data);
  char* to = static_cast<char*>(out[0].data);
  const TensorView indices = in[1];  // a copy whose dtype no store can change
  Poll poll;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < count; ++j, to += line) {
      if (poll(8 + inner)) return {};
      int64_t at = int_at(indices, j);
      if (at < 0) at += extent;
      const char* source = from + static_cast<size_t>(o * extent + at) * line;
      if (line % 16 == 0 && line <= 256) {  // less than a call of memcpy costs
        for (size_t i = 0; i < line; i += 16) memcpy(to + i, source + i, 16);
      } else if (!copy_bytes(to, source, line)) {
        return {};
      }
    }
  }
  return {};
}

// Calls f(offset in indices, offset in x) for every index position, in row-major order; both are
// contiguous.
template <class F>
void each_element(const TensorView& x, const TensorView& index, int axis, F f) {
  const TensorView indices = index;  // a copy whose dtype no store can change
  const int last = x.rank() - 1;
  const int64_t cols = indices.shape[last], extent = x.shape[axis], along = x.strides[axis];
  const int64_t n = indices.numel();
  const bool in_row = axis == last;
  int64_t at[kMaxRank] = {};
  Poll poll;
  if (stopped()) return;  // indices were not checked
  for (int64_t first = 0; first < n; first += cols) {
    int64_t row = 0;
    for (int d = 0; d < last; ++d) row += d == axis ? 0 : at[d] * x.strides[d];
    const auto piece = [=](int64_t begin, int64_t end, const int64_t* p) {
      const auto place = [=](int64_t j) {
        const int64_t i = p[j - begin];
        return i < 0 ? i + extent : i;
      };
      if (in_row) {
        for (int64_t j = begin; j < end; ++j) f(first + j, row + place(j));
      } else {
        for (int64_t j = begin; j < end; ++j) f(first + j, row + j + place(j) * along);
      }
    };
    if (!each_ints(poll, indices, first, cols, piece)) return;
    for (int d = last - 1; d >= 0 && ++at[d] == indices.shape[d]; --d) at[d] = 0;
  }
}

template <class T>
Status gather_elements_as(Span<const TensorView> in, Span<TensorView> out, int axis) {
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  each_element(in[0], in[1], axis, [x, y](int64_t i, int64_t from) { y[i] = x[from]; });
  return {};
}

Status run_gather_elements(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                           const void* attrs) {
  int axis = axis_of(static_cast<const AxisAttrs*>(attrs)->axis, in[0].rank());
  WICK_TRY(check_indices(in[1], axis, in[0].shape[axis]));
  switch (dtype_size(in[0].dtype)) {
    case 1: return gather_elements_as<uint8_t>(in, out, axis);
    case 2: return gather_elements_as<uint16_t>(in, out, axis);
    case 4: return gather_elements_as<uint32_t>(in, out, axis);
    case 8: return gather_elements_as<uint64_t>(in, out, axis);
    default: return gather_elements_as<Wide128>(in, out, axis);
  }
}

// Updates are applied in row-major order of the indices (the contract's "input order").
template <class T, class Op>
Status scatter_as(Span<const TensorView> in, Span<TensorView> out, int axis, Op op) {
  WICK_TRY(check_indices(in[1], axis, in[0].shape[axis]));
  if (out[0].data != in[0].data) copy_strided(in[0], out[0]);
  T* y = out[0].as<T>();
  const T* updates = in[2].as<T>();
  each_element(out[0], in[1], axis, [=](int64_t i, int64_t to) { op(y + to, updates + i); });
  return {};
}
Status run_scatter_move(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  const int axis = axis_of(static_cast<const ScatterAttrs*>(attrs)->axis, in[0].rank());
  const auto move = [](auto* to, const auto* from) { *to = *from; };
  switch (dtype_size(in[0].dtype)) {
    case 1: return scatter_as<uint8_t>(in, out, axis, move);
    case 2: return scatter_as<uint16_t>(in, out, axis, move);
    case 4: return scatter_as<uint32_t>(in, out, axis, move);
    case 8: return scatter_as<uint64_t>(in, out, axis, move);
    default: return scatter_as<Wide128>(in, out, axis, move);
  }
}

template <class T>
Status run_scatter(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  const auto& a = *static_cast<const ScatterAttrs*>(attrs);
  const int axis = axis_of(a.axis, in[0].rank());
  const auto how = static_cast<ScatterReduction>(a.reduction);
  // A bool is read, since any byte but 0 is true.
  if (how == ScatterReduction::kNone && !std::is_same_v<T, bool>)
    return run_scatter_move(ctx, in, out, attrs);
  if (how == ScatterReduction::kAdd)
    return scatter_as<T>(in, out, axis,
                         [](T* to, const T* from) { *to = wrapping_add(read(to), read(from)); });
  return scatter_as<T>(in, out, axis,
                       [how](T* to, const T* from) { *to = combine(read(to), read(from), how); });
}

}  // namespace

WICK_REF_ROWS(Gather, {"gather.any", kContiguous, match_move, nullptr, nullptr, run_gather});
WICK_REF_ROWS(GatherElements, {"gather_elements.any", kContiguous, match_move, nullptr, nullptr,
                               run_gather_elements});
WICK_REF_ROWS(ScatterElements,
              WICK_NUMBER_ROWS("scatter_elements", kInPlace, match<T>, run_scatter<T>),
              WICK_BOOL_ROW("scatter_elements", kInPlace, match<T>, run_scatter<T>),
              {"scatter_elements.any", kInPlace, match_scatter_move<ScatterAttrs>, nullptr, nullptr,
               run_scatter_move});
WICK_NO_CPU_ROWS(Gather);
WICK_NO_CPU_ROWS(GatherElements);

}  // namespace wick
