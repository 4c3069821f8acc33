#include "trainer/distributed/split/tensor_parallel.h"

#include <map>
#include <set>
#include <typeinfo>

#include "trainer/distributed/parallel/clip_norm.h"
#include "trainer/distributed/parallel/same_net.h"
#include "trainer/distributed/split/split_layers.h"
#include "trainer/nn/layer_norm.h"
#include "trainer/nn/move_hooks.h"

namespace wick::distributed {
namespace {

constexpr const char* kOp = "tensor_parallel";

bool matches(const char* pattern, const char* path) {
  if (*pattern == 0) return *path == 0;
  if (*pattern != '*') return *pattern == *path && matches(pattern + 1, path + 1);
  while (true) {
    if (matches(pattern + 1, path)) return true;
    if (*path == 0 || *path == '.') return false;
    ++path;
  }
}

// A tensor that two modules share would be cut in one of them only.
void refuse_shared(nn::Module& net, const std::string& path, const Where& where) {
  std::map<uint64_t, std::string> owner;
  for (const auto& [at, module] : net.named_modules()) {
    for (const auto& [name, p] : module->named_parameters("", false)) {
      const auto [it, first] = owner.emplace(p.id(), at);
      if (first || (it->second != path && at != path)) continue;
      throw_error(kOp, "'" + it->second + "' and '" + at + "' share the parameter '" + name + "'",
                  where, Code::kUnsupported);
    }
  }
}

template <class M>
const M& as(const nn::Module& module, const std::string& path, const char* kind,
            const Where& where) {
  const M* m = dynamic_cast<const M*>(&module);
  if (m != nullptr) return *m;
  throw_error(kOp, "'" + path + "' is a " + module.kind() + ", the plan wants a " + kind, where);
}

// A layer that is replaced must be no more than the one that takes its place knows.
template <class... Kinds>
void refuse_derived(const nn::Module& module, const std::string& path, const char* kind,
                    const Where& where) {
  if (((typeid(module) == typeid(Kinds)) || ...)) return;
  throw_error(kOp,
              "'" + path + "' is a " + module.kind() + ", which is derived from " + kind +
                  ": the split layer would not do what it adds. Leave it out of the plan",
              where, Code::kUnsupported);
}

// The parameters of which a parametrization makes another one would be lost.
void refuse_computed(const nn::Module& module, const std::string& path, const Where& where) {
  for (const char* name : {"weight", "bias", "in_proj_weight", "in_proj_bias"}) {
    if (!module.is_computed(name)) continue;
    throw_error(kOp,
                "'" + path + "': its " + name +
                    " is computed from other parameters (weight_norm, spectral_norm or another "
                    "parametrization): call remove_parametrizations() first, or leave the layer "
                    "out of the plan",
                where, Code::kUnsupported);
  }
}

bool cuts_sequence(Split how) { return how == Split::kSequenceBegin || how == Split::kSequenceEnd; }

// Cuts or gathers the sequence at a module, by a hook.
void hook_sequence(nn::Module& module, const SplitPlace& place, bool begin) {
  using Tensors = std::vector<Tensor>;
  if (begin) {
    module.register_forward_pre_hook([place](nn::Module&, const Tensors& in) {
      Tensors out = in;
      out[0] = enter_sequence(in[0], place, Where::current());
      return out;
    });
  } else {
    module.register_forward_hook([place](nn::Module&, const Tensors&, const Tensors& out) {
      Tensors gathered = out;
      gathered[0] = leave_sequence(out[0], place, Where::current());
      return gathered;
    });
  }
}

}  // namespace

const char* to_text(Split split) {
  switch (split) {
    case Split::kColumn: return "column";
    case Split::kColumnWhole: return "column, whole output";
    case Split::kRow: return "row";
    case Split::kRowWhole: return "row, whole input";
    case Split::kEmbedding: return "embedding";
    case Split::kHeads: return "heads";
    case Split::kNorm: return "norm";
    case Split::kSequenceBegin: return "sequence begin";
    case Split::kSequenceEnd: return "sequence end";
  }
  return "";
}

SplitPlan gpt_plan(bool sequence, const std::string& prefix) {
  SplitPlan plan = {{"token_embedding", Split::kEmbedding},
                    {"blocks.*.attn", Split::kHeads, sequence},
                    {"blocks.*.mlp.fc1", Split::kColumn, sequence},
                    {"blocks.*.mlp.fc2", Split::kRow, sequence},
                    {"lm_head", Split::kColumnWhole}};
  if (sequence) {
    for (const char* norm : {"blocks.*.ln1", "blocks.*.ln2", "ln_f"})
      plan.push_back({norm, Split::kNorm, true});
    plan.push_back({"blocks.0", Split::kSequenceBegin});
    plan.push_back({"ln_f", Split::kSequenceEnd});
  }
  for (SplitRule& rule : plan) rule.module = prefix + rule.module;
  return plan;
}

struct TensorParallel::Impl {
  nn::Module& net;
  std::shared_ptr<const SplitGroup> split;
  WholeTensors whole;
  // Throws Error where the rule does not fit the module, with nothing changed.
  void check(const std::string& path, const SplitRule& rule, const Where& where) const;
  void apply(const std::string& path, const SplitRule& rule, const Where& where);
};

void TensorParallel::Impl::check(const std::string& path, const SplitRule& rule,
                                 const Where& where) const {
  if (cuts_sequence(rule.how)) return;
  const SplitPlace place{split, path};
  const nn::Module& module = net.get_submodule(path, where);
  refuse_shared(net, path, where);
  refuse_computed(module, path, where);
  if (path.empty() && rule.how != Split::kHeads)
    throw_error(kOp, "the net is the layer itself: wrap it", where);
  switch (rule.how) {
    case Split::kColumn:
    case Split::kColumnWhole: {
      const auto& layer = as<nn::Linear>(module, path, "Linear", where);
      refuse_derived<nn::Linear, nn::NonDynamicallyQuantizableLinear>(module, path, "Linear",
                                                                      where);
      return check_divides(place, "outputs", layer.weight.raw_shape()[0], where);
    }
    case Split::kRow:
    case Split::kRowWhole: {
      const auto& layer = as<nn::Linear>(module, path, "Linear", where);
      refuse_derived<nn::Linear, nn::NonDynamicallyQuantizableLinear>(module, path, "Linear",
                                                                      where);
      return check_divides(place, "inputs", layer.weight.raw_shape()[1], where);
    }
    case Split::kEmbedding: {
      const auto& layer = as<nn::Embedding>(module, path, "Embedding", where);
      refuse_derived<nn::Embedding>(module, path, "Embedding", where);
      const nn::EmbeddingOptions& o = layer.options();
      if (o.padding_idx || o.max_norm || o.scale_grad_by_freq || o.sparse) {
        throw_error(kOp,
                    "'" + path +
                        "': a table with padding_idx, max_norm, scale_grad_by_freq or sparse is "
                        "not split",
                    where, Code::kUnsupported);
      }
      return check_divides(place, "rows", layer.weight.raw_shape()[0], where);
    }
    case Split::kHeads: {
      const auto& layer = as<nn::MultiheadAttention>(module, path, "MultiheadAttention", where);
      const std::string out = path.empty() ? "out_proj" : path + ".out_proj";
      refuse_computed(*layer.out_proj, out, where);
      if (nn::has_hooks(*layer.out_proj)) {
        throw_error(kOp,
                    "'" + out +
                        "' has hooks, which split heads would not run, as none of its calls has "
                        "the whole input: register them with '" +
                        path + "'",
                    where, Code::kUnsupported);
      }
      return check_heads(layer, place, where);
    }
    case Split::kNorm:
      if (dynamic_cast<const nn::RMSNorm*>(&module) == nullptr)
        as<nn::LayerNorm>(module, path, "LayerNorm or RMSNorm", where);
      return refuse_derived<nn::LayerNorm, nn::RMSNorm>(module, path, "LayerNorm or RMSNorm",
                                                        where);
    case Split::kSequenceBegin:
    case Split::kSequenceEnd: return;
  }
}

void TensorParallel::Impl::apply(const std::string& path, const SplitRule& rule,
                                 const Where& where) {
  const SplitPlace place{split, path, rule.sequence || rule.how == Split::kNorm};
  nn::Module& module = net.get_submodule(path, where);
  auto replace = [&](const std::shared_ptr<nn::Module>& by) {
    nn::move_hooks(module, *by);
    net.replace_module(path, by, where);
  };
  switch (rule.how) {
    case Split::kColumn:
    case Split::kColumnWhole:
      return replace(std::make_shared<ColumnLinear>(as<nn::Linear>(module, path, "Linear", where),
                                                    place, rule.how == Split::kColumnWhole,
                                                    &whole));
    case Split::kRow:
    case Split::kRowWhole:
      return replace(std::make_shared<RowLinear>(as<nn::Linear>(module, path, "Linear", where),
                                                 place, rule.how == Split::kRowWhole, &whole));
    case Split::kEmbedding:
      return replace(std::make_shared<SplitEmbedding>(
          as<nn::Embedding>(module, path, "Embedding", where), place, &whole));
    case Split::kHeads:
      return split_heads(dynamic_cast<nn::MultiheadAttention&>(module), place, &whole, where);
    case Split::kNorm: return replace(std::make_shared<SequenceNorm>(module, place));
    case Split::kSequenceBegin:
    case Split::kSequenceEnd:
      return hook_sequence(module, place, rule.how == Split::kSequenceBegin);
  }
}

TensorParallel::TensorParallel(nn::Module& net, const Group& group, const SplitPlan& plan,
                               const TensorParallelOptions& options, Where where) {
  const int shards = options.shards > 0 ? options.shards : group.size();
  if (shards < group.size()) {
    throw_error(kOp,
                "shards = " + std::to_string(shards) + " for " + std::to_string(group.size()) +
                    " ranks: every rank needs one",
                where);
  }
  Group all = group;
  make_same(all, net, shards, where);
  Group own = all.split(0, group.rank(), kOp, where);
  impl_ = std::make_unique<Impl>(Impl{net, std::make_shared<const SplitGroup>(own, shards), {}});
  std::vector<std::pair<std::string, const SplitRule*>> cuts;
  std::set<std::string> cut;  // a layer is cut once; sequences begin and end at layers as well
  for (const SplitRule& rule : plan) {
    bool any = false;
    for (const auto& [path, module] : net.named_modules()) {
      if (!matches(rule.module.c_str(), path.c_str())) continue;
      any = true;
      if (!cuts_sequence(rule.how) && !cut.insert(path).second) {
        throw_error(kOp,
                    "two rules of the plan cut '" + path + "', the second as " +
                        std::string(to_text(rule.how)),
                    where);
      }
      impl_->check(path, rule, where);
      cuts.emplace_back(path, &rule);
    }
    if (!any && !options.partial) {
      throw_error(
          kOp, "no module is '" + rule.module + "', which the plan wants as " + to_text(rule.how),
          where, Code::kNotFound);
    }
  }
  // All of it fits: now the net is changed.
  for (const auto& [path, rule] : cuts) impl_->apply(path, *rule, where);
}

TensorParallel::~TensorParallel() = default;
int TensorParallel::shards() const { return impl_->split->shards; }

nn::NamedTensors TensorParallel::state_dict(Where where) const {
  nn::NamedTensors state;
  for (const auto& [name, t] : impl_->net.state_dict()) {
    const auto it = impl_->whole.find(name);
    state.emplace_back(name, it == impl_->whole.end() ? t : it->second(where));
  }
  return state;
}

double TensorParallel::clip_grad_norm(double max_norm, double norm_type, Where where) {
  std::vector<Tensor> terms, all;
  for (const auto& [name, p] : impl_->net.named_parameters()) {
    const Tensor g = p.grad();
    if (!g.defined()) continue;
    all.push_back(g.detach());
    // What is not split is the same on all ranks: it counts once.
    if (impl_->whole.count(name) != 0 || impl_->split->group.rank() == 0)
      terms.push_back(all.back());
  }
  if (all.empty()) throw_error(kOp, "clip_grad_norm: no parameter has a gradient", where);
  return clip_gradients(terms, all, &impl_->split->group.communicator(), max_norm, norm_type,
                        where);
}

}  // namespace wick::distributed
