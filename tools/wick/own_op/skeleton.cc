// my::RowNorm: each row of x divided by its length, y = x / sqrt(sum(x * x) + eps).
//
//   wick ops test row_norm.cc                       checks all that is below
//   wick ops bench row_norm.cc --flag=-march=native times it, for this processor
//   wick run model.wick --ops row_norm.cc           runs a model that has it
//   load_source("row_norm.cc"), then custom_op("my::RowNorm", {x}, {{"eps", 1e-6}})
//
// Change one part after the other and test in between; docs/recipes/write-a-kernel.md explains
// each.
#include <hwy/highway.h>
#include <wick/custom_op.h>
#include <wick/op_test.h>

#include <cmath>

// The attributes. Their numbers are in files: append, and never use one again.
struct RowNormAttrs {
  double eps = 1e-6;
};
namespace wick {
WICK_ATTR_FIELDS(RowNormAttrs, WICK_FIELD(RowNormAttrs, 1, eps));
}

namespace {

// The shape rule: what the op takes, and what it makes of that.
wick::Status row_norm_shape(wick::OpShapes& c) {
  if (c.in[0].rank() < 1)
    return wick::Status(wick::Code::kShapeMismatch, "x needs a last dimension");
  if (!(c.as<RowNormAttrs>().eps >= 0))
    return wick::Status(wick::Code::kInvalidArgument, "eps must be 0 or more");
  c.out[0].dtype = c.in[0].dtype;
  c.out[0].shape = c.in[0].shape;
  return {};
}

// Rows and their length; a dimension of size 0 makes no rows.
struct Rows {
  explicit Rows(const wick::TensorView& x)
      : length(x.shape[x.rank() - 1]), count(length == 0 ? 0 : x.numel() / length) {}
  int64_t length, count;
};

// A sum is kept in kLanes parts, element i in part i % kLanes, which are then added in order. This
// order is the op's meaning: every kernel keeps it, so that all give the same bits.
constexpr int64_t kLanes = 8;

template <class T>
T folded(const T* parts) {
  T sum = parts[0];
  for (int64_t k = 1; k < kLanes; ++k) sum += parts[k];
  return sum;
}

// The reference: the op in plain loops.
template <class T>
wick::Status row_norm_reference(const wick::KernelCtx&, wick::Span<const wick::TensorView> in,
                                wick::Span<wick::TensorView> out, const void* attrs) {
  const T eps = static_cast<T>(static_cast<const RowNormAttrs*>(attrs)->eps);
  const Rows rows(in[0]);
  for (int64_t r = 0; r < rows.count; ++r) {
    const T* x = in[0].as<T>() + r * rows.length;
    T* y = out[0].as<T>() + r * rows.length;
    T parts[kLanes] = {};
    for (int64_t i = 0; i < rows.length; ++i) parts[i % kLanes] += x[i] * x[i];
    const T length = std::sqrt(folded(parts) + eps);
    for (int64_t i = 0; i < rows.length; ++i) y[i] = x[i] / length;
  }
  return {};
}

// The Highway body: the same with vectors, of whatever size the compiler's flags allow. It adds and
// multiplies apart, as the reference does: a fused multiply-add would round once instead of twice.
template <class T>
wick::Status row_norm_simd(const wick::KernelCtx&, wick::Span<const wick::TensorView> in,
                           wick::Span<wick::TensorView> out, const void* attrs) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<T, kLanes> d;
  constexpr int64_t kStep = hn::MaxLanes(d), kVectors = kLanes / kStep;
  const T eps = static_cast<T>(static_cast<const RowNormAttrs*>(attrs)->eps);
  const Rows rows(in[0]);
  for (int64_t r = 0; r < rows.count; ++r) {
    const T* x = in[0].as<T>() + r * rows.length;
    T* y = out[0].as<T>() + r * rows.length;
    hn::Vec<decltype(d)> sums[kVectors];
    for (auto& sum : sums) sum = hn::Zero(d);
    const int64_t whole = rows.length / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes) {
      for (int64_t k = 0; k < kVectors; ++k) {
        const auto v = hn::LoadU(d, x + i + k * kStep);
        sums[k] = hn::Add(sums[k], hn::Mul(v, v));
      }
    }
    T parts[kLanes];
    for (int64_t k = 0; k < kVectors; ++k) hn::StoreU(sums[k], d, parts + k * kStep);
    for (int64_t i = whole; i < rows.length; ++i) parts[i - whole] += x[i] * x[i];
    const T length = std::sqrt(folded(parts) + eps);
    const auto by = hn::Set(d, length);
    int64_t i = 0;
    for (; i + kStep <= rows.length; i += kStep)
      hn::StoreU(hn::Div(hn::LoadU(d, x + i), by), d, y + i);
    for (; i < rows.length; ++i) y[i] = x[i] / length;
  }
  return {};
}

// The first kernel that takes the inputs runs; the reference is behind it.
constexpr wick::KernelRow kKernels[] = {
    wick::kernel_row<float, row_norm_simd<float>>("row_norm.f32.simd"),
    wick::kernel_row<float, row_norm_reference<float>>("row_norm.f32.ref"),
    wick::kernel_row<double, row_norm_simd<double>>("row_norm.f64.simd"),
    wick::kernel_row<double, row_norm_reference<double>>("row_norm.f64.ref"),
};

// The gradient, as a formula over ops: it can be differentiated again. With n = sqrt(sum(x x) +
// eps) and y = x / n it is (g - y sum(g y)) / n.
void row_norm_gradient(wick::Gradient& d) {
  const auto sum = [&](wick::Var v) {
    return d.call("ReduceSum", {v}, wick::ReduceAttrs{.axes = {-1}, .keepdims = 1});
  };
  const wick::Var x = d.in(0);
  const wick::Var n = wick::sqrt(sum(x * x) + d.as<RowNormAttrs>().eps);
  const wick::Var y = x / n;
  d.set(0, (d.g() - y * sum(d.g() * y)) / n);
}

constexpr wick::CustomOp kRowNorm = {.domain = "my",
                                     .name = "RowNorm",
                                     .attrs = &wick::AttrFields<RowNormAttrs>::kType,
                                     .shape = row_norm_shape,
                                     .kernels = kKernels,
                                     .gradient = row_norm_gradient};

// The test row: an answer worked out by hand, then shapes that a kernel may get wrong (rows shorter
// and longer than the vectors, tails, empty ones); and what is timed.
constexpr double kX[] = {3, 4, 0, -5}, kY[] = {0.6, 0.8, 0, -1};
constexpr RowNormAttrs kExact = {.eps = 0}, kLarge = {.eps = 0.5};
constexpr wick::OpSample kSamples[] = {
    {.in = {{2, 2}}, .attrs = &kExact, .values = kX, .answers = kY},
    {.in = {{1}}},
    {.in = {{7}}, .attrs = &kLarge},
    {.in = {{3, 8}}},
    {.in = {{2, 3, 17}}},
    {.in = {{64, 1003}}},
    {.in = {{0, 4}}},
    {.in = {{4, 0}}},
};
constexpr wick::OpTest kTest(&kRowNorm, kSamples, {.in = {{1024, 4096}}}, 8);

}  // namespace

WICK_EXPORT_OPS(&kRowNorm)
WICK_EXPORT_OP_TESTS(&kTest)
