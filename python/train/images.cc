// Functions of images and tables whose options C++ has in a struct.
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
}

// The overload of a pool that says whether it returns the places of the values as well.
template <class Size>
void bind_max_pool(nb::module_& f, const char* name,
                   Tensor (*values)(const Arg&, Size, std::optional<Size>, Size, Size, bool),
                   std::pair<Tensor, Tensor> (*both)(const Arg&, Size, std::optional<Size>, Size,
                                                     Size, bool)) {
  f.def(
      name,
      [=](const Tensor& x, Size kernel, std::optional<Size> stride, Size padding, Size dilation,
          bool ceil_mode, bool indices) -> nb::object {
        if (!indices)
          return nb::cast(free_of_lock(
              [&] { return values(x, kernel, stride, padding, dilation, ceil_mode); }));
        return nb::cast(
            free_of_lock([&] { return both(x, kernel, stride, padding, dilation, ceil_mode); }));
      },
      nb::arg("input"), nb::arg("kernel_size"), nb::arg("stride").none() = nb::none(),
      nb::arg("padding") = 0, nb::arg("dilation") = 1, nb::arg("ceil_mode") = false, nb::kw_only(),
      nb::arg("return_indices"));
}

void bind_bags(nb::module_& f) {
  f.def(
      "embedding_bag",
      [](const Tensor& indices, const Tensor& weight, const Tensor* offsets,
         const std::string& mode, const Tensor* per_sample_weights, bool include_last_offset,
         std::optional<int64_t> padding_idx) {
        BagOptions o;
        o.mode = mode;
        o.include_last_offset = include_last_offset;
        o.padding_idx = padding_idx;
        return free_of_lock([&] {
          return embedding_bag(indices, weight, or_undefined(offsets), o,
                               or_undefined(per_sample_weights));
        });
      },
      nb::arg("input"), nb::arg("weight"), nb::arg("offsets").none() = nb::none(), nb::kw_only(),
      nb::arg("mode") = "mean", nb::arg("per_sample_weights").none() = nb::none(),
      nb::arg("include_last_offset") = false, nb::arg("padding_idx").none() = nb::none());
}

}  // namespace

void bind_images(nb::module_& f) {
  bind_pixels(f);
  bind_max_pool<int64_t>(f, "max_pool1d", &max_pool1d, &max_pool1d_with_indices);
  bind_max_pool<Pair>(f, "max_pool2d", &max_pool2d, &max_pool2d_with_indices);
  bind_max_pool<Triple>(f, "max_pool3d", &max_pool3d, &max_pool3d_with_indices);
  bind_bags(f);
}

}  // namespace wick::python
