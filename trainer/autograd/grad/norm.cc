#include <algorithm>

#include "trainer/autograd/grad/common.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

// Reshapes per-channel values to broadcast along dim 1 of a tensor of rank `rank`.
Tensor along(const Tensor& v, int rank) {
  Shape s;
  for (int i = 0; i < rank; ++i) s.push_back(1);
  s[1] = v.layout().numel();
  return v.reshape(s);
}
Tensor per_channel(const Tensor& t) {
  Dims dims{0};
  for (int i = 2; i < t.rank(); ++i) dims.values[dims.count++] = i;
  return sum(t, dims);
}

// The elements of a channel, 1 at least: what they are divided by is a sum of nothing then.
double elements_of_channel(const Tensor& x) {
  int64_t count = 1;
  for (int i = 0; i < x.rank(); ++i) count *= i == 1 ? 1 : x.raw_shape()[i];
  return static_cast<double>(std::max<int64_t>(count, 1));
}

// Computes BatchNormGrad in other ops.
std::vector<Tensor> batch_norm_grad(const std::vector<Tensor>& in, double eps) {
  const Tensor &g = in[0], &x = in[1], &gamma = in[2], &mean = in[3], &var = in[4];
  int rank = x.rank();
  // The statistics of nothing are NaN, its gradients are sums of nothing.
  if (x.layout().numel() == 0) return {g, per_channel(g), per_channel(g)};
  const double n = elements_of_channel(x);
  Tensor inv = reciprocal(sqrt(var + eps));
  Tensor centred = x - along(mean, rank);
  Tensor normal = centred * along(inv, rank);
  Tensor sum_g = per_channel(g), sum_gx = per_channel(g * normal);
  Tensor inner = g - along(sum_g * (1 / n), rank) - normal * along(sum_gx * (1 / n), rank);
  return {inner * along(gamma * inv, rank), sum_gx, sum_g};
}

// Computes LayerNormGrad in other ops: the rows are the last dims of x, of the weight's shape.
std::vector<Tensor> layer_norm_grad(const Tensor& g, const Tensor& x, const Tensor& weight,
                                    double eps) {
  Dims rows;
  for (int d = x.rank() - weight.rank(); d < x.rank(); ++d) rows.values[rows.count++] = d;
  const Tensor centred = x - mean(x, rows, true);
  const Tensor root = sqrt(mean(centred * centred, rows, true) + eps);
  const Tensor normal = centred / root, h = g * weight;
  const Tensor inner = h - mean(h, rows, true) - normal * mean(h * normal, rows, true);
  return {inner / root, sum_to(g * normal, weight.raw_shape()), sum_to(g, weight.raw_shape())};
}

// Computes GroupNormGrad in other ops: a group's rows have a weight for each of their channels.
std::vector<Tensor> group_norm_grad(const Tensor& g, const Tensor& x, const Tensor& weight,
                                    const GroupNormGradAttrs& a) {
  const Shape s = x.raw_shape();
  const int64_t channels = s[1], run = numel(s) / std::max<int64_t>(s[0] * channels, 1);
  const Shape rows{s[0], a.groups, channels / a.groups, run}, one{1, a.groups, rows[2], 1};
  const Dims last{2, 3};
  const Tensor dy = g.reshape(rows), v = x.reshape(rows);
  const Tensor centred = v - mean(v, last, true);
  const Tensor root = sqrt(mean(centred * centred, last, true) + a.epsilon);
  const Tensor normal = centred / root, h = dy * weight.reshape(one);
  const Tensor inner = h - mean(h, last, true) - normal * mean(h * normal, last, true);
  return {(inner / root).reshape(s), sum_to(dy * normal, one).reshape({channels}),
          sum_to(dy, one).reshape({channels})};
}

}  // namespace

WICK_GRAD(BatchNorm, 27, 0, 0, [](GradCtx& c) {
  Tensor g = c.g(), x = c.in(0), gamma = c.in(1);
  int rank = x.rank();
  Tensor inv = reciprocal(sqrt(c.in(4) + c.attrs<BatchNormAttrs>().epsilon));
  if (c.needs(0)) c.set(0, g * along(gamma * inv, rank));
  if (c.needs(2)) c.set(2, per_channel(g));
  if (c.needs(3)) c.set(3, -(per_channel(g) * gamma * inv));
  if (!c.needs(1) && !c.needs(4)) return;
  Tensor spread = per_channel(g * (x - along(c.in(3), rank)));
  if (c.needs(1)) c.set(1, spread * inv);
  if (c.needs(4)) c.set(4, spread * gamma * inv * inv * inv * -0.5);
});

WICK_GRAD(BatchNormTrain, 3, 6, 0, [](GradCtx& c) {
  Tensor x = c.in(0), mean = c.out(1), var = c.out(2), gx;
  int rank = x.rank();
  if (c.g(0).defined()) {
    BatchNormAttrs a = c.attrs<BatchNormAttrs>();
    Tensor gamma = c.in(1), out[3];
    const Tensor* in[] = {&c.g(0), &x, &gamma, &mean, &var};
    call(OpId::kBatchNormGrad, &a, in, out, Where::current());
    gx = out[0];
    c.set(1, out[1]);
    c.set(2, out[2]);
  }
  // The gradients of the statistics, which are outputs too.
  const double n = elements_of_channel(x);
  auto add_term = [&](const Tensor& t) { gx = gx.defined() ? gx + t : t; };
  if (c.g(1).defined()) add_term((along(c.g(1), rank) * (1 / n)).expand(x.raw_shape()));
  if (c.g(2).defined()) add_term((x - along(mean, rank)) * along(c.g(2) * (2 / n), rank));
  c.set(0, gx);
});

WICK_GRAD(BatchNormGrad, 31, 0, 0, [](GradCtx& c) {
  grad_through(c, [&](const std::vector<Tensor>& in) {
    return batch_norm_grad(in, c.attrs<BatchNormAttrs>().epsilon);
  });
});

WICK_GRAD(LayerNormGrad, 7, 0, 0, [](GradCtx& c) {
  grad_through(c, [&](const std::vector<Tensor>& in) {
    return layer_norm_grad(in[0], in[1], in[2], c.attrs<LayerNormGradAttrs>().epsilon);
  });
});
WICK_GRAD(GroupNormGrad, 7, 0, 0, [](GradCtx& c) {
  grad_through(c, [&](const std::vector<Tensor>& in) {
    return group_norm_grad(in[0], in[1], in[2], c.attrs<GroupNormGradAttrs>());
  });
});

WICK_GRAD(Softmax, 0, 1, 0, [](GradCtx& c) {
  Tensor y = c.out(), gy = c.g() * y;
  if (y.rank() == 0) return c.set(0, zeros_like(y));
  c.set(0, gy - y * sum(gy, {c.attrs<AxisAttrs>().axis}, true));
});
WICK_GRAD(LogSoftmax, 0, 1, 0, [](GradCtx& c) {
  Tensor y = c.out(), g = c.g();
  if (y.rank() == 0) return c.set(0, zeros_like(y));
  c.set(0, g - exp(y) * sum(g, {c.attrs<AxisAttrs>().axis}, true));
});

}  // namespace wick
