// Gather, GatherElements, ScatterElements.
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
    in_pieces(poll, count, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        const int64_t at = int_at(indices, j);
        to[j] = from[at < 0 ? at + extent : at];
      }
    });
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
  Poll poll;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < count; ++j, to += line) {
      if (poll(8 + inner)) return {};
      int64_t at = int_at(in[1], j);
      if (at < 0) at += extent;
      if (!copy_bytes(to, from + static_cast<size_t>(o * extent + at) * line, line)) return {};
    }
  }
  return {};
}

// Calls f(offset in indices, offset in x) for every index position, in row-major order; both are
// contiguous.
template <class F>
void each_element(const TensorView& x, const TensorView& index, int axis, F&& f) {
  const TensorView indices = index;  // a copy whose dtype no store can change
  const int last = x.rank() - 1;
  const int64_t cols = indices.shape[last], extent = x.shape[axis], along = x.strides[axis],
                step = axis == last ? 0 : x.strides[last];
  const int64_t n = indices.numel();
  int64_t at[kMaxRank] = {};
  Poll poll;
  if (stopped()) return;  // indices were not checked
  for (int64_t first = 0; first < n; first += cols) {
    int64_t row = 0;
    for (int d = 0; d < last; ++d) row += d == axis ? 0 : at[d] * x.strides[d];
    bool ended = true;
    in_pieces(poll, cols, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        const int64_t i = int_at(indices, first + j);
        f(first + j, row + (i < 0 ? i + extent : i) * along + j * step);
      }
      ended = end < cols;
    });
    if (ended) return;
    for (int d = last - 1; d >= 0 && ++at[d] == indices.shape[d]; --d) at[d] = 0;
  }
}

template <class T>
Status gather_elements_as(Span<const TensorView> in, Span<TensorView> out, int axis) {
  each_element(in[0], in[1], axis,
               [&](int64_t i, int64_t from) { out[0].as<T>()[i] = in[0].as<T>()[from]; });
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
template <class T>
Status run_scatter(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  const auto& a = *static_cast<const ScatterAttrs*>(attrs);
  int axis = axis_of(a.axis, in[0].rank());
  WICK_TRY(check_indices(in[1], axis, in[0].shape[axis]));
  if (out[0].data != in[0].data) copy_strided(in[0], out[0]);
  auto how = static_cast<ScatterReduction>(a.reduction);
  T* y = out[0].as<T>();
  each_element(out[0], in[1], axis, [&](int64_t i, int64_t to) {
    y[to] = combine(read(y + to), read(in[2].as<T>() + i), how);
  });
  return {};
}

template <class T>
Status move_updates(Span<const TensorView> in, Span<TensorView> out, int axis) {
  if (out[0].data != in[0].data) copy_strided(in[0], out[0]);
  each_element(out[0], in[1], axis,
               [&](int64_t i, int64_t to) { out[0].as<T>()[to] = in[2].as<T>()[i]; });
  return {};
}
Status run_scatter_move(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  int axis = axis_of(static_cast<const ScatterAttrs*>(attrs)->axis, in[0].rank());
  WICK_TRY(check_indices(in[1], axis, in[0].shape[axis]));
  switch (dtype_size(in[0].dtype)) {
    case 1: return move_updates<uint8_t>(in, out, axis);
    case 8: return move_updates<uint64_t>(in, out, axis);
    default: return move_updates<Wide128>(in, out, axis);
  }
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
WICK_NO_CPU_ROWS(ScatterElements);

}  // namespace wick
