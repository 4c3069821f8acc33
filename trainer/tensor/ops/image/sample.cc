#include "trainer/tensor/ops/image/sample.h"

#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"

namespace wick {
namespace {

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

void need_floats(const char* op, const char* what, const Tensor& t, const Where& where) {
  if (is_float(t.dtype())) return;
  throw_error(op, std::string(what) + " must be of floats, got " + dtype_name(t.dtype()), where,
              Code::kTypeMismatch);
}

ResizeMode mode_of(std::string_view mode, int rank, const Where& where) {
  if (mode == "nearest") return ResizeMode::kNearest;
  if (mode == "bilinear") return ResizeMode::kLinear;
  if (mode == "bicubic" && rank == 4) return ResizeMode::kCubic;
  throw_error("grid_sample",
              "mode is \"bilinear\", \"nearest\" or, for an input of 4 dimensions, \"bicubic\"; "
              "got " +
                  quoted(mode) + " for " + std::to_string(rank) + " dimensions",
              where);
}
GridPadding padding_of(std::string_view padding, const Where& where) {
  if (padding == "zeros") return GridPadding::kZeros;
  if (padding == "border") return GridPadding::kBorder;
  if (padding == "reflection") return GridPadding::kReflection;
  throw_error("grid_sample",
              "padding_mode is \"zeros\", \"border\" or \"reflection\", got " + quoted(padding),
              where);
}

}  // namespace

Tensor grid_sample(const Arg& x, const Arg& grid, std::string_view mode, std::string_view padding,
                   bool align_corners) {
  const Tensor &in = x.tensor, &at = grid.tensor;
  const int rank = in.rank();
  bool fits = (rank == 4 || rank == 5) && at.rank() == rank && dim_of(at, 0) == dim_of(in, 0) &&
              dim_of(at, -1) == rank - 2;
  for (int i = 2; fits && i < rank; ++i) fits = dim_of(in, i) > 0;
  if (!fits) {
    bad_shape("grid_sample",
              "needs an input [N, C, H, W] and a grid [N, to..., 2], or [N, C, D, H, W] and [N, "
              "to..., 3], of an image that is not empty; got " +
                  text(in) + " and " + text(at),
              x.where);
  }
  need_floats("grid_sample", "the input", in, x.where);
  if (at.dtype() != in.dtype() && !autocast_joins(at.dtype(), in.dtype())) {
    throw_error("grid_sample",
                std::string("the grid must have the input's dtype ") + dtype_name(in.dtype()) +
                    ", got " + dtype_name(at.dtype()) + "; cast it with .to(...)",
                x.where, Code::kTypeMismatch);
  }
  GridSampleAttrs a;
  a.mode = static_cast<int64_t>(mode_of(mode, rank, x.where));
  a.padding = static_cast<int64_t>(padding_of(padding, x.where));
  a.align_corners = align_corners ? 1 : 0;
  return call(OpId::kGridSample, a, {x, grid});
}

Tensor affine_grid(const Arg& theta, const SizeList& size, bool align_corners) {
  const Tensor& t = theta.tensor;
  const int rank = t.rank(), spatial = size.rank() - 2;
  need_floats("affine_grid", "theta", t, theta.where);
  const bool fits = (spatial == 2 || spatial == 3) && rank == 3 && dim_of(t, 0) == size[0] &&
                    dim_of(t, 1) == spatial && dim_of(t, 2) == spatial + 1;
  if (!fits) {
    bad_shape("affine_grid",
              "needs theta [N, 2, 3] and a size of 4 numbers, or [N, 3, 4] and 5 numbers, of which "
              "the first is N; got " +
                  text(t) + " and " + to_text(size).text,
              theta.where);
  }
  std::vector<int64_t> to;
  for (const int64_t n : size) {
    if (n < 1) {
      bad_shape("affine_grid", std::string("sizes must be >= 1, got ") + to_text(size).text,
                theta.where);
    }
    to.push_back(n);
  }
  return call(OpId::kAffineGrid, AffineGridAttrs{align_corners ? 1 : 0},
              {theta, {tensor(to, theta.where), theta.where}});
}

}  // namespace wick
