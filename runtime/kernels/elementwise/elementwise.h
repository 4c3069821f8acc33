// The loop nest of elementwise kernels: broadcasting and strides are merged into as few dims as
// possible, and the work is divided into tasks of a constant number of elements.
#pragma once

#include "runtime/core/function_ref.h"
#include "runtime/core/tensor_view.h"
#include "runtime/core/thread_pool.h"

namespace wick {

constexpr int64_t kElementGrain = 1 << 15;  // elements per task, whatever the thread count

// Strides of N inputs (1 to 3) over the dims of a contiguous output.
template <int N>
struct ElementLoop {
  // Called for n consecutive outputs from `begin`, all in one innermost row; input k's first
  // element is at offsets[k] and its stride is stride[k][rank - 1]. The loop nest is compiled once
  // for all callers, so a callable should copy what its inner loop reads into locals.
  using Row = FunctionRef<void(int64_t begin, int64_t n, const int64_t* offsets)>;

  int rank = 1;  // >= 1
  int64_t total = 0;
  int64_t dim[kMaxRank] = {1};
  int64_t stride[N][kMaxRank] = {};

  ElementLoop(const TensorView& out, const TensorView* in);
  void rows(int64_t begin, int64_t end, Row f) const;
  void parallel_rows(ThreadPool* pool, Row f) const;
};
extern template struct ElementLoop<1>;
extern template struct ElementLoop<2>;
extern template struct ElementLoop<3>;

// Calls f(task) for tasks of at least kElementGrain elements of work, where each item costs `cost`
// elements.
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

// Calls f(plane, begin, end) for rows of planes, `planes` in each of some images, of which each row
// costs `cost` elements. The rows of an image are divided among the threads, and those of its
// planes alike: so a thread mostly reads what it wrote itself, as bands of rows are what blocked
// convolutions give to threads.
template <class F>
void parallel_bands(ThreadPool* pool, int64_t images, int64_t planes, int64_t rows, int64_t cost,
                    F&& f) {
  const int64_t threads = pool == nullptr ? 1 : pool->threads();
  const int64_t all = images * planes;
  if (threads == 1 || all * rows * cost <= kElementGrain) {
    for (int64_t i = 0; i < all; ++i) f(i, 0, rows);
    return;
  }
  const int64_t bands = images % threads == 0 ? 1 : rows < threads ? rows : threads;
  const int64_t band_cost = (rows + bands - 1) / bands * cost;
  int64_t some = band_cost > 0 ? kElementGrain / band_cost : planes;
  some = some < 1 ? 1 : some > planes ? planes : some;
  const int64_t pieces = (planes + some - 1) / some;
  parallel_for(pool, images * bands * pieces, [&](int64_t task, int) {
    const int64_t image = task / (bands * pieces), band = task / pieces % bands;
    const int64_t first = task % pieces * some;
    for (int64_t p = first; p < first + some && p < planes; ++p)
      f(image * planes + p, band * rows / bands, (band + 1) * rows / bands);
  });
}

}  // namespace wick
