// The loop nest behind elementwise kernels: broadcasting and strides folded into as few dims as
// possible, cut into tasks by a constant number of elements.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/core/thread_pool.h"

namespace wick {

constexpr int64_t kElementGrain = 1
                                  << 15;  // elements a task: a constant, whatever the thread count

// Strides of N inputs over the dims of a contiguous output.
template <int N>
struct ElementLoop {
  int rank = 1;  // >= 1
  int64_t total = 0;
  int64_t dim[kMaxRank] = {1};
  int64_t stride[N][kMaxRank] = {};

  ElementLoop(const TensorView& out, const TensorView* in) {
    rank = 0;
    total = out.numel();
    for (int i = 0; i < out.rank(); ++i) {
      if (out.shape[i] == 1) continue;
      int64_t step[N];
      bool merges = rank > 0;
      for (int k = 0; k < N; ++k) {
        int at = i - (out.rank() - in[k].rank());
        step[k] = at < 0 || in[k].shape[at] == 1 ? 0 : in[k].strides[at];
        if (rank > 0 && stride[k][rank - 1] != step[k] * out.shape[i]) merges = false;
      }
      if (!merges) dim[rank++] = 1;
      dim[rank - 1] *= out.shape[i];
      for (int k = 0; k < N; ++k) stride[k][rank - 1] = step[k];
    }
    if (rank == 0) dim[rank++] = 1;
  }

  // f(begin, n, offsets): n consecutive outputs from `begin`, all in one innermost row; input k's
  // first element is at offsets[k] and its step is stride[k][rank - 1].
  template <class F>
  void rows(int64_t begin, int64_t end, F&& f) const {
    if (begin >= end) return;
    int64_t at[kMaxRank];
    int64_t offset[N] = {};
    int64_t rest = begin;
    for (int i = rank - 1; i >= 0; --i) {
      at[i] = rest % dim[i];
      rest /= dim[i];
      for (int k = 0; k < N; ++k) offset[k] += at[i] * stride[k][i];
    }
    const int last = rank - 1;
    while (true) {
      int64_t n = dim[last] - at[last];
      if (n > end - begin) n = end - begin;
      f(begin, n, offset);
      begin += n;
      if (begin >= end) return;
      for (int k = 0; k < N; ++k) offset[k] -= at[last] * stride[k][last];
      at[last] = 0;
      for (int i = last - 1; i >= 0; --i) {
        for (int k = 0; k < N; ++k) offset[k] += stride[k][i];
        if (++at[i] < dim[i]) break;
        for (int k = 0; k < N; ++k) offset[k] -= dim[i] * stride[k][i];
        at[i] = 0;
      }
    }
  }

  template <class F>
  void parallel_rows(ThreadPool* pool, F&& f) const {
    if (total <= kElementGrain) {
      rows(0, total, f);
      return;
    }
    parallel_for(pool, (total + kElementGrain - 1) / kElementGrain, [&](int64_t task, int) {
      int64_t begin = task * kElementGrain;
      rows(begin, begin + kElementGrain < total ? begin + kElementGrain : total, f);
    });
  }
};

// f(task) for tasks of at least kElementGrain elements of work, `cost` elements each item.
template <class F>
void parallel_items(ThreadPool* pool, int64_t items, int64_t cost, F&& f) {
  int64_t per_task = cost > 0 ? kElementGrain / cost : items;
  if (per_task < 1) per_task = 1;
  if (items <= per_task) {
    f(0, items);
    return;
  }
  parallel_for(pool, (items + per_task - 1) / per_task, [&](int64_t task, int) {
    int64_t begin = task * per_task;
    f(begin, begin + per_task < items ? begin + per_task : items);
  });
}

}  // namespace wick
