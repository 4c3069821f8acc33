// Range and NonMaxSuppression, whose sizes depend on values.
#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/reference/merge_sort.h"
#include "runtime/kernels/reference/rows.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

bool match_any(const KernelQuery&) { return true; }

Status plan_range(const KernelQuery& q, KernelPlan* p) {
  p->keep(q.args->range);
  return {};
}

Status run_range(const KernelCtx& ctx, Span<const TensorView>, Span<TensorView> out, const void*) {
  const auto& range = ctx.plan->kept<RangeSteps>();
  const auto start = static_cast<uint64_t>(range.start), step = static_cast<uint64_t>(range.step);
  int64_t* to = out[0].as<int64_t>();
  Poll poll;
  in_pieces(poll, out[0].shape[0], [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      to[i] = static_cast<int64_t>(start + static_cast<uint64_t>(i) * step);
  });
  return {};
}

template <class T>
struct Box {
  T y1, x1, y2, x2;
};

template <class T>
Box<T> box_of(const T* p, bool center) {
  if (center) {
    T half_w = p[2] / 2, half_h = p[3] / 2;
    return {p[1] - half_h, p[0] - half_w, p[1] + half_h, p[0] + half_w};
  }
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

// Returns whether the intersection over union exceeds the threshold; boxes without an area suppress
// nothing.
template <class T>
bool hides(const Box<T>& a, const Box<T>& b, T threshold) {
  T height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  T width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0) || !(width > 0)) return false;
  T both = height * width;
  T area_a = (a.y2 - a.y1) * (a.x2 - a.x1), area_b = (b.y2 - b.y1) * (b.x2 - b.x1);
  T either = area_a + area_b - both;
  if (!(area_a > 0) || !(area_b > 0) || !(either > 0)) return false;
  return both / either > threshold;
}

template <class T>
T scalar_or(Span<const TensorView> in, size_t i, T fallback) {
  return i < in.size() && in[i].present() ? *in[i].as<T>() : fallback;
}

Status plan_nms(const KernelQuery& q, KernelPlan* plan) {  // scratch holds an order of the boxes
  plan->keep(q.args->number);
  plan->scratch_bytes = byte_count(static_cast<uint64_t>(q.in[0].shape[1]) * 2 * sizeof(int64_t));
  return {};
}

// The boxes of a class are visited by descending score, with equal scores in input order and NaN
// last; each is selected unless a box selected before suppresses it.
template <class T>
Status run_nms(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
               const void* attrs) {
  bool center = static_cast<const NmsAttrs*>(attrs)->center_point_box != 0;
  int64_t batches = in[1].shape[0], classes = in[1].shape[1], n = in[1].shape[2], found = 0;
  const int64_t most = ctx.plan->kept<OneNumber>().value;
  T iou = scalar_or(in, 3, T(0));
  bool has_least = in.size() > 4 && in[4].present();
  T least = scalar_or(in, 4, T(0));
  auto* order = static_cast<int64_t*>(ctx.scratch);
  int64_t *room = order + n, *to = out[0].as<int64_t>();
  Poll poll;
  if (n == 0 || most <= 0) batches = 0;
  for (int64_t b = 0; b < batches; ++b) {
    const T* boxes = in[0].as<T>() + b * n * 4;
    for (int64_t c = 0; c < classes; ++c) {
      const T* scores = in[1].as<T>() + (b * classes + c) * n;
      int64_t count = 0;
      in_pieces(poll, n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (!has_least || scores[i] > least) order[count++] = i;
        }
      });
      merge_sort(order, room, count, poll, [&](int64_t i, int64_t j) {
        bool nan_i = scores[i] != scores[i], nan_j = scores[j] != scores[j];
        if (nan_i || nan_j) return nan_i == nan_j ? i < j : nan_j;
        return scores[i] == scores[j] ? i < j : scores[i] > scores[j];
      });
      if (stopped()) return {};
      int64_t first = found;
      for (int64_t k = 0; k < count && found - first < most; ++k) {
        Box<T> box = box_of(boxes + order[k] * 4, center);
        bool hidden = false;
        for (int64_t s = first; s < found && !hidden; ++s) {
          if (poll(8)) return {};
          hidden = hides(box_of(boxes + to[s * 3 + 2] * 4, center), box, iou);
        }
        if (hidden) continue;
        to[found * 3] = b;
        to[found * 3 + 1] = c;
        to[found * 3 + 2] = order[k];
        ++found;
      }
    }
  }
  out[0].shape[0] = found;
  return {};
}

}  // namespace

WICK_REF_ROWS(Range, {"range.i64", kContiguous, match_any, plan_range, nullptr, run_range});
WICK_REF_ROWS(NonMaxSuppression,
              {"non_max_suppression.f32", kContiguous, match<float>, plan_nms, nullptr,
               run_nms<float>},
              {"non_max_suppression.f64", kContiguous, match<double>, plan_nms, nullptr,
               run_nms<double>});
WICK_NO_CPU_ROWS(Range);
WICK_NO_CPU_ROWS(NonMaxSuppression);

}  // namespace wick
