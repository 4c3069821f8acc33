#include "trainer/nn/clip_grad.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "runtime/core/thread_pool.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/recorder.h"

namespace wick::nn {
namespace {

// Independent lanes: the sum is vectorized, in an order that does not depend on the target.
constexpr int64_t kLanes = 8;

template <class T, class F>
double sum_of(const T* g, int64_t n, F f) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += f(static_cast<double>(g[i + k]));
  }
  double sum = 0;
  for (; i < n; ++i) sum += f(static_cast<double>(g[i]));
  for (double lane : lanes) sum += lane;
  return sum;
}

// Returns the sum of powers of a slice, or its largest magnitude (NaN if there is one).
template <class T>
double part_of(const T* g, int64_t n, double p) {
  if (std::isinf(p)) {
    double most = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double x = std::abs(static_cast<double>(g[i]));
      most = x > most || std::isnan(x) ? x : most;
      if (std::isnan(most)) break;
    }
    return most;
  }
  if (p == 1) return sum_of(g, n, [](double x) { return std::abs(x); });
  if (p == 2) return sum_of(g, n, [](double x) { return x * x; });
  return sum_of(g, n, [p](double x) { return std::pow(std::abs(x), p); });
}

double norm_of(const std::vector<Tensor>& gradients, double p) {
  constexpr int64_t kSlice = 1 << 14;
  struct Slice {
    const Tensor* g;
    int64_t begin, n;
    double part;
  };
  std::vector<Slice> slices;
  for (const Tensor& g : gradients) {
    const int64_t n = g.layout().numel();
    for (int64_t at = 0; at < n; at += kSlice) {
      slices.push_back({&g, at, std::min(kSlice, n - at), 0});
    }
  }
  parallel_for(thread_pool(), static_cast<int64_t>(slices.size()), [&](int64_t task, int) {
    Slice& s = slices[static_cast<size_t>(task)];
    s.part = s.g->dtype() == DType::kF32 ? part_of(s.g->data<float>() + s.begin, s.n, p)
                                         : part_of(s.g->data<double>() + s.begin, s.n, p);
  });
  double total = 0;
  for (const Slice& s : slices) {
    if (std::isinf(p)) {
      total = s.part > total || std::isnan(s.part) ? s.part : total;
      if (std::isnan(total)) break;
    } else {
      total += s.part;
    }
  }
  if (std::isinf(p) || p == 1) return total;
  return p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
}

std::vector<Tensor> gradients_of(const char* op, const std::vector<Tensor>& parameters,
                                 const Where& where) {
  std::vector<Tensor> gradients;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].defined()) {
      throw_error(op, fmt::format("parameter {} is undefined", i), where);
    }
    need_dense_grad(op, parameters[i], where);
    const Tensor g = parameters[i].grad();
    if (g.defined()) gradients.push_back(g.detach());
  }
  return gradients;
}

}  // namespace

static double clip_norm(const char* kOp, const std::vector<Tensor>& parameters, double max_norm,
                        double norm_type, bool error_if_nonfinite, const Where& where) {
  if (!(max_norm >= 0)) {
    throw_error(kOp, fmt::format("max_norm must be >= 0, got {}", max_norm), where);
  }
  if (!(norm_type > 0)) {
    throw_error(kOp, fmt::format("norm_type must be positive or infinity, got {}", norm_type),
                where);
  }
  NoGrad guard;
  const std::vector<Tensor> gradients = gradients_of(kOp, parameters, where);
  std::vector<Tensor> read;  // float32 or float64 copies, contiguous
  for (const Tensor& g : gradients) {
    const Tensor own = to_host(g, where);
    read.push_back((g.dtype() == DType::kF64 ? own : own.to(DType::kF32)).contiguous());
  }
  const double total = norm_of(read, norm_type);
  if (error_if_nonfinite && !std::isfinite(total)) {
    throw_error(kOp,
                fmt::format("the gradients' norm of order {} is {}: they cannot be clipped "
                            "(error_if_nonfinite = false scales by it all the same)",
                            norm_type, total),
                where);
  }
  const double factor = max_norm / (total + 1e-6);
  // Not "factor < 1": a NaN factor has to reach the gradients.
  if (!(factor >= 1)) {
    Tensor by;  // shared by the gradients of one dtype
    for (const Tensor& g : gradients) {
      if (!is_float(g.dtype()) || g.is_vulkan()) {
        g.mul_(factor);
        continue;
      }
      if (!by.defined() || by.dtype() != g.dtype()) by = full({}, factor, g.dtype());
      g.mul_(by);
    }
  }
  return total;
}

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite, Where where) {
  constexpr const char* kOp = "clip_grad_norm_";
  auto clip = [=] {
    return clip_norm(kOp, parameters, max_norm, norm_type, error_if_nonfinite, where);
  };
  Recorder* r = modes().recorder;
  if (r == nullptr) return clip();
  for (const Tensor& p : parameters) {
    if (p.defined()) r->on_tensor(p);
  }
  auto norm = std::make_shared<double>(0);
  r->on_host(kOp, nullptr, [=] { *norm = clip(); });
  return *norm;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value, Where where) {
  constexpr const char* kOp = "clip_grad_value_";
  if (!(clip_value >= 0)) {
    throw_error(kOp, fmt::format("clip_value must be >= 0, got {}", clip_value), where);
  }
  NoGrad guard;
  for (const Tensor& g : gradients_of(kOp, parameters, where)) {
    g.copy_(clamp(g, -clip_value, clip_value));
  }
}

}  // namespace wick::nn
