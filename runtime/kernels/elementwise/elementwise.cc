#include "runtime/kernels/elementwise/elementwise.h"

namespace wick {

template <int N>
ElementLoop<N>::ElementLoop(const TensorView& out, const TensorView* in) {
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

template <int N>
void ElementLoop<N>::rows(int64_t begin, int64_t end, Row f) const {
  if (begin >= end) return;
  int64_t at[kMaxRank] = {};
  int64_t offset[N] = {};
  int64_t rest = begin;
  for (int i = rank - 1; i >= 0 && rest != 0; --i) {
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

template <int N>
void ElementLoop<N>::parallel_rows(ThreadPool* pool, Row f) const {
  if (total <= kElementGrain) {
    rows(0, total, f);
    return;
  }
  parallel_for(pool, (total + kElementGrain - 1) / kElementGrain, [&](int64_t task, int) {
    int64_t begin = task * kElementGrain;
    rows(begin, begin + kElementGrain < total ? begin + kElementGrain : total, f);
  });
}

template struct ElementLoop<1>;
template struct ElementLoop<2>;
template struct ElementLoop<3>;

}  // namespace wick
