#include <cmath>
#include <limits>

#include "runtime/kernels/elementwise/half_loops.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops/group_norm.h"
#include "trainer/tensor/ops/layer_norm.h"
#include "trainer/tensor/philox.h"
#include "trainer/tensor/tracer.h"

namespace wick {
namespace {

// (x - mean) / sqrt(var + eps) over `dims`, with the biased variance.
Tensor standardized(const Tensor& x, const Dims& dims, double eps, const At& at) {
  Tensor centred = at(x) - at(mean(at(x), dims, true));
  Tensor var = mean(at(square(at(centred))), dims, true);
  return at(centred) / at(sqrt(at(at(var) + eps)));
}

// y * weight + bias, both optional.
Tensor affine(Tensor y, const Tensor& weight, const Tensor& bias, const At& at) {
  if (weight.defined()) y = at(y) * at(weight);
  if (bias.defined()) y = at(y) + at(bias);
  return y;
}

// Calls f with x, weight and bias in float32 if they have 16 bits.
template <class F>
Tensor widened(const Arg& x, const Tensor& weight, const Tensor& bias, const F& f) {
  const DType t = x.tensor.dtype();
  if (!is_16_bit_float(t)) return f(x.tensor, weight, bias);
  auto wide = [&](const Tensor& v) { return v.defined() ? v.to(DType::kF32, x.where) : v; };
  Tensor y = f(wide(x.tensor), wide(weight), wide(bias));
  return autocast_enabled() ? y : y.to(t, x.where);  // torch.autocast returns norms in float32
}

// Returns the last dims, which must have the sizes `shape`; checks the shape of weight and bias, if
// given.
Dims last_dims(const char* op, const Arg& x, const Shape& shape, const Tensor& weight,
               const Tensor& bias) {
  Dims dims;
  const int lead = x.tensor.rank() - shape.rank();
  bool fits = shape.rank() > 0 && lead >= 0;
  for (int i = 0; fits && i < shape.rank(); ++i) {
    fits = x.tensor.raw_shape()[lead + i] == shape[i];
    dims.values[dims.count++] = lead + i;
  }
  if (!fits) {
    bad_shape(op,
              std::string("the last dims of input ") + text(x.tensor) +
                  " must be normalized_shape " + to_text(shape).text,
              x.where);
  }
  for (const Tensor* t : {&weight, &bias}) {
    if (!t->defined() || t->raw_shape() == shape) continue;
    bad_shape(op,
              std::string("weight and bias must be ") + to_text(shape).text + ", got " + text(*t),
              x.where);
  }
  return dims;
}

void need_channels(const char* op, const Arg& x, int64_t c, const Tensor& t, const char* name) {
  if (!t.defined() || (t.rank() == 1 && t.raw_shape()[0] == c)) return;
  bad_shape(op, std::string(name) + " must be [" + std::to_string(c) + "], got " + text(t),
            x.where);
}

// Reshapes [C] to broadcast along dim 1 of a tensor of rank `rank`.
Tensor along(const Tensor& t, int rank, const At& at) {
  if (!t.defined()) return t;
  Shape s;
  for (int i = 0; i < rank; ++i) s.push_back(i == 1 ? t.raw_shape()[0] : 1);
  return t.reshape(s, at.where);
}

}  // namespace

Tensor batch_norm(const Arg& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training, double momentum,
                  double eps) {
  BatchNormAttrs a{eps};
  Tensor gamma = weight, beta = bias;
  if (x.tensor.rank() >= 2) {
    const Shape channels{x.tensor.raw_shape()[1]};
    if (!gamma.defined()) gamma = ones(channels, x.tensor.dtype());
    if (!beta.defined()) beta = zeros(channels, x.tensor.dtype());
  }
  if (!training) {
    if (!running_mean.defined() || !running_var.defined()) {
      throw_error("batch_norm", "evaluation needs running_mean and running_var", x.where);
    }
    return call(
        OpId::kBatchNorm, a,
        {x, {gamma, x.where}, {beta, x.where}, {running_mean, x.where}, {running_var, x.where}});
  }
  const Shape& s = x.tensor.raw_shape();
  if (s.rank() >= 2 && numel(s) == s[1]) {
    throw_error("batch_norm",
                std::string("training needs more than one value a channel, got ") + to_text(s).text,
                x.where, Code::kShapeMismatch);
  }
  const Tensor* in[] = {&x.tensor, &gamma, &beta};
  Tensor out[3];
  call(OpId::kBatchNormTrain, &a, in, out, x.where);
  if (numel(s) == 0) return out[0];  // no values have no statistics; PyTorch keeps the old ones
  NoGrad guard;
  if (running_mean.defined()) {
    running_mean.mul_(1 - momentum, x.where).add_(out[1].detach(), momentum, x.where);
  }
  if (running_var.defined()) {  // PyTorch keeps the unbiased variance.
    const int64_t count = numel(s) / s[1];
    const auto n = static_cast<double>(count);
    running_var.mul_(1 - momentum, x.where).add_(out[2].detach(), momentum * n / (n - 1), x.where);
  }
  return out[0];
}

Tensor layer_norm(const Arg& x, const Shape& shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const At at(x);
  const Dims dims = last_dims("layer_norm", x, shape, weight, bias);
  return widened(x, weight, bias, [&](const Tensor& v, const Tensor& w, const Tensor& b) {
    const auto wide = [](const Tensor& t) { return !t.defined() || t.dtype() == DType::kF32; };
    if (active_tracer() != nullptr || !wide(v) || !wide(w) || !wide(b) || modes().forward != 0) {
      return affine(standardized(v, dims, eps, at), w, b, at);
    }
    return detail::native_layer_norm({v, x.where}, shape.rank(), w, b, eps);
  });
}

Tensor rms_norm(const Arg& x, const Shape& shape, const Tensor& weight, std::optional<double> eps) {
  const At at(x);
  const Dims dims = last_dims("rms_norm", x, shape, weight, Tensor());
  const double e =
      eps.value_or(x.tensor.dtype() == DType::kF64 ? std::numeric_limits<double>::epsilon()
                                                   : std::numeric_limits<float>::epsilon());
  return widened(x, weight, Tensor(), [&](const Tensor& v, const Tensor& w, const Tensor& b) {
    Tensor size = sqrt(at(at(mean(at(square(at(v))), dims, true)) + e));
    return affine(at(v) / at(size), w, b, at);
  });
}

Tensor detail::group_norm_ops(const Tensor& x, int64_t groups, const Tensor& weight,
                              const Tensor& bias, double eps, const At& at) {
  const int rank = x.rank();
  Dims back{kCopy};
  int64_t size = 1;
  for (int i = 1; i < rank; ++i) {
    back.values[back.count++] = dim_of(x, i);
    size *= dim_of(x, i);
  }
  Tensor grouped = reshape_to(x, {kCopy, groups, size / groups}, at);
  Tensor y = reshape_to(standardized(grouped, {2}, eps, at), back, at);
  return affine(y, along(weight, rank, at), along(bias, rank, at), at);
}

Tensor group_norm(const Arg& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const At at(x);
  const int rank = x.tensor.rank();
  if (rank < 2 || groups < 1 || dim_of(x.tensor, 1) % groups != 0) {
    bad_shape("group_norm",
              "needs [N, C, ...] with C divisible by " + std::to_string(groups) + " groups, got " +
                  text(x.tensor),
              x.where);
  }
  need_channels("group_norm", x, dim_of(x.tensor, 1), weight, "weight");
  need_channels("group_norm", x, dim_of(x.tensor, 1), bias, "bias");
  return widened(x, weight, bias, [&](const Tensor& v, const Tensor& w, const Tensor& b) {
    if (detail::is_native_group_norm(v, groups, w, b))
      return detail::native_group_norm({v, x.where}, groups, w, b, eps);
    return detail::group_norm_ops(v, groups, w, b, eps, at);
  });
}

Tensor instance_norm(const Arg& x, const Tensor& running_mean, const Tensor& running_var,
                     const Tensor& weight, const Tensor& bias, bool use_input_stats,
                     double momentum, double eps) {
  const At at(x);
  const int rank = x.tensor.rank();
  if (!use_input_stats) {
    return batch_norm(x, running_mean, running_var, weight, bias, false, momentum, eps);
  }
  if (rank < 3) {
    bad_shape("instance_norm", "needs [N, C, spatial...], got " + text(x.tensor), x.where);
  }
  Dims spatial;
  int64_t count = 1;
  for (int i = 2; i < rank; ++i) {
    spatial.values[spatial.count++] = i;
    count *= dim_of(x.tensor, i);
  }
  if (count == 1) {
    bad_shape("instance_norm", "needs more than one value a channel, got " + text(x.tensor),
              x.where);
  }
  for (const Tensor* t : {&weight, &bias, &running_mean, &running_var}) {
    need_channels("instance_norm", x, dim_of(x.tensor, 1), *t, "per-channel input");
  }
  if (numel(x.tensor.raw_shape()) != 0 && (running_mean.defined() || running_var.defined())) {
    NoGrad guard;
    const auto n = static_cast<double>(count);
    Tensor v = x.tensor.detach(), m = mean(at(v), spatial, true);
    if (running_mean.defined()) {
      Tensor mean_now = mean(at(mean(at(v), spatial)), {0});
      running_mean.mul_(1 - momentum, x.where).add_(mean_now, momentum, x.where);
    }
    if (running_var.defined()) {
      Tensor var = mean(at(square(at(at(v) - at(m)))), spatial), var_now = mean(at(var), {0});
      running_var.mul_(1 - momentum, x.where).add_(var_now, momentum * n / (n - 1), x.where);
    }
  }
  return widened(x, weight, bias, [&](const Tensor& v, const Tensor& w, const Tensor& b) {
    return affine(standardized(v, spatial, eps, at), along(w, rank, at), along(b, rank, at), at);
  });
}

Tensor local_response_norm(const Arg& x, int64_t size, double alpha, double beta, double k) {
  const At at(x);
  const int rank = x.tensor.rank();
  if (rank < 3 || size < 1) {
    bad_shape("local_response_norm",
              "needs [N, C, spatial...] and size >= 1, got " + text(x.tensor), x.where);
  }
  const int64_t channels = dim_of(x.tensor, 1);
  PadAttrs p;
  p.pads.count = 2 * rank;
  p.pads.values[1] = size / 2;
  p.pads.values[rank + 1] = (size - 1) / 2;
  Tensor squares = call(OpId::kPad, p, {at(square(x))}), total;
  for (int64_t i = 0; i < size; ++i) {
    Tensor part = squares.slice(1, i, i + channels, 1, x.where);
    total = total.defined() ? at(total) + at(part) : part;
  }
  Tensor base = at(at(total) * (alpha / static_cast<double>(size))) + k;
  return div(x, at(pow(at(base), beta)));
}

Tensor normalize(const Arg& x, double p, int dim, double eps) {
  const At at(x);
  Tensor size = linalg::vector_norm(x, p, {dim}, true);
  return div(x, at(maximum(at(size), at(full({}, eps, x.tensor.dtype())))));
}

Tensor softmax(const Arg& x, int dim) { return call(OpId::kSoftmax, AxisAttrs{dim}, {x}); }
Tensor log_softmax(const Arg& x, int dim) { return call(OpId::kLogSoftmax, AxisAttrs{dim}, {x}); }

Tensor dropout(const Arg& x, double p, bool training) {
  if (!(p >= 0 && p <= 1))
    throw_error("dropout", "p must be in [0, 1], got " + std::to_string(p), x.where);
  if (!training || p == 0) return x.tensor;
  const At at(x);
  if (p == 1) return mul(x, at(full({}, 0, x.tensor.dtype())));
  Tensor keep = ge(at(rand(x.tensor.raw_shape())), p).to(x.tensor.dtype(), x.where);
  keep = moved_beside(x.tensor, keep);
  return mul(x, at(mul(at(keep), at(full({}, 1 / (1 - p), x.tensor.dtype())))));
}

// A mask over the channels of x.
static Tensor channel_dropout(const char* op, const Arg& x, double p, bool training, int spatial) {
  const At at(x);
  const int rank = x.tensor.rank();
  if (rank != spatial + 2 && rank != spatial + 1) {
    bad_shape(op,
              "needs [N, C] or [C] and " + std::to_string(spatial) + " spatial dims, got " +
                  text(x.tensor),
              x.where);
  }
  if (!(p >= 0 && p <= 1))
    throw_error(op, "p must be in [0, 1], got " + std::to_string(p), x.where);
  if (!training || p == 0) return x.tensor;
  Shape lead;
  for (int i = 0; i < rank; ++i) lead.push_back(i < rank - spatial ? dim_of(x.tensor, i) : 1);
  Tensor kept = dropout(at(ones(lead, x.tensor.dtype())), p, training);
  return mul(x, at(moved_beside(x.tensor, kept)));
}
Tensor dropout1d(const Arg& x, double p, bool training) {
  return channel_dropout("dropout1d", x, p, training, 1);
}
Tensor dropout2d(const Arg& x, double p, bool training) {
  return channel_dropout("dropout2d", x, p, training, 2);
}
Tensor dropout3d(const Arg& x, double p, bool training) {
  return channel_dropout("dropout3d", x, p, training, 3);
}

}  // namespace wick
