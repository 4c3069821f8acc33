#include "trainer/distributed/parallel/sync_batch_norm.h"

#include "trainer/autograd/function.h"
#include "trainer/distributed/parallel/part_run.h"
#include "trainer/tensor/ops.h"

namespace wick::distributed {
namespace {

// The dims that a channel's statistics run over: all but 1.
std::vector<int> rest_of(const Tensor& x) {
  std::vector<int> dims = {0};
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

// [C] as [1, C, 1 ...], to combine with x.
Tensor along(const Tensor& channels, const Tensor& x) {
  std::vector<int64_t> shape(static_cast<size_t>(x.rank()), 1);
  shape[1] = channels.raw_shape()[0];
  return channels.reshape(Shape(Span<const int64_t>(shape.data(), shape.size())));
}

Tensor sum_of(const Tensor& x) {
  const std::vector<int> dims = rest_of(x);
  Tensor s = x;
  for (size_t i = dims.size(); i-- > 0;) s = s.sum(dims[i]);
  return s;
}

struct Moments {
  Tensor mean, var;  // [C]
  double count = 0;  // values of a channel in the whole batch
};

// Gives the sums over all parts of the float64 sums of [C] tensors, and of `count` behind them.
std::vector<double> sums_of_all(const std::vector<Tensor>& local, double count, const char* what,
                                const PartRun& run, const Where& where) {
  std::vector<double> values;
  for (const Tensor& t : local) {
    const std::vector<double> v = t.to(DType::kF64).to_vector<double>();
    values.insert(values.end(), v.begin(), v.end());
  }
  values.push_back(count);
  const Tensor packed =
      from_blob(values.data(), Shape{static_cast<int64_t>(values.size())}, DType::kF64, where);
  return run.meeting->sum(run.part->index, packed, what, where).to_vector<double>();
}

Tensor channel_values(const double* values, int64_t channels, double divisor, DType dtype) {
  std::vector<double> v(values, values + channels);
  for (double& x : v) x /= divisor;
  return from_blob(v.data(), Shape{channels}, DType::kF64).to(dtype);
}

struct SyncNorm : Function<SyncNorm> {
  static constexpr bool once_differentiable = true;  // NOLINT(readability-identifier-naming)
  static Tensor forward(AutogradContext& ctx, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, double eps, Moments* moments, Where where) {
    const PartRun& run = *current_part();
    const int64_t channels = x.raw_shape()[1];
    const int64_t of_a_channel = x.layout().numel() / channels;
    const auto here = static_cast<double>(of_a_channel);
    std::vector<double> all = sums_of_all({sum_of(x)}, here, "mean of a SyncBatchNorm", run, where);
    moments->count = all.back();
    moments->mean = channel_values(all.data(), channels, moments->count, x.dtype());
    const Tensor d = x - along(moments->mean, x);
    all = sums_of_all({sum_of(d * d)}, here, "variance of a SyncBatchNorm", run, where);
    moments->var = channel_values(all.data(), channels, moments->count, x.dtype());
    ctx.save_for_backward({x, weight, moments->mean, moments->var});
    ctx.saved_data["eps"] = eps;
    ctx.saved_data["count"] = moments->count;
    ctx.saved_data["where"] = where;
    return batch_norm(x, moments->mean, moments->var, weight, bias, false, 0, eps);
  }

  static variable_list backward(AutogradContext& ctx, const variable_list& grads) {
    const variable_list saved = ctx.get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &g = grads[0];
    const auto eps = std::any_cast<double>(ctx.saved_data["eps"]);
    const auto count = std::any_cast<double>(ctx.saved_data["count"]);
    const auto where = std::any_cast<Where>(ctx.saved_data["where"]);
    const PartRun* run = current_part();
    if (run == nullptr || run->meeting == nullptr) {
      throw_error("SyncBatchNorm", "its backward must run within the part of its forward", where);
    }
    const int64_t channels = x.raw_shape()[1];
    const Tensor inverse = 1 / sqrt(saved[3] + eps);
    const Tensor h = (x - along(saved[2], x)) * along(inverse, x);
    const Tensor grad_bias = sum_of(g), grad_weight = sum_of(g * h);
    const std::vector<double> all =
        sums_of_all({grad_bias, grad_weight}, 0, "gradient of a SyncBatchNorm", *run, where);
    const Tensor from_bias = channel_values(all.data(), channels, count, x.dtype());
    const Tensor from_weight = channel_values(all.data() + channels, channels, count, x.dtype());
    const Tensor scale = weight.defined() ? weight * inverse : inverse;
    const Tensor grad_x = along(scale, x) * ((g - along(from_bias, x)) - h * along(from_weight, x));
    return {grad_x,  weight.defined() ? grad_weight : Tensor(), grad_bias, Tensor(), Tensor(),
            Tensor()};
  }
};

}  // namespace

SyncBatchNorm::SyncBatchNorm(const nn::BatchNormNd& layer)
    : BatchNormNd("SyncBatchNorm", 2, kMaxRank, layer.num_features(), layer.eps(), layer.momentum(),
                  false, false) {
  weight = register_parameter("weight", layer.weight);
  bias = register_parameter("bias", layer.bias);
  running_mean = register_buffer("running_mean", layer.running_mean);
  running_var = register_buffer("running_var", layer.running_var);
  num_batches_tracked = register_buffer("num_batches_tracked", layer.num_batches_tracked);
  train(layer.training());
}

Tensor SyncBatchNorm::forward(const Arg& x) {
  const PartRun* run = current_part();
  if (!training() || run == nullptr || run->shards == 1) return BatchNormNd::forward(x);
  if (run->meeting == nullptr) {
    throw_error("SyncBatchNorm",
                "was made after the DataParallel that runs it: convert the net "
                "first",
                x.where);
  }
  const Shape& s = x.tensor.raw_shape();
  const bool floats = x.tensor.dtype() == DType::kF32 || x.tensor.dtype() == DType::kF64;
  if (!floats || s.rank() < 2 || s[1] != num_features()) {
    throw_error("SyncBatchNorm",
                "takes float32 or float64 [N, " + std::to_string(num_features()) + ", ...], got " +
                    dtype_name(x.tensor.dtype()) + to_text(s).text,
                x.where, Code::kShapeMismatch);
  }
  Moments m;
  Tensor y = SyncNorm::apply(x, weight, bias, eps(), &m, x.where);
  if (!running_mean.defined() || !run->first_of_rank || m.count == 0) return y;
  NoGrad guard;
  num_batches_tracked.add_(ones({}, DType::kI64), 1, x.where);
  const double rate = momentum() ? *momentum() : 1 / num_batches_tracked.item(x.where);
  running_mean.mul_(1 - rate, x.where).add_(m.mean, rate, x.where);
  // PyTorch keeps the unbiased variance.
  running_var.mul_(1 - rate, x.where).add_(m.var, rate * m.count / (m.count - 1), x.where);
  return y;
}

size_t convert_sync_batchnorm(nn::Module& net, Where where) {
  std::vector<std::string> paths;
  for (const auto& [path, module] : net.named_modules()) {
    const auto* norm = dynamic_cast<const nn::BatchNormNd*>(module);
    if (norm == nullptr || dynamic_cast<const SyncBatchNorm*>(norm) != nullptr) continue;
    if (path.empty())
      throw_error("convert_sync_batchnorm", "the net is a batch norm itself", where);
    paths.push_back(path);
  }
  for (const std::string& path : paths) {
    net.replace_module(
        path,
        [](const std::shared_ptr<nn::Module>& old) -> std::shared_ptr<nn::Module> {
          return std::make_shared<SyncBatchNorm>(dynamic_cast<const nn::BatchNormNd&>(*old));
        },
        where);
  }
  return paths.size();
}

}  // namespace wick::distributed
