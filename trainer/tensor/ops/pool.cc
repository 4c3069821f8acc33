#include "trainer/tensor/ops/pool.h"

#include "trainer/tensor/compose.h"
#include "trainer/tensor/ops/adaptive_max.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick {
namespace {

struct Window {
  Sizes kernel, stride, padding, dilation;
  bool ceil_mode = false;
  bool count_include_pad = false;
};

Tensor pool(const char* name, OpId op, const Arg& x, const Window& w) {
  bool added = false;
  Tensor in = batched(name, x, w.kernel.count, &added);
  PoolAttrs a;
  a.kernel_shape = w.kernel;
  a.strides = w.stride;
  a.dilations = w.dilation;
  a.pads.count = 2 * w.kernel.count;
  for (int64_t i = 0; i < w.kernel.count; ++i) {
    if (2 * w.padding[i] > w.kernel[i]) {
      throw_error(name,
                  "padding must be at most half the kernel, got " + std::to_string(w.padding[i]) +
                      " for a kernel of " + std::to_string(w.kernel[i]),
                  x.where);
    }
    a.pads.values[i] = a.pads.values[i + w.kernel.count] = w.padding[i];
  }
  a.ceil_mode = w.ceil_mode ? 1 : 0;
  a.count_include_pad = w.count_include_pad ? 1 : 0;
  Tensor y = call(op, a, {{in, x.where}});
  return added ? y.squeeze(0, x.where) : y;
}

template <class Size>
Tensor max_pool(const char* name, const Arg& x, Size kernel, const std::optional<Size>& stride,
                Size padding, Size dilation, bool ceil_mode) {
  return pool(name, OpId::kMaxPool, x,
              {sizes(kernel), sizes(stride.value_or(kernel)), sizes(padding), sizes(dilation),
               ceil_mode, false});
}
template <class Size>
Tensor avg_pool(const char* name, const Arg& x, Size kernel, const std::optional<Size>& stride,
                Size padding, bool ceil_mode, bool count_include_pad) {
  return pool(name, OpId::kAveragePool, x,
              {sizes(kernel), sizes(stride.value_or(kernel)), sizes(padding), sizes(Size(1)),
               ceil_mode, count_include_pad});
}

// Returns the results behind each spatial dim; x is one tensor, or one for each window of the
// first.
std::vector<Tensor> one_dim_after_the_other(bool average, const std::vector<Tensor>& x,
                                            const Sizes& out, const Where& where) {
  const At at(where);
  std::vector<Tensor> results;
  for (int i = 0; i < out.count; ++i) {
    const auto source = [&](int64_t k) {
      return i > 0 ? results.back() : x[x.size() == 1 ? 0 : static_cast<size_t>(k)];
    };
    const detail::AdaptiveWindows windows{dim_of(source(0), 2 + i), out[i]};
    std::vector<Tensor> parts;
    for (int64_t k = 0; k < out[i]; ++k) {
      Tensor part = source(k).slice(2 + i, windows.begin(k), windows.end(k), 1, where);
      parts.push_back(average ? mean(at(part), {2 + i}, true) : amax(at(part), {2 + i}, true));
    }
    results.push_back(cat(parts, 2 + i, where));
  }
  return results;
}

// Each window is an op of its own where they are not alike.
constexpr int64_t kMostWindows = 1 << 16;

// Output i of n covers [floor(i * size / n), ceil((i + 1) * size / n)): equal windows if n divides
// the size, otherwise one slice each, one dim after the other.
Tensor adaptive(const char* name, bool average, const Arg& x, const Sizes& out) {
  const At at(x);
  bool added = false;
  Tensor t = batched(name, x, out.count, &added);
  Window w;
  w.kernel.count = w.stride.count = w.padding.count = w.dilation.count = out.count;
  bool whole = true, even = true;
  Dims spatial;
  for (int i = 0; i < out.count; ++i) {
    const int64_t size = dim_of(t, 2 + i);
    if (out[i] < 1 || size < 1) {
      bad_shape(name, "output sizes must be >= 1 and the input not empty, got " + text(x.tensor),
                x.where);
    }
    whole = whole && out[i] == 1;
    even = even && size % out[i] == 0;
    w.kernel.values[i] = w.stride.values[i] = size / out[i];
    w.dilation.values[i] = 1;
    spatial.values[spatial.count++] = 2 + i;
  }
  for (int i = 0; i < out.count && !whole && !even; ++i) {
    if (out[i] > kMostWindows) {
      throw_error(name,
                  std::to_string(out[i]) + " windows along dim " + std::to_string(2 + i) + " of " +
                      text(x.tensor) + ": at most " + std::to_string(kMostWindows) +
                      " where they do not divide it; interpolate() makes a tensor larger",
                  x.where);
    }
  }
  if (whole && average) {
    t = mean(at(t), spatial, true);
  } else if (whole && active_tracer() != nullptr) {
    t = amax(at(t), spatial, true);  // for any size; a kernel would fix it
  } else if (even) {
    t = pool(name, average ? OpId::kAveragePool : OpId::kMaxPool, at(t), w);
  } else if (!average && detail::is_one_adaptive_max(t, out)) {
    const Composite composite(name, x.where);
    t = detail::one_adaptive_max(at(t), out, [out](const std::vector<Tensor>& v) {
      return one_dim_after_the_other(false, v, out, Where::current());
    });
  } else {
    t = one_dim_after_the_other(average, {t}, out, x.where).back();
  }
  return added ? t.squeeze(0, x.where) : t;
}

}  // namespace

Tensor max_pool1d(const Arg& x, int64_t kernel, std::optional<int64_t> stride, int64_t padding,
                  int64_t dilation, bool ceil_mode) {
  return max_pool<int64_t>("max_pool1d", x, kernel, stride, padding, dilation, ceil_mode);
}
Tensor max_pool2d(const Arg& x, Pair kernel, std::optional<Pair> stride, Pair padding,
                  Pair dilation, bool ceil_mode) {
  return max_pool<Pair>("max_pool2d", x, kernel, stride, padding, dilation, ceil_mode);
}
Tensor max_pool3d(const Arg& x, Triple kernel, std::optional<Triple> stride, Triple padding,
                  Triple dilation, bool ceil_mode) {
  return max_pool<Triple>("max_pool3d", x, kernel, stride, padding, dilation, ceil_mode);
}
Tensor avg_pool1d(const Arg& x, int64_t kernel, std::optional<int64_t> stride, int64_t padding,
                  bool ceil_mode, bool count_include_pad) {
  return avg_pool<int64_t>("avg_pool1d", x, kernel, stride, padding, ceil_mode, count_include_pad);
}
Tensor avg_pool2d(const Arg& x, Pair kernel, std::optional<Pair> stride, Pair padding,
                  bool ceil_mode, bool count_include_pad) {
  return avg_pool<Pair>("avg_pool2d", x, kernel, stride, padding, ceil_mode, count_include_pad);
}
Tensor avg_pool3d(const Arg& x, Triple kernel, std::optional<Triple> stride, Triple padding,
                  bool ceil_mode, bool count_include_pad) {
  return avg_pool<Triple>("avg_pool3d", x, kernel, stride, padding, ceil_mode, count_include_pad);
}

Tensor adaptive_avg_pool1d(const Arg& x, int64_t size) {
  return adaptive("adaptive_avg_pool1d", true, x, sizes(size));
}
Tensor adaptive_avg_pool2d(const Arg& x, Pair size) {
  return adaptive("adaptive_avg_pool2d", true, x, sizes(size));
}
Tensor adaptive_avg_pool3d(const Arg& x, Triple size) {
  return adaptive("adaptive_avg_pool3d", true, x, sizes(size));
}
Tensor adaptive_max_pool1d(const Arg& x, int64_t size) {
  return adaptive("adaptive_max_pool1d", false, x, sizes(size));
}
Tensor adaptive_max_pool2d(const Arg& x, Pair size) {
  return adaptive("adaptive_max_pool2d", false, x, sizes(size));
}
Tensor adaptive_max_pool3d(const Arg& x, Triple size) {
  return adaptive("adaptive_max_pool3d", false, x, sizes(size));
}

}  // namespace wick
