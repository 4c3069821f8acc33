#include "trainer/optim/row_steps.h"

#include <cmath>

#include "runtime/kernels/elementwise/elementwise.h"
#include "trainer/tensor/call.h"

namespace wick::optim {
namespace {

std::string parameter_text(const Tensor& p) {
  return p.name().empty() ? "a parameter" : "parameter '" + p.name() + "'";
}

// Calls f(place in p, place in g) for each number of each row, in T.
template <class F>
void for_numbers(const SparseGrad& g, const F& f) {
  const int64_t rows = g.indices().layout().numel();
  if (rows == 0) return;
  const int64_t width = g.values().layout().numel() / rows;
  const Tensor indices = g.indices().contiguous();
  const int64_t* index = indices.data<int64_t>();
  parallel_items(thread_pool(), rows, width, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t j = 0; j < width; ++j) f(index[r] * width + j, r * width + j);
    }
  });
}

template <class T>
void sgd(double rate, const Tensor& p, const SparseGrad& g) {
  const Tensor values = g.values().contiguous();
  const T* from = values.data<T>();
  T* x = static_cast<T*>(p.unsafe_data());
  const T by = static_cast<T>(-rate);
  for_numbers(g, [=](int64_t i, int64_t k) { x[i] = x[i] + by * from[k]; });
}

template <class T>
void adagrad(double sign, double rate, double eps, const Tensor& p, const SparseGrad& g,
             const Tensor& sum) {
  const Tensor values = g.values().contiguous();
  const T* from = values.data<T>();
  T *x = static_cast<T*>(p.unsafe_data()), *s = static_cast<T*>(sum.unsafe_data());
  const T turn = static_cast<T>(sign), by = static_cast<T>(-rate), least = static_cast<T>(eps);
  for_numbers(g, [=](int64_t i, int64_t k) {
    const T v = turn * from[k];
    s[i] = s[i] + v * v;
    x[i] = x[i] + by * (v / (std::sqrt(s[i]) + least));
  });
}

template <class T>
void sparse_adam(const SparseAdamCoefficients& c, const Tensor& p, const SparseGrad& g,
                 const Tensor& first, const Tensor& second) {
  const Tensor values = g.values().contiguous();
  const T* from = values.data<T>();
  T *x = static_cast<T*>(p.unsafe_data()), *m = static_cast<T*>(first.unsafe_data()),
    *v = static_cast<T*>(second.unsafe_data());
  const T turn = static_cast<T>(c.sign), by = static_cast<T>(-c.rate), eps = static_cast<T>(c.eps);
  const T rest1 = static_cast<T>(1 - c.beta1), rest2 = static_cast<T>(1 - c.beta2);
  for_numbers(g, [=](int64_t i, int64_t k) {
    const T d = turn * from[k];
    m[i] = m[i] + (d - m[i]) * rest1;
    v[i] = v[i] + (d * d - v[i]) * rest2;
    x[i] = x[i] + by * (m[i] / (std::sqrt(v[i]) + eps));
  });
}

}  // namespace

void sgd_rows(double rate, const Tensor& p, const SparseGrad& g) {
  p.dtype() == DType::kF32 ? sgd<float>(rate, p, g) : sgd<double>(rate, p, g);
}

void adagrad_rows(double sign, double rate, double eps, const Tensor& p, const SparseGrad& g,
                  const Tensor& sum) {
  p.dtype() == DType::kF32 ? adagrad<float>(sign, rate, eps, p, g, sum)
                           : adagrad<double>(sign, rate, eps, p, g, sum);
}

void sparse_adam_rows(const SparseAdamCoefficients& c, const Tensor& p, const SparseGrad& g,
                      const Tensor& m, const Tensor& v) {
  p.dtype() == DType::kF32 ? sparse_adam<float>(c, p, g, m, v) : sparse_adam<double>(c, p, g, m, v);
}

SparseGrad rows_to_step(const char* op, const Tensor& p) {
  const SparseGrad g = *sparse_grad(p);
  if (p.is_vulkan()) {
    throw Error(std::string("[") + op + "] " + parameter_text(p) + " is on " +
                    p.device().to_string() +
                    ", its gradient sparse: tables with sparse gradients are stepped on the CPU",
                Code::kUnsupported);
  }
  if (g.dtype() != p.dtype() || !(g.shape() == p.raw_shape())) {
    throw Error(std::string("[") + op + "] " + parameter_text(p) + " is " + dtype_name(p.dtype()) +
                to_text(p.raw_shape()).text + ", its sparse gradient " + dtype_name(g.dtype()) +
                to_text(g.shape()).text);
  }
  return g.coalesce();
}

void no_sparse_step(const char* op, const Tensor& p) {
  throw Error(std::string("[") + op + "] the gradient of " + parameter_text(p) +
                  " is sparse, which SparseAdam, SGD and Adagrad take: give the table to one of "
                  "them, or make its Embedding without sparse",
              Code::kUnsupported);
}
void no_dense_step(const char* op, const Tensor& p) {
  throw Error(std::string("[") + op + "] the gradient of " + parameter_text(p) +
                  " is dense: give the parameter to Adam, or make its Embedding sparse",
              Code::kUnsupported);
}
void no_option_of_rows(const char* op, const char* option, const Tensor& p) {
  throw Error(std::string("[") + op + "] the gradient of " + parameter_text(p) +
                  " is sparse, and " + option +
                  " would change the rows that have none: set it to 0 in the table's group",
              Code::kUnsupported);
}

}  // namespace wick::optim
