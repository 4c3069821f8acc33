// torch.nn.functional of images and channels: pads, resizing, grids, pools, norms.
#include "bind.h"

namespace wick::python {

namespace {

Tensor pad_of(const Tensor& x, const SizeList& p, const std::string& mode, double value) {
  switch (p.rank()) {
    case 2: return pad(x, {p[0], p[1]}, mode, value);
    case 4: return pad(x, {p[0], p[1], p[2], p[3]}, mode, value);
    case 6: return pad(x, {p[0], p[1], p[2], p[3], p[4], p[5]}, mode, value);
    default:
      throw Error("[pad] pad has " + std::to_string(p.rank()) +
                  " numbers, must have two for each of one to three dims, the last dim first");
  }
}

KlReduction kl_reduction_of(const std::string& text) {
  if (text == "batchmean") return KlReduction::kBatchMean;
  const Reduction r = reduction_of(text);
  return r == Reduction::kNone  ? KlReduction::kNone
         : r == Reduction::kSum ? KlReduction::kSum
                                : KlReduction::kMean;
}

void bind_pixels(nb::module_& f) {
  f.def(
      "pad",
      [](const Tensor& x, const SizeList& p, const std::string& mode, double value) {
        return free_of_lock([&] { return pad_of(x, p, mode, value); });
      },
      nb::arg("input"), nb::arg("pad"), nb::arg("mode") = "constant", nb::arg("value") = 0.0);
  f.def("_interpolate",
        [](const Tensor& x, const std::vector<int64_t>& size, const std::vector<double>& factor,
           const std::string& mode, bool align_corners, bool recompute, bool antialias) {
          InterpolateOptions o;
          o.size.assign(size.begin(), size.end());
          o.scale_factor = factor;
          o.mode = mode;
          o.align_corners = align_corners;
          o.recompute_scale_factor = recompute;
          o.antialias = antialias;
          return free_of_lock([&] { return interpolate(x, o); });
        });
  f.def(
      "pixel_shuffle", [](const Tensor& x, int64_t n) { return pixel_shuffle(x, n); },
      nb::arg("input"), nb::arg("upscale_factor"));
  f.def(
      "grid_sample",
      [](const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding,
         std::optional<bool> corners) {
        return free_of_lock(
            [&] { return grid_sample(x, grid, mode, padding, corners.value_or(false)); });
      },
      nb::arg("input"), nb::arg("grid"), nb::arg("mode") = "bilinear",
      nb::arg("padding_mode") = "zeros", nb::arg("align_corners").none() = nb::none());
  f.def(
      "affine_grid",
      [](const Tensor& theta, const SizeList& size, std::optional<bool> corners) {
        return free_of_lock([&] { return affine_grid(theta, size, corners.value_or(false)); });
      },
      nb::arg("theta"), nb::arg("size"), nb::arg("align_corners").none() = nb::none());
}

void bind_pools(nb::module_& f) {
  f.def(
      "max_pool1d",
      [](const Tensor& x, int64_t kernel, std::optional<int64_t> stride, int64_t padding,
         int64_t dilation, bool ceil_mode) {
        return free_of_lock(
            [&] { return max_pool1d(x, kernel, stride, padding, dilation, ceil_mode); });
      },
      nb::arg("input"), nb::arg("kernel_size"), nb::arg("stride").none() = nb::none(),
      nb::arg("padding") = 0, nb::arg("dilation") = 1, nb::arg("ceil_mode") = false);
  f.def(
      "avg_pool1d",
      [](const Tensor& x, int64_t kernel, std::optional<int64_t> stride, int64_t padding,
         bool ceil_mode, bool count_pad) {
        return free_of_lock(
            [&] { return avg_pool1d(x, kernel, stride, padding, ceil_mode, count_pad); });
      },
      nb::arg("input"), nb::arg("kernel_size"), nb::arg("stride").none() = nb::none(),
      nb::arg("padding") = 0, nb::arg("ceil_mode") = false, nb::arg("count_include_pad") = true);
  f.def(
      "adaptive_avg_pool1d",
      [](const Tensor& x, int64_t size) {
        return free_of_lock([&] { return adaptive_avg_pool1d(x, size); });
      },
      nb::arg("input"), nb::arg("output_size"));
  f.def(
      "adaptive_max_pool2d",
      [](const Tensor& x, Pair size) {
        return free_of_lock([&] { return adaptive_max_pool2d(x, size); });
      },
      nb::arg("input"), nb::arg("output_size"));
}

void bind_channels(nb::module_& f) {
  f.def(
      "conv_transpose2d",
      [](const Tensor& x, const Tensor& w, const Tensor* b, Pair stride, Pair padding,
         Pair output_padding, int64_t groups, Pair dilation) {
        return free_of_lock([&] {
          return conv_transpose2d(x, w, or_undefined(b), stride, padding, output_padding, groups,
                                  dilation);
        });
      },
      nb::arg("input"), nb::arg("weight"), nb::arg("bias").none() = nb::none(),
      nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("output_padding") = 0,
      nb::arg("groups") = 1, nb::arg("dilation") = 1);
  f.def(
      "batch_norm",
      [](const Tensor& x, const Tensor* mean, const Tensor* var, const Tensor* w, const Tensor* b,
         bool training, double momentum, double eps) {
        return free_of_lock([&] {
          return batch_norm(x, or_undefined(mean), or_undefined(var), or_undefined(w),
                            or_undefined(b), training, momentum, eps);
        });
      },
      nb::arg("input"), nb::arg("running_mean").none(), nb::arg("running_var").none(),
      nb::arg("weight").none() = nb::none(), nb::arg("bias").none() = nb::none(),
      nb::arg("training") = false, nb::arg("momentum") = 0.1, nb::arg("eps") = 1e-5);
  f.def(
      "group_norm",
      [](const Tensor& x, int64_t groups, const Tensor* w, const Tensor* b, double eps) {
        return free_of_lock(
            [&] { return group_norm(x, groups, or_undefined(w), or_undefined(b), eps); });
      },
      nb::arg("input"), nb::arg("num_groups"), nb::arg("weight").none() = nb::none(),
      nb::arg("bias").none() = nb::none(), nb::arg("eps") = 1e-5);
  f.def(
      "dropout2d",
      [](const Tensor& x, double p, bool training) {
        return free_of_lock([&] { return dropout2d(x, p, training); });
      },
      nb::arg("input"), nb::arg("p") = 0.5, nb::arg("training") = true);
  f.def(
      "glu", [](const Tensor& x, int64_t dim) { return glu(x, dim); }, nb::arg("input"),
      nb::arg("dim") = -1);
  f.def(
      "kl_div",
      [](const Tensor& x, const Tensor& y, const std::string& reduction, bool log_target) {
        return free_of_lock([&] { return kl_div(x, y, kl_reduction_of(reduction), log_target); });
      },
      nb::arg("input"), nb::arg("target"), nb::kw_only(), nb::arg("reduction") = "mean",
      nb::arg("log_target") = false);
}

}  // namespace

void bind_images(nb::module_& f) {
  bind_pixels(f);
  bind_pools(f);
  bind_channels(f);
}

}  // namespace wick::python
