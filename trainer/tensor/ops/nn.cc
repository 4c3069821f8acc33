#include "trainer/explain/warn.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick {
namespace {

PoolAttrs pool_attrs(Pair kernel, std::optional<Pair> stride, Pair padding, Pair dilation,
                     bool ceil_mode) {
  Pair s = stride.value_or(kernel);
  PoolAttrs a;
  a.kernel_shape = {kernel.h, kernel.w};
  a.strides = {s.h, s.w};
  a.dilations = {dilation.h, dilation.w};
  a.pads = {padding.h, padding.w, padding.h, padding.w};
  a.ceil_mode = ceil_mode ? 1 : 0;
  return a;
}

void need_image(const char* op, const Arg& x) {
  if (x.tensor.rank() == 4) return;
  throw_error(op,
              std::string("input must be [N, C, H, W], got ") + to_text(x.tensor.raw_shape()).text,
              x.where, Code::kShapeMismatch);
}

}  // namespace

Tensor conv2d(const Arg& x, const Arg& weight, const Tensor& bias, Pair stride, Pair padding,
              Pair dilation, int64_t groups) {
  need_image("conv2d", x);
  ConvAttrs a;
  a.strides = {stride.h, stride.w};
  a.dilations = {dilation.h, dilation.w};
  a.pads = {padding.h, padding.w, padding.h, padding.w};
  a.group = groups;
  return call(OpId::kConv, a, {x, weight, {bias, x.where}});
}

Tensor max_pool2d(const Arg& x, Pair kernel, std::optional<Pair> stride, Pair padding,
                  Pair dilation, bool ceil_mode) {
  need_image("max_pool2d", x);
  return call(OpId::kMaxPool, pool_attrs(kernel, stride, padding, dilation, ceil_mode), {x});
}
Tensor avg_pool2d(const Arg& x, Pair kernel, std::optional<Pair> stride, Pair padding,
                  bool ceil_mode, bool count_include_pad) {
  need_image("avg_pool2d", x);
  PoolAttrs a = pool_attrs(kernel, stride, padding, 1, ceil_mode);
  a.count_include_pad = count_include_pad ? 1 : 0;
  return call(OpId::kAveragePool, a, {x});
}
Tensor adaptive_avg_pool2d(const Arg& x, Pair size) {
  need_image("adaptive_avg_pool2d", x);
  if (size.h != 1 || size.w != 1) {
    throw_error("adaptive_avg_pool2d", "only output size 1 is supported", x.where,
                Code::kUnsupported);
  }
  return mean(x, {2, 3}, true);
}

Tensor batch_norm(const Arg& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training, double momentum,
                  double eps) {
  BatchNormAttrs a{eps};
  if (!training) {
    if (!running_mean.defined() || !running_var.defined()) {
      throw_error("batch_norm", "evaluation needs running_mean and running_var", x.where);
    }
    return call(
        OpId::kBatchNorm, a,
        {x, {weight, x.where}, {bias, x.where}, {running_mean, x.where}, {running_var, x.where}});
  }
  const Shape& s = x.tensor.raw_shape();
  if (s.rank() >= 2 && numel(s) == s[1]) {
    throw_error("batch_norm",
                std::string("training needs more than one value a channel, got ") + to_text(s).text,
                x.where, Code::kShapeMismatch);
  }
  const Tensor* in[] = {&x.tensor, &weight, &bias};
  Tensor out[3];
  call(OpId::kBatchNormTrain, &a, in, out, x.where);
  if (running_mean.defined()) {
    NoGrad guard;
    // PyTorch keeps the unbiased variance.
    const int64_t count = numel(s) / s[1];
    const auto n = static_cast<double>(count);
    running_mean.mul_(1 - momentum, x.where).add_(out[1].detach(), momentum, x.where);
    running_var.mul_(1 - momentum, x.where).add_(out[2].detach(), momentum * n / (n - 1), x.where);
  }
  return out[0];
}

Tensor softmax(const Arg& x, int dim) { return call(OpId::kSoftmax, AxisAttrs{dim}, {x}); }
Tensor log_softmax(const Arg& x, int dim) { return call(OpId::kLogSoftmax, AxisAttrs{dim}, {x}); }

Tensor dropout(const Arg& x, double p, bool training) {
  if (!(p >= 0 && p < 1))
    throw_error("dropout", "p must be in [0, 1), got " + std::to_string(p), x.where);
  if (!training || p == 0) return x.tensor;
  Tensor keep = ge(rand(x.tensor.raw_shape()), p).to(x.tensor.dtype());
  return mul(x, mul(keep, full({}, 1 / (1 - p), x.tensor.dtype())));
}

Tensor nll_loss(const Arg& log_probs, const Arg& target, Reduction reduction) {
  const Shape& s = log_probs.tensor.raw_shape();
  if (s.rank() < 2 || target.tensor.rank() != s.rank() - 1 ||
      target.tensor.dtype() != DType::kI64) {
    throw_error("nll_loss",
                std::string("needs [N, C, ...] and int64 targets [N, ...], got ") +
                    to_text(s).text + " and " + to_text(target.tensor.raw_shape()).text + " " +
                    dtype_name(target.tensor.dtype()),
                log_probs.where, Code::kShapeMismatch);
  }
  Tensor index = target.tensor.unsqueeze(1, target.where);
  Tensor picked = neg({gather(log_probs, 1, {index, target.where}), log_probs.where});
  if (reduction == Reduction::kMean) return mean({picked, log_probs.where});
  if (reduction == Reduction::kSum) return sum({picked, log_probs.where});
  return picked.squeeze(1, log_probs.where);
}

Tensor cross_entropy(const Arg& logits, const Arg& target, Reduction reduction) {
  if (logits.tensor.rank() < 2) {
    throw_error(
        "cross_entropy",
        std::string("needs logits [N, C, ...], got ") + to_text(logits.tensor.raw_shape()).text,
        logits.where, Code::kShapeMismatch);
  }
  return nll_loss({log_softmax(logits, 1), logits.where}, target, reduction);
}

Tensor mse_loss(const Arg& x, const Arg& target, Reduction reduction) {
  warn_broadcast("mse_loss", x.tensor, target.tensor, x.where);
  Tensor d = square({sub(x, target), x.where});
  if (reduction == Reduction::kMean) return mean({d, x.where});
  if (reduction == Reduction::kSum) return sum({d, x.where});
  return d;
}

}  // namespace wick
