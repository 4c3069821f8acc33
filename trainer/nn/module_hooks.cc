#include "trainer/nn/module_hooks.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace wick::nn {

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

// The replaced places whose present modules are running on this thread, innermost first.
struct Running {
  explicit Running(const Slot* s) : slot(s), outer(std::exchange(t_running, this)) {}
  ~Running() { t_running = outer; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  static bool in(const Slot* s) {
    for (const Running* r = t_running; r != nullptr; r = r->outer) {
      if (r->slot == s) return true;
    }
    return false;
  }
  const Slot* slot;
  const Running* outer;
  static constinit thread_local const Running* t_running;
};
constinit thread_local const Running* Running::t_running = nullptr;

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
      transient_(std::move(o.transient_)),
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
  transient_ = std::move(o.transient_);
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
  // A call of a module that was replaced runs the module in its place, unless that one is the
  // caller.
  std::shared_ptr<Slot> slot = hooks_->slot.lock();
  std::optional<Running> running;
  if (slot && !Running::in(slot.get())) {
    std::shared_ptr<Module> now = slot->now.lock();
    if (now && now.get() != this) return (*now)(x);
    running.emplace(slot.get());
  }
  ModuleScope scope(name_);
  // copies, because a hook may remove itself
  struct {
    std::vector<Hooks::Entry<Hooks::Pre>> pre;
    std::vector<Hooks::Entry<Hooks::Both>> forward, backward;
  } now{hooks_->pre, hooks_->forward, hooks_->backward};
  Tensor in = x.tensor;
  for (auto& h : now.pre) {
    if (Tensor r = h.f(*this, in); r.defined()) in = r;
  }
  refresh();
  bool backward = !now.backward.empty() && grad_enabled();
  bool in_graph = backward && in.requires_grad();
  // A separate handle for this call, so that the hook sees only this module's part of the gradient.
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
