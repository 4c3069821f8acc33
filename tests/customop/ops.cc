#include "tests/customop/ops.h"

#include <algorithm>
#include <cstring>

#include "runtime/registry/registry.h"

struct TwiceAttrs {
  int64_t pad = 0;
  wick::IntList<3> unused;
};
namespace wick {
WICK_ATTR_FIELDS(TwiceAttrs, WICK_FIELD(TwiceAttrs, 1, pad), WICK_FIELD(TwiceAttrs, 2, unused));
}

namespace wick::test {
namespace {

Status twice_shape(OpShapes& c) {
  if (c.in[0].rank() < 1) return Status(Code::kShapeMismatch, "x needs a dimension to repeat");
  c.out[0] = c.in[0];
  c.out[0].shape[0] = c.in[0].shape[0] * 2 + c.as<TwiceAttrs>().pad;
  return {};
}
Status twice(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  size_t rows = static_cast<size_t>(in[0].shape[0]);
  size_t row = rows == 0 ? 0 : in[0].nbytes() / rows;
  auto* from = static_cast<const char*>(in[0].data);
  auto* to = static_cast<char*>(out[0].data);
  memset(to, 0, out[0].nbytes());
  for (size_t i = 0; i < 2 * rows; ++i) memcpy(to + i * row, from + i / 2 * row, row);
  return {};
}
constexpr KernelRow kTwiceRows[] = {kernel_row<float>("twice.f32", twice),
                                    kernel_row<double>("twice.f64", twice)};

Status min_max_shape(OpShapes& c) {
  if (c.has(1)) {
    for (int i = 0; i < c.in[0].rank(); ++i) {
      if (c.in[1].rank() == c.in[0].rank() &&
          equal(c.in[0].shape[i], c.in[1].shape[i]) != Tri::kNo) {
        continue;
      }
      return Status(Code::kShapeMismatch, "x and y must have one shape");
    }
  }
  c.out[0] = c.out[1] = c.in[0];
  return {};
}
Status min_max(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const bool two = in.size() > 1 && in[1].present();
  for (int64_t i = 0; i < in[0].numel(); ++i) {
    float a = in[0].as<float>()[i], b = two ? in[1].as<float>()[i] : 0.f;
    out[0].as<float>()[i] = std::min(a, b);
    out[1].as<float>()[i] = std::max(a, b);
  }
  return {};
}
constexpr KernelRow kMinMaxRows[] = {kernel_row<float>("min_max.f32", min_max)};

Status picky(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  for (int64_t i = 0; i < in[0].numel(); ++i) {
    if (in[0].as<float>()[i] < 0) return Status(Code::kInvalidArgument, "x has a negative number");
    out[0].as<float>()[i] = in[0].as<float>()[i];
  }
  return {};
}
constexpr KernelRow kPickyRows[] = {kernel_row<float>("picky.f32", picky)};

Status bad_shape(OpShapes& c) {
  c.out[0] = c.in[0];
  c.out[0].shape[0] = c.in[0].shape[0] - 5;
  return {};
}

}  // namespace

constexpr CustomOp kTwice = {.domain = "test",
                             .name = "Twice",
                             .version = 2,
                             .attrs = &AttrFields<TwiceAttrs>::kType,
                             .shape = twice_shape,
                             .kernels = kTwiceRows};
constexpr CustomOp kMinMax = {.domain = "test",
                              .name = "MinMax",
                              .max_inputs = 2,
                              .outputs = 2,
                              .shape = min_max_shape,
                              .kernels = kMinMaxRows};
constexpr CustomOp kPicky = {.domain = "test", .name = "Picky", .kernels = kPickyRows};
constexpr CustomOp kBadShape = {
    .domain = "test", .name = "BadShape", .shape = bad_shape, .kernels = kPickyRows};
constexpr CustomOp kForgetful = {
    .domain = "test", .name = "Forgetful", .kernels = kPickyRows, .gradient = [](Gradient& d) {
      d.set(0, d.g() * d.out(0));
    }};

void register_all() {
  for (const CustomOp* op : {&kTwice, &kMinMax, &kPicky, &kBadShape, &kForgetful}) register_op(*op);
}

}  // namespace wick::test
