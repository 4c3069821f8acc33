// Reading images at positions and by regions; resizing beyond nn.cc's.
#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

constexpr DTypeSet kWideFloats = dtypes(DType::kF64, DType::kF32);

void grids(Rows& row) {
  const In image = x({1, 2, 3, 4}), at = x({1, 2, 3, 2}, -1.75, 1.75);
  const In volume = x({1, 2, 2, 3, 2}), inside = x({1, 1, 2, 2, 3}, -1.75, 1.75);
#define X(mode, padding, align, python, in, grid)                         \
  .sample("F.grid_sample(x0, x1, mode='" mode "', padding_mode='" padding \
          "', align_corners=" python ")",                                 \
          {in, grid}, WICK_FN(grid_sample(x0, x1, mode, padding, align)))
  row("grid_sample", piecewise, kFloats)
      .sample("F.grid_sample(x0, x1, align_corners=False)", {image, at},
              WICK_FN(grid_sample(x0, x1))) X("bilinear", "zeros", true, "True", image, at)
          X("bilinear", "border", false, "False", image, at)
              X("bilinear", "border", true, "True", image, at)
                  X("bilinear", "reflection", false, "False", image, at)
                      X("bilinear", "reflection", true, "True", image, at)
                          X("bicubic", "zeros", false, "False", image, at)
                              X("bicubic", "zeros", true, "True", image, at)
                                  X("bicubic", "border", false, "False", image, at)
                                      X("bicubic", "border", true, "True", image, at)
                                          X("bicubic", "reflection", false, "False", image, at) X(
                                              "bicubic", "reflection", true, "True", image, at)
                                              X("bilinear", "zeros", false, "False", volume, inside)
                                                  X("bilinear", "reflection", true, "True", volume,
                                                    inside);
  // of coarser numbers some lie halfway, where PyTorch mirrors before it rounds
  row("grid_sample.nearest", piecewise, kWideFloats)
      X("nearest", "zeros", false, "False", image, at)
          X("nearest", "border", true, "True", image, at)
              X("nearest", "reflection", false, "False", image, at)
                  X("nearest", "reflection", true, "True", image, at)
                      X("nearest", "border", false, "False", volume, inside);
#undef X
  row("affine_grid", smooth, kFloats)
      .sample("F.affine_grid(x0, (2, 3, 2, 4), align_corners=False)", {x({2, 2, 3})},
              WICK_FN(affine_grid(x0, {2, 3, 2, 4})))
      .sample("F.affine_grid(x0, (1, 1, 3, 1), align_corners=True)", {x({1, 2, 3})},
              WICK_FN(affine_grid(x0, {1, 1, 3, 1}, true)))
      .sample("F.affine_grid(x0, (1, 2, 2, 1, 3), align_corners=True)", {x({1, 3, 4})},
              WICK_FN(affine_grid(x0, {1, 2, 2, 1, 3}, true)))
      .sample(
          "F.grid_sample(x1, F.affine_grid(x0, (2, 1, 2, 3), align_corners=False), "
          "align_corners=False)",
          {x({2, 2, 3}, -0.75, 0.75), x({2, 1, 3, 3})},
          WICK_FN(grid_sample(x1, affine_grid(x0, {2, 1, 2, 3}))), kWideFloats);
}

void regions(Rows& row) {
  // The last box begins outside of its image, and ends there.
  const In boxes = given({0, 1, 2, 9, 10, 1, 0.5, 0, 8.5, 7, 1, -6, -3, 14, 5}, {3, 5}).no_grad();
  row("roi_align", smooth, kFloats)
      .sample("vision.roi_align(x0, x1, 2, 0.5, 2)", {x({2, 1, 5, 6}), boxes},
              WICK_FN(roi_align(x0, x1, 2, 0.5, 2)))
      .sample("vision.roi_align(x0, x1, (1, 2), 0.5, -1, True)", {x({2, 2, 4, 5}), boxes},
              WICK_FN(roi_align(x0, x1, {1, 2}, 0.5, -1, true)))
      .sample("vision.roi_align(x0, x1, (2, 1))", {x({2, 1, 5, 6}), boxes},
              WICK_FN(roi_align(x0, x1, {2, 1})));
  row("roi_pool", piecewise, kFloats)
      .sample("vision.roi_pool(x0, x1, (2, 3), 0.5)", {distinct({2, 1, 5, 6}), boxes},
              WICK_FN(roi_pool(x0, x1, {2, 3}, 0.5)))
      .sample("vision.roi_pool(x0, x1, 2)", {distinct({2, 2, 3, 4}), boxes},
              WICK_FN(roi_pool(x0, x1, 2)));
  row("deform_conv2d", piecewise, kFloats)
      .sample("vision.deform_conv2d(x0, x1, x2, x3, mask=x4)",
              {x({1, 2, 3, 3}), x({1, 16, 2, 2}, -1.25, 1.25), x({2, 1, 2, 2}), x({2}),
               x({1, 8, 2, 2}, 0, 1)},
              WICK_FN(deform_conv2d(x0, x1, x2, x3, 1, 0, 1, x4)))
      .sample("vision.deform_conv2d(x0, x1, x2, None, (2, 1), (1, 0), (1, 2))",
              {x({2, 2, 3, 4}), x({2, 8, 2, 2}, -1.25, 1.25), x({1, 2, 2, 2})},
              WICK_FN(deform_conv2d(x0, x1, x2, Tensor(), {2, 1}, {1, 0}, {1, 2})));
}

void resizes(Rows& row) {
  const In line = x({2, 3, 5}), image = x({1, 2, 5, 3});
  // A factor that leaves the size: copied by the linear modes alone. PyTorch's backward copies in
  // the other modes, too, which is not the derivative of its forward: a linear map by its matrix.
  row("interpolate.kept_size", smooth, kWideFloats)
      .sample("F.interpolate(x0, scale_factor=1.19, mode='linear')", {line},
              WICK_FN(interpolate(x0, {.scale_factor = {1.19}, .mode = "linear"})))
      .sample(
          "x0 @ F.interpolate(torch.eye(x0.shape[-1], dtype=x0.dtype)[None], "
          "scale_factor=1.19)[0]",
          {line}, WICK_FN(interpolate(x0, {.scale_factor = {1.19}})))
      .sample("F.interpolate(x0, scale_factor=1.19, mode='nearest-exact')", {line},
              WICK_FN(interpolate(x0, {.scale_factor = {1.19}, .mode = "nearest-exact"})))
      .sample("F.interpolate(x0, scale_factor=(1.1, 2), mode='bilinear')", {image},
              WICK_FN(interpolate(x0, {.scale_factor = {1.1, 2}, .mode = "bilinear"})))
      .sample("F.interpolate(x0, scale_factor=1.1, mode='bilinear', align_corners=True)", {image},
              WICK_FN(interpolate(
                  x0, {.scale_factor = {1.1}, .mode = "bilinear", .align_corners = true})))
      .sample(
          "(x0.reshape(2, 15) @ F.interpolate(torch.eye(15, dtype=x0.dtype).reshape(15, 1, 5, 3), "
          "scale_factor=1.1, mode='bicubic').reshape(15, 15)).reshape(1, 2, 5, 3)",
          {image}, WICK_FN(interpolate(x0, {.scale_factor = {1.1}, .mode = "bicubic"})))
      .sample("F.interpolate(x0, scale_factor=1.25, mode='trilinear')", {x({1, 1, 2, 3, 2})},
              WICK_FN(interpolate(x0, {.scale_factor = {1.25}, .mode = "trilinear"})));
  row("interpolate.recompute_scale_factor", smooth, kWideFloats)
      .sample("F.interpolate(x0, scale_factor=1.7, recompute_scale_factor=True)", {line},
              WICK_FN(interpolate(x0, {.scale_factor = {1.7}, .recompute_scale_factor = true})))
      .sample(
          "F.interpolate(x0, scale_factor=(0.7, 2.3), mode='bilinear', "
          "recompute_scale_factor=True)",
          {image},
          WICK_FN(interpolate(
              x0,
              {.scale_factor = {0.7, 2.3}, .mode = "bilinear", .recompute_scale_factor = true})));
  row("interpolate.antialias", smooth, kWideFloats)
      .sample("F.interpolate(x0, size=(2, 5), mode='bilinear', antialias=True)", {x({1, 2, 7, 4})},
              WICK_FN(interpolate(x0, {.size = {2, 5}, .mode = "bilinear", .antialias = true})))
      .sample("F.interpolate(x0, size=(3, 1), mode='bicubic', antialias=True)", {x({1, 1, 9, 5})},
              WICK_FN(interpolate(x0, {.size = {3, 1}, .mode = "bicubic", .antialias = true})))
      .sample(
          "F.interpolate(x0, scale_factor=0.4, mode='bicubic', antialias=True)", {x({2, 1, 6, 8})},
          WICK_FN(interpolate(x0, {.scale_factor = {0.4}, .mode = "bicubic", .antialias = true})))
      .sample(
          "F.interpolate(x0, scale_factor=1.1, mode='bilinear', antialias=True)", {image},
          WICK_FN(interpolate(x0, {.scale_factor = {1.1}, .mode = "bilinear", .antialias = true})))
      .sample(
          "F.interpolate(x0, size=(2, 3), mode='bilinear', align_corners=True, antialias=True)",
          {x({1, 1, 5, 7})},
          WICK_FN(interpolate(
              x0, {.size = {2, 3}, .mode = "bilinear", .align_corners = true, .antialias = true})));
}

}  // namespace

std::vector<FunctionRow> vision_rows() {
  Rows row;
  grids(row);
  regions(row);
  resizes(row);
  return row.all;
}

}  // namespace wick::test
