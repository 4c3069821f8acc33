#include "trainer/nn/module_hooks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "trainer/autograd/node.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/view_info.h"

namespace wick::nn {

namespace {

template <class Hooks, class List, class F>
HookHandle add(const std::shared_ptr<Hooks>& hooks, List Hooks::*list, F f) {
  note_step_change();
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

using Gradients = std::vector<Tensor>;
using GradientsFn = std::function<Gradients(Gradients)>;

// Passes the gradients of a call's inputs, or outputs, on together: as f returns them, which is
// given all of them, in order.
class CallNode final : public Node {
 public:
  CallNode(GradientsFn f, std::vector<size_t> places, size_t count)
      : f_(std::move(f)), places_(std::move(places)), count_(count) {}
  ~CallNode() override = default;
  std::string name() const override { return "BackwardHookFunctionBackward"; }
  void apply(Span<const Tensor> grads, Span<Tensor> results) override {
    Gradients all(count_);
    for (size_t k = 0; k < places_.size(); ++k) all[places_[k]] = grads[k];
    all = f_(std::move(all));
    for (size_t k = 0; k < places_.size(); ++k) results[k] = all[places_[k]];
  }

 private:
  GradientsFn f_;
  std::vector<size_t> places_;  // of the tensors that require grad
  size_t count_;
};

// Gives the tensors that require grad new handles, whose common history is one CallNode. They are
// views, so that a write into one of them is recorded for the tensor itself.
void pass_through(std::vector<Tensor>* list, const Where& where, GradientsFn f) {
  std::vector<size_t> places;
  std::vector<Tensor> handles;
  std::vector<const Tensor*> in;
  for (size_t i = 0; i < list->size(); ++i) {
    const Tensor& t = (*list)[i];
    if (!t.requires_grad()) continue;
    places.push_back(i);
    in.push_back(&t);
    handles.push_back(view_of_all(t, where));
  }
  if (places.empty()) return;
  auto node = make_node<CallNode>(in, handles, 0, where, 0, std::move(f), places, list->size());
  for (size_t k = 0; k < places.size(); ++k) attach(handles[k], node, k);
  for (size_t k = 0; k < places.size(); ++k) (*list)[places[k]] = handles[k];
}

bool any_requires_grad(const std::vector<Tensor>& list) {
  return std::any_of(list.begin(), list.end(), [](const Tensor& t) { return t.requires_grad(); });
}

std::string this_module() {
  const std::string path = module_path();
  return path.empty() ? "a module" : "the module '" + path + "'";
}

// Replaces the tensors of a call by those that a hook returned.
void replace_tensors(const char* hook, const char* what, std::vector<Tensor>* list,
                     std::vector<Tensor> by, const Where& where) {
  if (by.empty()) return;
  if (by.size() != list->size()) {
    throw_error("module",
                std::string("a ") + hook + " of " + this_module() + " returned " +
                    std::to_string(by.size()) + " tensors, the call has " +
                    std::to_string(list->size()) + " " + what,
                where);
  }
  *list = std::move(by);
}

std::string gradient_text(const Tensor& t) {
  return std::string(dtype_name(t.dtype())) + to_text(t.raw_shape()).text;
}

}  // namespace

// One call of a module with full backward hooks. The graph may outlive the module, and the module
// may be moved before backward.
struct Module::Hooks::BackwardCall {
  std::shared_ptr<Hooks> hooks;
  std::vector<Entry<hook_forms::CallHook>> list;
  std::string module;
  Where where;
  size_t inputs = 0;
  bool inputs_in_graph = false;
  Gradients grad_outputs;  // empty: none arrived since the hooks ran

  Gradients run(Gradients grad_inputs) {
    const Gradients outputs = std::exchange(grad_outputs, {});
    for (const auto& h : list) {
      if (hooks->owner == nullptr) {
        throw_error("backward",
                    module +
                        " with a full backward hook was destroyed before backward ran: keep it "
                        "alive until then",
                    where);
      }
      Gradients by = h.f(*hooks->owner, grad_inputs, outputs);
      if (by.empty()) continue;
      check(by, grad_inputs);
      grad_inputs = std::move(by);
    }
    return grad_inputs;
  }
  void check(const Gradients& by, const Gradients& now) const {
    const std::string hook = "a full backward hook of " + module;
    if (by.size() != now.size()) {
      throw_error("backward",
                  hook + " returned " + std::to_string(by.size()) + " gradients for " +
                      std::to_string(now.size()) + " inputs",
                  where);
    }
    for (size_t i = 0; i < by.size(); ++i) {
      if (!by[i].defined()) continue;
      if (!inputs_in_graph) {
        throw_error("backward", hook + " must return nothing, because no input requires a gradient",
                    where);
      }
      if (!now[i].defined() ||
          (by[i].dtype() == now[i].dtype() && by[i].raw_shape() == now[i].raw_shape()))
        continue;
      throw_error("backward",
                  hook + " returned " + gradient_text(by[i]) + " for the gradient of input " +
                      std::to_string(i) + ", which is " + gradient_text(now[i]),
                  where, Code::kShapeMismatch);
    }
  }
};

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
  note_owner_gone(&training_);
}

HookHandle Module::add_pre_hook(hook_forms::PreHook f) {
  hooks();
  return add(hooks_, &Hooks::pre, std::move(f));
}
HookHandle Module::add_forward_hook(hook_forms::CallHook f) {
  hooks();
  return add(hooks_, &Hooks::forward, std::move(f));
}
HookHandle Module::add_backward_hook(hook_forms::CallHook f) {
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
  if (hooks_->pre.empty() && hooks_->forward.empty() && hooks_->backward.empty()) {
    ModuleScope scope(name_);
    refresh();
    return forward(x);
  }
  return run_hooked({x.tensor}, x.where, [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{forward({in[0], x.where})};
  })[0];
}

std::vector<Tensor> Module::run_hooked(
    std::vector<Tensor> in, const Where& where,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body) {
  ModuleScope scope(name_);
  // copies, because a hook may remove itself
  struct {
    std::vector<Hooks::Entry<hook_forms::PreHook>> pre;
    std::vector<Hooks::Entry<hook_forms::CallHook>> forward, backward;
  } now{hooks_->pre, hooks_->forward, hooks_->backward};
  if (!now.pre.empty() || !now.forward.empty() || !now.backward.empty()) {
    note_break("module hook", "runs a hook of a module, which is code of the program",
               "remove the hook, or do its work in forward()", where);
  }
  for (auto& h : now.pre) replace_tensors("forward pre-hook", "inputs", &in, h.f(*this, in), where);
  refresh();
  std::shared_ptr<Hooks::BackwardCall> call;
  if (!now.backward.empty() && grad_enabled()) {
    call = std::make_shared<Hooks::BackwardCall>();
    call->hooks = hooks_;
    call->list = now.backward;
    call->module = this_module();
    call->where = where;
    call->inputs = in.size();
    call->inputs_in_graph = any_requires_grad(in);
    pass_through(&in, where, [call](Gradients g) {
      // Without gradients of the outputs these came another way, as in a double backward.
      return call->grad_outputs.empty() ? g : call->run(std::move(g));
    });
  }
  std::vector<Tensor> out = body(in);
  for (auto& h : now.forward)
    replace_tensors("forward hook", "outputs", &out, h.f(*this, in, out), where);
  if (call) {
    pass_through(&out, where, [call](Gradients g) {
      call->grad_outputs = g;
      if (!call->inputs_in_graph) call->run(Gradients(call->inputs));
      return g;
    });
  }
  return out;
}

}  // namespace wick::nn
