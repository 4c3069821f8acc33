#include "trainer/nn/change/lora.h"

#include <cmath>

#include "trainer/tensor/ops.h"

namespace wick::nn {
namespace {

// Holds a matrix under the name "weight": in PEFT lora_A and lora_B are Linear layers.
struct Factor : Module {
  explicit Factor(const Tensor& w) { register_parameter("weight", w); }
  const char* kind() const override { return "Linear"; }
  std::string extra_repr() const override {
    const Tensor w = find_tensor("weight");
    return "in_features=" + std::to_string(w.raw_shape()[1]) +
           ", out_features=" + std::to_string(w.raw_shape()[0]) + ", bias=False";
  }
  Tensor forward(const Arg& x) override { return linear(x, {find_tensor("weight"), x.where}); }
};

bool matches(const std::string& path, const std::vector<std::string>& targets) {
  for (const std::string& t : targets) {
    if (path == t || path.ends_with("." + t)) return true;
  }
  return targets.empty();
}

void check(const Tensor& w, const LoraOptions& o, const Where& where) {
  if (!w.defined() || w.rank() != 2)
    throw_error("LoraLinear", "the layer has no weight [out, in]", where, Code::kUnsupported);
  const int64_t most = std::min(w.raw_shape()[0], w.raw_shape()[1]);
  if (o.rank < 1 || o.rank > most) {
    throw_error("LoraLinear",
                "rank " + std::to_string(o.rank) + " for a weight " + to_text(w.raw_shape()).text +
                    ": 1 to " + std::to_string(most),
                where);
  }
  if (!std::isfinite(o.alpha)) throw_error("LoraLinear", "alpha is not a number", where);
  if (!(o.dropout >= 0 && o.dropout < 1))
    throw_error("LoraLinear", "dropout must be in [0, 1), got " + std::to_string(o.dropout), where);
}

}  // namespace

LoraLinear::LoraLinear(std::shared_ptr<Module> base, const LoraOptions& o, Where where)
    : base_(std::move(base)) {
  const Tensor w = base_ ? base_->find_tensor("weight") : Tensor();
  check(w, o, where);
  const int64_t out = w.raw_shape()[0], in = w.raw_shape()[1];
  scale_ = o.alpha / static_cast<double>(o.rank);
  dropout_ = o.dropout;
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  NoGrad guard;
  lora_a = uniform({o.rank, in}, -bound, bound).to(w.dtype());
  lora_b = zeros({out, o.rank}, w.dtype());
  base_->requires_grad_(false);
  register_module("base_layer", base_);
  register_module("lora_A", std::make_shared<Factor>(lora_a));
  register_module("lora_B", std::make_shared<Factor>(lora_b));
}

Tensor LoraLinear::forward(const Arg& x) {
  Tensor y = (*base_)(x);
  if (merged_) return y;
  Tensor h = dropout_ > 0 ? dropout(x, dropout_, training()) : x.tensor;
  h = (*children()[2].second)({(*children()[1].second)({h, x.where}), x.where});
  return y + (scale_ == 1 ? h : h * scale_);
}

std::string LoraLinear::extra_repr() const {
  return "rank=" + std::to_string(lora_a.raw_shape()[0]) +
         ", merged=" + (merged_ ? "True" : "False");
}

Tensor LoraLinear::delta() const {
  NoGrad guard;
  return matmul(lora_b, lora_a) * scale_;
}

void LoraLinear::merge(Where where) {
  if (merged_) throw_error("merge", "the update is in the weight already", where);
  NoGrad guard;
  base_->get_parameter("weight", where).add_(delta());
  merged_ = true;
}
void LoraLinear::unmerge(Where where) {
  if (!merged_) throw_error("unmerge", "the update is not in the weight", where);
  NoGrad guard;
  base_->get_parameter("weight", where).sub_(delta());
  merged_ = false;
}

int64_t add_lora(Module& model, const LoraOptions& options, Where where) {
  std::vector<std::string> found;
  for (const auto& [path, m] : model.named_modules()) {
    if (path.empty() || m->kind() != std::string("Linear")) continue;
    if (path.ends_with(".lora_A") || path.ends_with(".lora_B") || path.ends_with(".base_layer"))
      continue;
    if (!matches(path, options.targets)) continue;
    check(m->find_tensor("weight"), options, where);
    found.push_back(path);
  }
  if (found.empty())
    throw_error("add_lora", "no Linear layer of the model is a target", where, Code::kNotFound);
  model.requires_grad_(false);
  for (const std::string& path : found) {
    model.replace_module(
        path,
        [&](const std::shared_ptr<Module>& old) -> std::shared_ptr<Module> {
          return std::make_shared<LoraLinear>(old, options, where);
        },
        where);
  }
  return static_cast<int64_t>(found.size());
}

int64_t merge_lora(Module& model, Where where) {
  int64_t count = 0;
  for (const auto& [path, m] : model.named_modules()) {
    auto* layer = dynamic_cast<LoraLinear*>(m);
    if (layer == nullptr || path.empty()) continue;
    if (!layer->merged()) layer->merge(where);
    std::shared_ptr<Module> base = layer->base();
    layer->unregister_module("base_layer", where);
    model.replace_module(path, base, where);
    ++count;
  }
  if (count == 0) throw_error("merge_lora", "the model has no LoraLinear", where, Code::kNotFound);
  return count;
}

NamedTensors lora_state_dict(Module& model) {
  NamedTensors all;
  for (auto& [name, t] : model.state_dict()) {
    if (name.find("lora_A.") != std::string::npos || name.find("lora_B.") != std::string::npos)
      all.emplace_back(name, t);
  }
  return all;
}

}  // namespace wick::nn
