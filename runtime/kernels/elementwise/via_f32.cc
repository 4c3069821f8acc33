#include "runtime/kernels/elementwise/via_f32.h"

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_loops.h"

namespace wick {
namespace {

// Returns whether the strides cover numel() consecutive elements once, in some order of the dims:
// the memory can then be widened as a whole.
bool dense(const TensorView& v) {
  int order[kMaxRank], n = 0;
  for (int i = 0; i < v.rank(); ++i) {
    if (v.shape[i] == 1) continue;
    int at = n++;
    for (; at > 0 && v.strides[order[at - 1]] > v.strides[i]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  int64_t step = 1;
  for (int k = 0; k < n; ++k) {
    if (v.strides[order[k]] != step) return false;
    step *= v.shape[order[k]];
  }
  return true;
}

template <class T>
void widen_view(const TensorView& from, float* to, ThreadPool* pool) {
  const T* x = from.as<T>();
  const int64_t n = from.numel();
  if (dense(from)) {
    parallel_items(pool, n, 1,
                   [&](int64_t i, int64_t end) { wick::widen(x + i, to + i, end - i); });
    return;
  }
  int64_t index[kMaxRank] = {};
  const int last = from.rank() - 1;
  Poll poll;
  for (int64_t i = 0, at = 0; i < n && !poll(2); ++i) {
    to[i] = static_cast<float>(x[at]);
    for (int d = last; d >= 0; --d) {
      at += from.strides[d];
      if (++index[d] < from.shape[d]) break;
      at -= from.strides[d] * from.shape[d];
      index[d] = 0;
    }
  }
}

template <class T>
void narrow_view(const float* from, const TensorView& to, ThreadPool* pool) {
  T* y = to.as<T>();
  parallel_items(pool, to.numel(), 1,
                 [&](int64_t i, int64_t end) { wick::narrow(from + i, y + i, end - i); });
}

}  // namespace

TensorView WidenedCall::widened(const TensorView& v, char* scratch) {
  if (!v.present() || !is_16_bit_float(v.dtype)) return v;
  void* at = scratch != nullptr ? scratch + bytes_ : nullptr;
  TensorView w(at, DType::kF32, v.shape);
  if (dense(v)) w.strides = v.strides;
  bytes_ += (sizeof(float) * static_cast<size_t>(v.numel()) + 63) / 64 * 64;
  return w;
}

WidenedCall::WidenedCall(Span<const TensorView> in, Span<const TensorView> out, void* scratch)
    : in_count_(in.size()), out_count_(out.size()) {
  for (size_t i = 0; i < in.size(); ++i) in_[i] = widened(in[i], static_cast<char*>(scratch));
  for (size_t i = 0; i < out.size(); ++i) out_[i] = widened(out[i], static_cast<char*>(scratch));
}

bool WidenedCall::fits(const KernelQuery& q) {
  const DType t = q.in[0].dtype;
  if (!is_16_bit_float(t) || q.in.size() > kMost || q.out.size() > kMost) return false;
  for (const TensorView& v : q.in) {
    if (v.present() && is_float(v.dtype) && v.dtype != t) return false;
  }
  for (const TensorView& v : q.out) {
    if (v.present() && is_float(v.dtype) && v.dtype != t) return false;
  }
  return true;
}

void WidenedCall::load(Span<const TensorView> in, ThreadPool* pool) const {
  for (size_t i = 0; i < in_count_; ++i) {
    if (!in[i].present() || !is_16_bit_float(in[i].dtype)) continue;
    auto* to = static_cast<float*>(in_[i].data);
    in[i].dtype == DType::kF16 ? widen_view<Half>(in[i], to, pool)
                               : widen_view<BFloat16>(in[i], to, pool);
  }
}

void WidenedCall::store(Span<TensorView> out, ThreadPool* pool) const {
  for (size_t i = 0; i < out_count_; ++i) {
    if (!out[i].present() || !is_16_bit_float(out[i].dtype)) continue;
    const auto* from = static_cast<const float*>(out_[i].data);
    out[i].dtype == DType::kF16 ? narrow_view<Half>(from, out[i], pool)
                                : narrow_view<BFloat16>(from, out[i], pool);
  }
}

}  // namespace wick
