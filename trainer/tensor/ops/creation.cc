#include "trainer/tensor/ops/creation.h"

#include <cmath>

#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick {
namespace {

// Computes in float64 first, so that every dtype rounds once.
Tensor filled(int64_t n, DType dtype, const Where& where, double (*f)(int64_t, const double*),
              const double* with) {
  Tensor t = empty({n}, DType::kF64, where);
  for (int64_t i = 0; i < n; ++i) t.raw().as<double>()[i] = f(i, with);
  NoGrad guard;
  TracerScope untraced(nullptr);
  return t.to(dtype, where);
}
void need_steps(const char* name, int64_t steps, const Where& where) {
  if (steps < 0) throw_error(name, "needs steps >= 0, got " + std::to_string(steps), where);
}
// Computed from the nearer end, so that both ends are exact.
double on_line(int64_t i, const double* w) {
  double start = w[0], end = w[1], steps = w[2];
  if (steps == 1) return start;
  double step = (end - start) / (steps - 1), at = static_cast<double>(i);
  return at < steps / 2 ? start + step * at : end - step * (steps - 1 - at);
}

}  // namespace

Tensor scalar_tensor(Scalar value, DType dtype, Where where) {
  return full({}, value, dtype, where);
}

Tensor zeros_like(const Arg& t, DType dtype) {
  if (t.tensor.is_vulkan()) return full_like(t, 0, dtype);
  return zeros(t.tensor.raw_shape(), dtype, t.where);
}
Tensor ones_like(const Arg& t, DType dtype) { return full_like(t, 1, dtype); }
Tensor empty_like(const Arg& t, DType dtype) {
  return new_tensor_beside(t.tensor.layout(), t.tensor.raw_shape(), dtype, t.where);
}
Tensor full_like(const Arg& t, Scalar value, DType dtype) {
  if (!t.tensor.is_vulkan()) return full(t.tensor.raw_shape(), value, dtype, t.where);
  return full_beside(t.tensor.layout(), t.tensor.raw_shape(), full({}, value, dtype), t.where);
}

namespace {
Tensor beside(const Arg& t, const Tensor& made) {
  return t.tensor.is_vulkan() ? made.to(t.tensor.device(), false, t.where) : made;
}
DType dtype_or(const Arg& t, OptDType dtype) { return dtype ? *dtype : t.tensor.dtype(t.where); }
}  // namespace

Tensor new_empty(const Arg& t, const SizeList& shape, OptDType dtype) {
  return beside(t, empty(shape, dtype_or(t, dtype), t.where));
}
Tensor new_zeros(const Arg& t, const SizeList& shape, OptDType dtype) {
  return beside(t, zeros(shape, dtype_or(t, dtype), t.where));
}
Tensor new_ones(const Arg& t, const SizeList& shape, OptDType dtype) {
  return new_full(t, shape, 1, dtype);
}
Tensor new_full(const Arg& t, const SizeList& shape, Scalar value, OptDType dtype) {
  return beside(t, full(shape, value, dtype_or(t, dtype), t.where));
}
Tensor type_as(const Arg& t, const Arg& other) {
  return t.tensor.to(other.tensor.dtype(other.where), t.where)
      .to(other.tensor.device(other.where), false, t.where);
}

Tensor arange_float(double start, double end, double step, DType dtype, const Where& where) {
  double n = std::ceil((end - start) / step);
  if (step == 0 || !std::isfinite(n)) {
    throw_error("arange", "needs finite bounds and a step that is not 0", where);
  }
  if (n < 0) throw_error("arange", "the bounds do not agree with the sign of the step", where);
  double with[] = {start, step};
  return filled(
      static_cast<int64_t>(n), dtype, where,
      [](int64_t i, const double* w) { return w[0] + static_cast<double>(i) * w[1]; }, with);
}
Tensor linspace(double start, double end, SizeArg steps, DType dtype, Where where) {
  need_steps("linspace", steps, where);
  double with[] = {start, end, static_cast<double>(steps)};
  return filled(steps, dtype, where, on_line, with);
}
Tensor logspace(double start, double end, SizeArg steps, double base, DType dtype, Where where) {
  need_steps("logspace", steps, where);
  double with[] = {start, end, static_cast<double>(steps), base};
  return filled(
      steps, dtype, where, [](int64_t i, const double* w) { return std::pow(w[3], on_line(i, w)); },
      with);
}

Tensor tri(SizeArg n, SizeArg m, SizeArg k, DType dtype, Where where) {
  if (n < 0 || m < 0) throw_error("tri", "needs sizes >= 0", where);
  Tensor t = zeros({n, m}, DType::kBool, where);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m && j <= i + k; ++j) t.raw().as<bool>()[i * m + j] = true;
  }
  NoGrad guard;
  TracerScope untraced(nullptr);
  return t.to(dtype, where);
}
Tensor eye(SizeArg n, SizeArg m, DType dtype, Where where) {
  if (n < 0 || m < 0) throw_error("eye", "needs sizes >= 0", where);
  Tensor t = zeros({n, m}, DType::kBool, where);
  for (int64_t i = 0; i < n && i < m; ++i) t.raw().as<bool>()[i * (m + 1)] = true;
  NoGrad guard;
  TracerScope untraced(nullptr);
  return t.to(dtype, where);
}
Tensor identity(SizeArg n, DType dtype, Where where) { return eye(n, n, dtype, where); }

}  // namespace wick
