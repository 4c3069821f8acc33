#include "trainer/nn/functional_call.h"

#include <algorithm>
#include <unordered_map>

#include "trainer/autograd/forward.h"
#include "trainer/autograd/hooks.h"
#include "trainer/autograd/node.h"
#include "trainer/nn/module_hooks.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/view_info.h"

namespace wick::nn {

// The state of a module's tensor: all handles of it, also the layer's member, see what it gets.
struct TensorSwap::Kept {
  Tensor handle, given;  // given: undefined for a computed parameter, which is only put back
  Tensor former;         // the old value, for a tracer
  std::string name;
  IntrusivePtr<Storage> storage;
  TensorView view;
  bool requires_grad = false, retains_grad = false, inference = false;
  uint32_t output_nr = 0;
  IntrusivePtr<Node> grad_fn, installed;  // installed: that of the given tensor
  IntrusivePtr<TensorImpl> grad;
  std::shared_ptr<TensorHooks> hooks;
  std::unique_ptr<ViewInfo> view_of;
};

namespace {

// The tensors of a module by name, shared ones under all their names.
std::unordered_map<std::string, Tensor> tensors_by_name(const Module& module) {
  std::unordered_map<std::string, Tensor> all;
  for (const auto& [name, t] : module.state_dict()) all.emplace(name, t);
  for (const auto& [name, t] : module.named_buffers()) all.emplace(name, t);  // also transient ones
  return all;
}

// For a tracer, `to` is the value of `from`.
void trace_identity(Tracer* tracer, const Tensor& from, const Tensor& to, const Where& where) {
  const Tensor* in[] = {&from};
  tracer->on_call({OpId::kIdentity, nullptr, in, {&to, 1}, where});
}

}  // namespace

TensorSwap::TensorSwap(Module& module, const NamedTensors& tensors, const Where& where)
    : where_(where) {
  const std::unordered_map<std::string, Tensor> own = tensors_by_name(module);
  struct Place {
    Tensor handle, given;
    std::string name;
  };
  std::vector<Place> places;
  std::unordered_map<uint64_t, size_t> seen;
  std::string problems;
  for (const auto& [name, given] : tensors) {
    const auto at = own.find(name);
    if (at == own.end()) {
      problems += "\n  unknown: " + name;
    } else if (!given.defined()) {
      problems += "\n  undefined: " + name;
    } else if (!(given.raw_shape() == at->second.raw_shape())) {
      problems += "\n  shape: " + name + " is " + to_text(given.raw_shape()).text +
                  ", the module has " + to_text(at->second.raw_shape()).text;
    } else if (const auto [before, first] = seen.emplace(at->second.id(), places.size()); !first) {
      const Place& other = places[before->second];
      if (!other.given.is_same(given)) {
        problems += "\n  two values: " + other.name +
                    (other.name == name ? "" : " and " + name + ", one tensor of the module");
      }
    } else {
      places.push_back({at->second, given, name});
    }
  }
  if (!problems.empty()) {
    throw_error("functional_call",
                "the tensors do not fit the module (its names are those of named_parameters() and "
                "named_buffers()):" +
                    problems,
                where);
  }
  // One of the module's own may be given for another: all values are taken before any changes.
  std::erase_if(places, [](const Place& p) { return p.given.is_same(p.handle); });
  std::vector<Tensor> values, traced;
  Tracer* tracer = active_tracer();
  for (const Place& p : places) {
    values.push_back(identity_of(p.given, where));
    if (tracer != nullptr) traced.push_back(p.given.detach(where));
  }
  try {
    for (size_t i = 0; i < places.size(); ++i) {
      const Tensor former = tracer != nullptr ? places[i].handle.detach(where) : Tensor();
      keep(places[i].handle);
      kept_[i].given = places[i].given;
      kept_[i].name = places[i].name;
      kept_[i].former = former;
      install(i, values[i]);
      if (tracer != nullptr) trace_identity(tracer, traced[i], places[i].handle, where);
    }
    module.apply([&](Module& m) {
      if (!m.hooks_) return;
      for (const auto& c : m.hooks_->computed) keep(c.handle);
    });
  } catch (...) {
    restore();
    throw;
  }
}

TensorSwap::~TensorSwap() { restore(); }

void TensorSwap::keep(const Tensor& handle) {
  TensorImpl* own = handle.impl();
  Kept k;
  k.handle = handle;
  k.retains_grad = own->retains_grad;
  if (k.retains_grad) stop_retaining(own);
  k.storage = own->storage;
  k.view = own->view;
  k.requires_grad = own->requires_grad;
  k.inference = own->inference;
  k.output_nr = own->output_nr;
  k.grad_fn = own->grad_fn;
  k.grad = std::move(own->grad);
  k.hooks = std::move(own->hooks);
  k.view_of = std::move(own->view_of);
  kept_.push_back(std::move(k));
}

void TensorSwap::install(size_t i, const Tensor& from) {
  TensorImpl* own = kept_[i].handle.impl();
  const TensorImpl* value = from.impl();
  own->storage = value->storage;
  own->view = value->view;
  own->requires_grad = value->requires_grad;
  own->inference = value->inference;
  own->output_nr = value->output_nr;
  own->grad_fn = value->grad_fn;
  kept_[i].installed = value->grad_fn;
  if (modes().forward != 0) set_tangent(kept_[i].handle, tangent_of(from));
}

void TensorSwap::finish() {
  Tracer* tracer = active_tracer();
  for (const Kept& k : kept_) {
    if (!k.given.defined()) continue;
    const TensorImpl* own = k.handle.impl();
    const bool written = !(own->grad_fn == k.installed);
    if (written && own->storage == k.given.impl()->storage) {
      if (k.given.requires_grad() && k.given.is_leaf()) {
        throw_error("functional_call",
                    "'" + k.name +
                        "' is a leaf that requires grad, and the module modified it in place: "
                        "give a clone() of it",
                    where_);
      }
      const Tensor now = with_history(k.handle, own->grad_fn, own->output_nr);
      rebase_history(k.given.impl(), now, "functional_call", where_);
    }
    if (tracer != nullptr && k.former.defined()) {
      trace_identity(tracer, k.former, k.handle, where_);
    }
  }
}

Tensor TensorSwap::given_for(const Tensor& t) const {
  for (const Kept& k : kept_) {
    if (k.given.defined() && t.is_same(k.handle)) return k.given;
  }
  return t;
}

void TensorSwap::restore() {
  while (!kept_.empty()) {
    Kept k = std::move(kept_.back());
    kept_.pop_back();
    TensorImpl* own = k.handle.impl();
    if (own->retains_grad) stop_retaining(own);
    own->storage = std::move(k.storage);
    own->view = k.view;
    own->requires_grad = k.requires_grad;
    own->inference = k.inference;
    own->output_nr = k.output_nr;
    own->grad_fn = std::move(k.grad_fn);
    own->grad = std::move(k.grad);
    own->hooks = std::move(k.hooks);
    own->view_of = std::move(k.view_of);
    if (k.retains_grad) start_retaining(own);
  }
}

}  // namespace wick::nn
