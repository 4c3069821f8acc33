// ScatterElements that adds whole lines: the indices are those of one vector along the axis,
// repeated by strides of 0, as in the gradients of pads, of index_select and of repetitions.
// Indices are read once, and lines with following indices are added at once. The order is that of
// the reference: an element's updates are added in the order of the vector.
#include "runtime/core/byte_count.h"
#include "runtime/core/int_at.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/elementwise/chain.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/reference/indices.h"

namespace wick {
namespace {

// Updates [from, from + count) of the vector go to `to` and what follows it.
struct Stretch {
  int64_t from, to, count;
};

// The elements of a line: the dims behind the axis, which are whole and neighbours in x, and in the
// updates neighbours or one element repeated.
struct Line {
  int64_t size = 1, step = 1;
};
bool line_of(const TensorView& x, const TensorView& updates, int axis, Line* line) {
  bool repeats = true, dense = true;
  for (int d = x.rank() - 1; d > axis; --d) {
    if (updates.shape[d] != x.shape[d]) return false;
    if (x.shape[d] == 1) continue;
    repeats = repeats && updates.strides[d] == 0;
    dense = dense && updates.strides[d] == line->size;
    line->size *= x.shape[d];
  }
  line->step = dense ? 1 : 0;
  return dense || repeats;
}

template <class T>
bool match(const KernelQuery& q) {
  const TensorView &x = q.in[0], &index = q.in[1], &updates = q.in[2];
  const auto& a = q.as<ScatterAttrs>();
  if (x.dtype != dtype_of<T> || a.reduction != static_cast<int64_t>(ScatterReduction::kAdd))
    return false;
  if (x.rank() == 0 || index.numel() == 0) return false;
  const int axis = axis_of(a.axis, x.rank());
  bool repeated = false;
  for (int d = 0; d < x.rank(); ++d) {
    if (d == axis || index.shape[d] == 1) continue;
    if (index.strides[d] != 0) return false;
    repeated = true;
  }
  Line line;
  return repeated && line_of(x, updates, axis, &line);
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const int axis = axis_of(q.as<ScatterAttrs>().axis, q.in[0].rank());
  p->scratch_bytes = byte_count(static_cast<uint64_t>(q.in[1].shape[axis]) * sizeof(Stretch));
  return {};
}

// to += from, element by element.
template <class T>
void add(T* to, const T* from, int64_t step, int64_t n, BinaryBody body) {
  if constexpr (std::is_same_v<T, float>) {
    if (n >= 16 && (step == 1 || step == 0))
      return body(to, false, from, step == 0, to, static_cast<size_t>(n));
  }
  for (int64_t i = 0; i < n; ++i) to[i] += from[i * step];
}

template <class T>
void add_lines(const TensorView& y, const TensorView& updates, int axis, const Stretch* stretches,
               int64_t count) {
  Line line;
  line_of(y, updates, axis, &line);
  const BinaryBody body = binary_bodies()(OpId::kAdd);
  const int64_t apart = updates.strides[axis], along = line.size;
  const int64_t step = along == 1 ? apart : line.step;
  const bool joined = along == 1 || apart == along * step;  // the lines of a stretch are one
  int64_t outer = 1, at[kMaxRank] = {};
  for (int d = 0; d < axis; ++d) outer *= updates.shape[d];
  T* to = y.as<T>();
  const T* from = updates.as<T>();
  Poll poll;
  for (int64_t o = 0; o < outer && !poll(); ++o) {
    for (const Stretch* s = stretches; s != stretches + count; ++s) {
      const int64_t lines = joined ? 1 : s->count, size = joined ? s->count * along : along;
      for (int64_t j = 0; j < lines; ++j) {
        T* y_line = to + (s->to + j) * along;
        const T* line_of_updates = from + (s->from + j) * apart;
        in_pieces(poll, size, [&](int64_t begin, int64_t end) {
          add(y_line + begin, line_of_updates + begin * step, step, end - begin, body);
        });
      }
    }
    for (int d = axis - 1; d >= 0; --d) {
      to += y.strides[d], from += updates.strides[d];
      if (++at[d] < updates.shape[d]) break;
      to -= updates.shape[d] * y.strides[d], from -= updates.shape[d] * updates.strides[d];
      at[d] = 0;
    }
  }
}

template <class T>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const int axis = axis_of(static_cast<const ScatterAttrs*>(attrs)->axis, in[0].rank());
  const int64_t extent = in[0].shape[axis], n = in[1].shape[axis], step = in[1].strides[axis];
  const TensorView index = in[1];
  auto* stretches = static_cast<Stretch*>(ctx.scratch);
  int64_t count = 0;
  Poll poll;
  for (int64_t j = 0; j < n; ++j) {
    if (poll()) return {};
    int64_t to = int_at(index, j * step);
    WICK_TRY(reference::check_index(to, axis, extent));
    if (to < 0) to += extent;
    if (count > 0 && stretches[count - 1].to + stretches[count - 1].count == to) {
      ++stretches[count - 1].count;
    } else {
      stretches[count++] = {j, to, 1};
    }
  }
  if (out[0].data != in[0].data) copy_strided(in[0], out[0]);
  if (!stopped()) add_lines<T>(out[0], in[2], axis, stretches, count);
  return {};
}

}  // namespace

WICK_CPU_ROWS(ScatterElements,
              {"scatter_elements.f32.lines", kStridedInputs | kInPlace, match<float>, plan, nullptr,
               run<float>},
              {"scatter_elements.f64.lines", kStridedInputs | kInPlace, match<double>, plan,
               nullptr, run<double>});

}  // namespace wick
