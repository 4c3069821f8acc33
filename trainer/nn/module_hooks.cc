#include <algorithm>

#include "trainer/nn/module.h"

namespace wick::nn {

struct Module::Hooks {
  template <class F>
  struct Entry {
    uint64_t id;
    F f;
  };
  using Pre = std::function<Tensor(Module&, const Tensor&)>;
  using Both = std::function<Tensor(Module&, const Tensor&, const Tensor&)>;
  Module* owner = nullptr;  // null: it was destroyed
  uint64_t next_id = 1;
  std::vector<Entry<Pre>> pre;
  std::vector<Entry<Both>> forward, backward;
};

namespace {

template <class Hooks, class List, class F>
HookHandle add(const std::shared_ptr<Hooks>& hooks, List Hooks::*list, F f) {
  uint64_t id = hooks->next_id++;
  ((*hooks).*list).push_back({id, std::move(f)});
  return HookHandle([weak = std::weak_ptr<Hooks>(hooks), list, id] {
    auto h = weak.lock();
    if (!h) return;
    List& l = (*h).*list;
    l.erase(std::remove_if(l.begin(), l.end(), [&](const auto& e) { return e.id == id; }), l.end());
  });
}

}  // namespace

Module::Hooks& Module::hooks() {
  if (!hooks_) {
    hooks_ = std::make_shared<Hooks>();
    hooks_->owner = this;
  }
  return *hooks_;
}

Module::Module(Module&& o) noexcept
    : name_(std::move(o.name_)),
      training_(o.training_),
      hooks_(std::move(o.hooks_)),
      parameters_(std::move(o.parameters_)),
      buffers_(std::move(o.buffers_)),
      children_(std::move(o.children_)) {
  if (hooks_) hooks_->owner = this;
}
Module& Module::operator=(Module&& o) noexcept {
  if (this == &o) return *this;
  if (hooks_) hooks_->owner = nullptr;
  name_ = std::move(o.name_);
  training_ = o.training_;
  hooks_ = std::move(o.hooks_);
  parameters_ = std::move(o.parameters_);
  buffers_ = std::move(o.buffers_);
  children_ = std::move(o.children_);
  if (hooks_) hooks_->owner = this;
  return *this;
}
Module::~Module() {
  if (hooks_) hooks_->owner = nullptr;
}

HookHandle Module::add_pre_hook(Hooks::Pre f) {
  hooks();
  return add(hooks_, &Hooks::pre, std::move(f));
}
HookHandle Module::add_forward_hook(Hooks::Both f) {
  hooks();
  return add(hooks_, &Hooks::forward, std::move(f));
}
HookHandle Module::add_backward_hook(Hooks::Both f) {
  hooks();
  return add(hooks_, &Hooks::backward, std::move(f));
}

Tensor Module::call_with_hooks(const Arg& x) {
  Hooks now = *hooks_;  // a hook may remove itself
  Tensor in = x.tensor;
  for (auto& h : now.pre) {
    if (Tensor r = h.f(*this, in); r.defined()) in = r;
  }
  bool backward = !now.backward.empty() && grad_enabled();
  bool in_graph = backward && in.requires_grad();
  // A handle of this call's own, so that the hook sees this module's share of the gradient alone.
  if (in_graph) in = in.reshape(in.raw_shape(), x.where);
  Tensor out = forward({in, x.where});
  for (auto& h : now.forward) {
    if (Tensor r = h.f(*this, in, out); r.defined()) out = r;
  }
  if (!backward || !out.requires_grad()) return out;
  // The graph may outlive this module, and the module may be moved before backward.
  auto run = [hooks = hooks_, list = now.backward, path = module_path(), where = x.where](
                 Tensor grad_in, const Tensor& grad_out) {
    for (const auto& h : list) {
      if (hooks->owner == nullptr) {
        throw_error("backward",
                    (path.empty() ? "a module" : "the module '" + path + "'") +
                        " with a full backward hook was destroyed before backward ran: keep it "
                        "alive until then",
                    where);
      }
      if (Tensor r = h.f(*hooks->owner, grad_in, grad_out); r.defined()) grad_in = r;
    }
    return grad_in;
  };
  if (!in_graph) {
    out.register_hook([run](const Tensor& g) { run(Tensor(), g); });
    return out;
  }
  auto grad_out = std::make_shared<Tensor>();
  out.register_hook([grad_out](const Tensor& g) { *grad_out = g; });
  in.register_hook([run, grad_out](const Tensor& g) {
    Tensor r = run(g, *grad_out);
    *grad_out = Tensor();
    return r;
  });
  return out;
}

}  // namespace wick::nn
