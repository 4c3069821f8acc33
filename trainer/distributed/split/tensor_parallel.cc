#include "trainer/distributed/split/tensor_parallel.h"

#include <map>

#include "trainer/distributed/parallel/same_net.h"
#include "trainer/distributed/split/split_layers.h"
#include "trainer/nn/layer_norm.h"

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
  void apply(const std::string& path, const SplitRule& rule, const Where& where);
};

void TensorParallel::Impl::apply(const std::string& path, const SplitRule& rule,
                                 const Where& where) {
  const SplitPlace place{split, path, rule.sequence || rule.how == Split::kNorm};
  nn::Module& module = net.get_submodule(path, where);
  auto replace = [&](std::shared_ptr<nn::Module> by) {
    if (path.empty()) throw_error(kOp, "the net is the layer itself: wrap it", where);
    net.replace_module(path, std::move(by), where);
  };
  if (rule.how != Split::kSequenceBegin && rule.how != Split::kSequenceEnd)
    refuse_shared(net, path, where);
  switch (rule.how) {
    case Split::kColumn:
    case Split::kColumnWhole: {
      const auto& layer = as<nn::Linear>(module, path, "Linear", where);
      check_divides(place, "outputs", layer.weight.raw_shape()[0], where);
      const bool all = rule.how == Split::kColumnWhole;
      return replace(std::make_shared<ColumnLinear>(layer, place, all, &whole));
    }
    case Split::kRow:
    case Split::kRowWhole: {
      const auto& layer = as<nn::Linear>(module, path, "Linear", where);
      check_divides(place, "inputs", layer.weight.raw_shape()[1], where);
      const bool all = rule.how == Split::kRowWhole;
      return replace(std::make_shared<RowLinear>(layer, place, all, &whole));
    }
    case Split::kEmbedding: {
      const auto& layer = as<nn::Embedding>(module, path, "Embedding", where);
      const nn::EmbeddingOptions& o = layer.options();
      if (o.padding_idx || o.max_norm || o.scale_grad_by_freq || o.sparse) {
        throw_error(kOp,
                    "'" + path +
                        "': a table with padding_idx, max_norm, scale_grad_by_freq or sparse is "
                        "not split",
                    where, Code::kUnsupported);
      }
      check_divides(place, "rows", layer.weight.raw_shape()[0], where);
      return replace(std::make_shared<SplitEmbedding>(layer, place, &whole));
    }
    case Split::kHeads: {
      auto* layer = dynamic_cast<nn::MultiheadAttention*>(&module);
      as<nn::MultiheadAttention>(module, path, "MultiheadAttention", where);
      return split_heads(*layer, place, &whole, where);
    }
    case Split::kNorm:
      if (dynamic_cast<const nn::RMSNorm*>(&module) == nullptr)
        as<nn::LayerNorm>(module, path, "LayerNorm or RMSNorm", where);
      return replace(std::make_shared<SequenceNorm>(module, place));
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
  for (const SplitRule& rule : plan) {
    std::vector<std::string> paths;
    for (const auto& [path, module] : net.named_modules()) {
      if (matches(rule.module.c_str(), path.c_str())) paths.push_back(path);
    }
    if (paths.empty() && !options.partial) {
      throw_error(
          kOp, "no module is '" + rule.module + "', which the plan wants as " + to_text(rule.how),
          where, Code::kNotFound);
    }
    for (const std::string& path : paths) impl_->apply(path, rule, where);
  }
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

}  // namespace wick::distributed
