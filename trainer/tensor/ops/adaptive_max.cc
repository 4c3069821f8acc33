#include "trainer/tensor/ops/adaptive_max.h"

#include <algorithm>

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/function.h"
#include "trainer/autograd/grad/one_pass.h"
#include "trainer/tensor/lines.h"
#include "trainer/tensor/modes.h"

namespace wick::detail {
namespace {

// The gradient of a dim's maxima: each window's is shared by the elements equal to its maximum, as
// amax() shares it, and the windows' gradients are added, the last window first, with zeros where a
// window is not. An element is in at most two windows.
struct Shares {
  AdaptiveWindows windows;
  int64_t inner;  // elements of a row: the dims behind this one

  // x[size, inner], and the maxima y and their gradients g[n, inner]. Writes the sums to `sum`; if
  // `second` is not null it gets those of the second of two windows, which the caller adds.
  template <class T>
  void add(const T* x, const T* y, const T* g, T* share, T* sum, T* second) const {
    const int64_t n = windows.n;
    for (int64_t k = n - 1; k >= 0; --k) {
      const T* top = y + k * inner;
      const int64_t begin = windows.begin(k), end = windows.end(k);
      std::fill(share, share + inner, T(0));
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t c = 0; c < inner; ++c) share[c] += hit(x[r * inner + c], top[c]);
      }
      for (int64_t c = 0; c < inner; ++c) share[c] = g[k * inner + c] / share[c];
      const int64_t seen = k + 1 < n ? windows.begin(k + 1) : windows.size;
      const int64_t again = k > 0 ? windows.end(k - 1) : 0;
      for (int64_t r = begin; r < end; ++r) {
        const T* from = x + r * inner;
        T* to = sum + r * inner;
        if (r >= seen) {
          // x + 0 is x but for -0; only two windows have no third one's zeros.
          T* other = second == nullptr ? to : second + r * inner;
          for (int64_t c = 0; c < inner; ++c) {
            const T v = hit(from[c], top[c]) * share[c];
            other[c] = second == nullptr ? to[c] + v : v;
            if (n > 2) other[c] += T(0);
          }
          continue;
        }
        for (int64_t c = 0; c < inner; ++c) to[c] = hit(from[c], top[c]) * share[c];
        if (second != nullptr) {
          std::fill(second + r * inner, second + (r + 1) * inner, T(0));
        } else if (n > 1 && r >= again) {
          for (int64_t c = 0; c < inner; ++c) to[c] += T(0);
        }
      }
    }
  }
  template <class T>
  static T hit(T x, T top) {
    return x == top || x != x ? T(1) : T(0);
  }
};

template <class T>
void add_shares(const Tensor& x, const Tensor& y, const Tensor& g, int dim, Tensor* sum,
                Tensor* second) {
  const Shape &from = x.raw_shape(), &to = y.raw_shape();
  Shares shares{{from[dim], to[dim]}, 1};
  int64_t outer = 1;
  for (int d = 0; d < dim; ++d) outer *= from[d];
  for (int d = dim + 1; d < from.rank(); ++d) shares.inner *= from[d];
  const int64_t inner = shares.inner, in = from[dim] * inner, out = to[dim] * inner;
  std::vector<T> room(static_cast<size_t>(inner * num_threads()));
  const T *a = x.layout().as<T>(), *b = y.layout().as<T>(), *c = g.layout().as<T>();
  T *d = sum->layout().as<T>(), *e = second == nullptr ? nullptr : second->layout().as<T>();
  each_line(outer, 2 * in, [&](int64_t o, int worker) {
    shares.add(a + o * in, b + o * out, c + o * out, room.data() + worker * inner, d + o * in,
               e == nullptr ? nullptr : e + o * in);
  });
}

// x is an input once for each window of the first dim: the ops read it so often, and what they
// contribute to its gradient is added, one after the other, to what other readers of x do.
struct AdaptiveMax : Function<AdaptiveMax> {
  static Tensor forward(AutogradContext& ctx, const variable_list& x, const AdaptiveOps& ops) {
    variable_list all = ops({x[0]});
    all.insert(all.begin(), x[0]);
    ctx.saved_data["ops"] = ops;
    ctx.saved_data["windows"] = x.size();
    ctx.save_for_backward(all);
    return all.back();
  }

  static variable_list backward(AutogradContext& ctx, const variable_list& grads) {
    const auto windows = std::any_cast<size_t>(ctx.saved_data["windows"]);
    const variable_list t = ctx.get_saved_variables();
    variable_list out(windows + 1);
    if (!formula::unrecorded() || modes().recorder != nullptr) {
      const variable_list parts = through_ops(ctx, windows, t[0], grads[0]);
      std::copy(parts.begin(), parts.end(), out.begin());
      return out;
    }
    Tensor g = grads[0].contiguous();
    for (size_t i = t.size() - 1; i-- > 0;) {
      const Tensor x = t[i].contiguous(), y = t[i + 1].contiguous();
      out[0] = new_tensor(x.raw_shape(), x.dtype());
      const bool apart = i == 0 && windows > 1;
      if (apart) out[1] = new_tensor(x.raw_shape(), x.dtype());
      const auto add = x.dtype() == DType::kF64 ? add_shares<double> : add_shares<float>;
      add(x, y, g, static_cast<int>(i) + 2, out.data(), apart ? &out[1] : nullptr);
      g = out[0];
    }
    return out;
  }

  // The gradients of the ops, which can be differentiated again: they do not depend on x but by
  // what is largest. The last window's is the first, as the newest op comes first.
  static variable_list through_ops(AutogradContext& ctx, size_t windows, const Tensor& x,
                                   const Tensor& g) {
    const bool higher = grad_enabled();
    const GradMode on(true);
    variable_list read;
    for (size_t k = 0; k < windows; ++k) read.push_back(x.detach().requires_grad_());
    const Tensor y = std::any_cast<AdaptiveOps>(ctx.saved_data["ops"])(read).back();
    return grad({y}, {read.rbegin(), read.rend()}, {g}, higher, higher, true);
  }
};

}  // namespace

bool is_one_adaptive_max(const Tensor& x, const Sizes& out) {
  const Modes& m = modes();
  if (x.dtype() != DType::kF32 && x.dtype() != DType::kF64) return false;
  if (x.is_vulkan() || x.layout().numel() == 0 || !grad_enabled() || !x.requires_grad())
    return false;
  for (int i = 0; i < out.count; ++i) {
    if (x.raw_shape()[2 + i] < out[i]) return false;
  }
  return m.forward == 0 && m.recorder == nullptr && m.watcher == nullptr &&
         active_tracer() == nullptr;
}

Tensor one_adaptive_max(const Arg& x, const Sizes& out, const AdaptiveOps& ops) {
  return AdaptiveMax::apply(variable_list(static_cast<size_t>(out[0]), x.tensor), ops);
}

}  // namespace wick::detail
