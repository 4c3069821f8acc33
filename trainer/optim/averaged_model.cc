#include "trainer/optim/averaged_model.h"

#include "trainer/nn/layers.h"
#include "trainer/nn/mode_scope.h"
#include "trainer/tensor/ops.h"

namespace wick::optim {

AvgFn swa_avg_fn() {
  return [](const Tensor& averaged, const Tensor& model, int64_t n) {
    return averaged + (model - averaged) / static_cast<double>(n + 1);
  };
}

AvgFn ema_avg_fn(double decay) {
  if (!(decay >= 0 && decay <= 1)) {
    throw Error("[ema_avg_fn] decay must be in [0, 1], got " + std::to_string(decay));
  }
  return [decay](const Tensor& averaged, const Tensor& model, int64_t) {
    return averaged * decay + model * (1 - decay);
  };
}

AveragedModel::AveragedModel(const nn::Module& model, std::shared_ptr<nn::Module> copy,
                             AvgFn avg_fn, bool use_buffers, Where where)
    : module_(std::move(copy)), avg_fn_(std::move(avg_fn)), use_buffers_(use_buffers) {
  if (module_ == nullptr || module_.get() == &model) {
    throw_error("averaged_model", "copy must be a second module, made like the model", where);
  }
  if (!avg_fn_) throw_error("averaged_model", "an empty avg_fn", where);
  module_->load_state_dict(model.state_dict(), where);
  n_averaged_ = register_buffer("n_averaged", zeros({}, DType::kI64));
  register_module("module", module_);
}

void AveragedModel::update_parameters(const nn::Module& model, Where where) {
  NoGrad guard;
  const int64_t n = n_averaged();
  auto average = [&](const nn::NamedTensors& own, const nn::NamedTensors& of_model) {
    for (size_t i = 0; i < own.size() || i < of_model.size(); ++i) {
      if (i >= own.size() || i >= of_model.size() || own[i].first != of_model[i].first) {
        throw_error(
            "averaged_model",
            "the model differs at '" + (i < of_model.size() ? of_model : own)[i].first + "'",
            where);
      }
      const Tensor to = own[i].second.detach(), from = of_model[i].second.detach();
      to.copy_(n == 0 ? from : avg_fn_(to, from, n), where);
    }
  };
  average(module_->named_parameters(), model.named_parameters());
  if (use_buffers_) average(module_->named_buffers(), model.named_buffers());
  n_averaged_.add_(1);
}

namespace {

void find_batch_norms(nn::Module& module, std::vector<nn::BatchNormNd*>& found) {
  auto* norm = dynamic_cast<nn::BatchNormNd*>(&module);
  if (norm != nullptr && norm->running_mean.defined()) found.push_back(norm);
  for (const auto& [name, child] : module.children()) find_batch_norms(*child, found);
}

// The mean of one layer's batch statistics over the batches so far, in the dtype of its buffers.
struct Statistics {
  nn::BatchNormNd* norm;
  Tensor mean, var;
  int64_t batches = 0;

  void add(const Tensor& x) {
    NoGrad guard;
    const auto channels = x.raw_shape()[1];
    const Tensor rows = x.detach().transpose(0, 1).contiguous().reshape({channels, -1});
    const Tensor m = wick::mean(rows, {1}), v = wick::var(rows, {1}, true);
    ++batches;
    mean = mean + (m - mean) / static_cast<double>(batches);
    var = var + (v - var) / static_cast<double>(batches);
  }
};

// The changes to the model during a pass of update_bn, which end with it.
struct Pass {
  nn::ModeScope mode;
  std::vector<HookHandle> hooks;
  explicit Pass(nn::Module& model) : mode(model, true) {}
  ~Pass() {
    for (HookHandle& hook : hooks) hook.remove();
  }
};

}  // namespace

void update_bn(const std::function<bool(Tensor& x)>& next, nn::Module& model) {
  std::vector<nn::BatchNormNd*> norms;
  find_batch_norms(model, norms);
  if (norms.empty()) return;
  NoGrad guard;
  Pass pass(model);
  // Computed from the layers' inputs, so that the layers' momentum and their forwards do not
  // matter.
  auto statistics = std::make_shared<std::vector<Statistics>>();
  for (nn::BatchNormNd* norm : norms) {
    norm->num_batches_tracked.zero_();
    statistics->push_back({norm, zeros_like(norm->running_mean), zeros_like(norm->running_var), 0});
  }
  for (size_t i = 0; i < norms.size(); ++i) {
    pass.hooks.push_back(norms[i]->register_forward_pre_hook(
        [statistics, i](nn::Module&, const Tensor& x) { (*statistics)[i].add(x); }));
  }
  Tensor x;
  while (next(x)) model(x);
  for (const Statistics& s : *statistics) {
    s.norm->running_mean.copy_(s.mean);
    if (s.batches == 0) {
      s.norm->running_var.fill_(1);
    } else {
      s.norm->running_var.copy_(s.var);
    }
  }
}

}  // namespace wick::optim
