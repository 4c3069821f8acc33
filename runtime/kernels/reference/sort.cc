// TopK and Unique, based on one stable merge sort of positions. The order is total: -0 < +0, NaN
// above all; equal elements keep their order, whichever way TopK sorts.
#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/reference/indices.h"
#include "runtime/kernels/reference/merge_sort.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

Status plan_topk(const KernelQuery& q, KernelPlan* plan) {
  int axis = axis_of(q.as<TopKAttrs>().axis, q.in[0].rank());
  auto n = static_cast<uint64_t>(q.in[0].shape[axis]);
  plan->scratch_bytes = byte_count(n * (2 * sizeof(int64_t) + dtype_size(q.in[0].dtype)));
  return {};
}

// Writes the first k of n positions in order to `at`. A heap of k, the last of them on top, takes
// the place of a sort where k is small beside n: most elements are compared once.
template <class Before>
void first_of(int64_t k, int64_t n, int64_t* at, int64_t* room, Poll& poll, Before&& key_before) {
  if (k > n / 8) {
    in_pieces(poll, n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) at[i] = i;
    });
    return merge_sort(at, room, n, poll, key_before);
  }
  if (k == 0) return;
  const auto before = [&](int64_t i, int64_t j) {
    return key_before(i, j) || (i < j && !key_before(j, i));
  };
  for (int64_t i = 0; i < k; ++i) at[i] = i;
  std::make_heap(at, at + k, before);
  in_pieces(poll, n - k, [&](int64_t begin, int64_t end) {
    for (int64_t i = k + begin; i < k + end; ++i) {
      if (!key_before(i, at[0])) continue;
      if (poll(64)) return;
      std::pop_heap(at, at + k, before);
      at[k - 1] = i;
      std::push_heap(at, at + k, before);
    }
  });
  if (stopped()) return;
  // The heap's order is `before`: sorted, the first comes first.
  int64_t left = k;
  for (; left > 1 && !poll(64); --left) std::pop_heap(at, at + left, before);
}

template <class T>
Status run_topk(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  const auto& a = *static_cast<const TopKAttrs*>(attrs);
  const TensorView& x = in[0];
  int axis = axis_of(a.axis, x.rank());
  int64_t n = x.shape[axis], k = out[0].shape[axis], inner = 1;
  if (k > n) return Status(Code::kInvalidArgument, "k is larger than the axis");
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.shape[i];
  int64_t lines = n == 0 ? 0 : x.numel() / n;
  auto* at = static_cast<int64_t*>(ctx.scratch);
  int64_t* room = at + n;
  T* keys = reinterpret_cast<T*>(room + n);
  Poll poll;
  for (int64_t line = 0; line < lines; ++line) {
    int64_t outer = line / inner, column = line % inner;
    const T* from = x.as<T>() + outer * n * inner + column;
    in_pieces(poll, n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) keys[i] = from[i * inner];
    });
    if (a.largest != 0) {
      first_of(k, n, at, room, poll,
               [&](int64_t i, int64_t j) { return sorts_before(keys[j], keys[i]); });
    } else {
      first_of(k, n, at, room, poll,
               [&](int64_t i, int64_t j) { return sorts_before(keys[i], keys[j]); });
    }
    if (stopped()) return {};
    int64_t to = outer * k * inner + column;
    for (int64_t i = 0; i < k && !poll(); ++i, to += inner) {
      out[0].as<T>()[to] = keys[at[i]];
      out[1].as<int64_t>()[to] = at[i];
    }
  }
  return {};
}

// The items that Unique compares: slices of an axis, element by element, or single elements.
template <class T>
struct Slices {
  const T* x;
  int64_t outer, count, inner;
  Poll* poll;

  T element(int64_t slice, int64_t i) const {
    return read(x + (i / inner * count + slice) * inner + i % inner);
  }
  bool before(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < outer * inner && !(*poll)(); ++i) {
      T p = element(a, i), q = element(b, i);
      if (sorts_before(p, q)) return true;
      if (sorts_before(q, p)) return false;
    }
    return false;
  }
  // -0 == +0; NaN equals nothing.
  bool same(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < outer * inner && !(*poll)(); ++i) {
      if (!(static_cast<Compute<T>>(element(a, i)) == static_cast<Compute<T>>(element(b, i))))
        return false;
    }
    return true;
  }
};

int64_t slice_count(const KernelQuery& q) {
  const auto& axis = q.as<UniqueAttrs>().axis;
  const TensorView& x = q.in[0];
  return axis.empty() ? x.numel() : x.shape[axis_of(axis[0], x.rank())];
}

Status plan_unique(const KernelQuery& q, KernelPlan* plan) {
  plan->scratch_bytes = byte_count(static_cast<uint64_t>(slice_count(q)) * 4 * sizeof(int64_t));
  return {};
}

// Groups equal neighbours of the sorted slices. -0 and +0 are in one group, so its first index is
// searched for. Returns the number of groups; the run may have been ended.
template <class T>
int64_t group_slices(const Slices<T>& s, const int64_t* at, int64_t* first, int64_t* group,
                     Poll& poll) {
  int64_t groups = 0;
  for (int64_t i = 0; i < s.count && !poll(); ++i) {
    if (i == 0 || !s.same(at[i - 1], at[i])) {
      first[groups] = at[i];
      ++groups;
    } else if (at[i] < first[groups - 1]) {
      first[groups - 1] = at[i];
    }
    group[at[i]] = groups - 1;
  }
  return groups;
}

template <class T>
Status run_unique(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  const auto& a = *static_cast<const UniqueAttrs*>(attrs);
  const TensorView& x = in[0];
  Poll poll;
  Slices<T> s{x.as<T>(), 1, x.numel(), 1, &poll};
  int axis = a.axis.empty() ? 0 : axis_of(a.axis[0], x.rank());
  if (!a.axis.empty()) {
    s.count = x.shape[axis];
    for (int i = 0; i < axis; ++i) s.outer *= x.shape[i];
    for (int i = axis + 1; i < x.rank(); ++i) s.inner *= x.shape[i];
  }
  int64_t n = s.count;
  auto* at = static_cast<int64_t*>(ctx.scratch);
  int64_t *room = at + n, *first = room + n, *group = first + n;
  int64_t *inverse = out[2].as<int64_t>(), *counts = out[3].as<int64_t>();
  for (int64_t i = 0; i < n && !poll(); ++i) at[i] = i;
  merge_sort(at, room, n, poll, [&](int64_t i, int64_t j) { return s.before(i, j); });
  if (stopped()) return {};
  const int64_t groups = group_slices(s, at, first, group, poll);
  if (stopped()) return {};
  // order[g]: the position of group g in the output
  int64_t* order = at;
  for (int64_t g = 0; g < groups && !poll(); ++g) at[g] = g;
  if (stopped()) return {};
  if (a.sorted == 0) {
    merge_sort(at, room, groups, poll, [&](int64_t i, int64_t j) { return first[i] < first[j]; });
    if (stopped()) return {};
    for (int64_t i = 0; i < groups; ++i) {
      if (poll()) return {};
      room[at[i]] = i;
    }
    order = room;
  }
  for (int64_t g = 0; g < groups; ++g) {
    if (poll()) return {};
    counts[g] = 0;
    out[1].as<int64_t>()[order[g]] = first[g];
  }
  for (int64_t i = 0; i < n; ++i) {
    if (poll()) return {};
    inverse[i] = order[group[i]];
    ++counts[inverse[i]];
  }
  for (size_t i : {0, 1, 3}) out[i].shape[i == 0 ? axis : 0] = groups;
  T* to = out[0].as<T>();
  const int64_t outer = x.numel() == 0 ? 0 : s.outer;  // nothing to copy
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t g = 0; g < groups; ++g) {
      if (poll(s.inner)) return {};
      for (int64_t i = 0; i < s.inner; ++i)
        *to++ = s.element(out[1].as<int64_t>()[g], o * s.inner + i);
    }
  }
  return {};
}

}  // namespace

// These rows have a plan, which WICK_REF_ROW cannot express.
#define TOPK(T, dtype) \
  {"topk." dtype ".ref", kContiguous, match<T>, plan_topk, nullptr, run_topk<T>},
#define UNIQUE(T, dtype) \
  {"unique." dtype ".ref", kContiguous, match<T>, plan_unique, nullptr, run_unique<T>},
WICK_REF_ROWS(TopK, WICK_NUMBER_TYPES(TOPK));
WICK_REF_ROWS(Unique,
              WICK_NUMBER_TYPES(UNIQUE) UNIQUE(bool, "bool") UNIQUE(StringRef, "string"){
                  "unique.c64.ref", kContiguous, match_dtype<DType::kC64>, plan_unique, nullptr,
                  run_unique<Complex<float>>},
              {"unique.c128.ref", kContiguous, match_dtype<DType::kC128>, plan_unique, nullptr,
               run_unique<Complex<double>>});
WICK_NO_CPU_ROWS(Unique);

}  // namespace wick
