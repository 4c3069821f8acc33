#include "trainer/autograd/hooks.h"

#include <algorithm>
#include <atomic>

#include "trainer/autograd/node.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/recorder.h"

namespace wick {
namespace {

constinit std::atomic<uint64_t> g_next_hook{1};

NodeHooks::Output& output_hooks(TensorImpl* t) {
  Node& node = *t->grad_fn;
  if (!node.hooks) node.hooks = std::make_unique<NodeHooks>();
  for (NodeHooks::Output& o : node.hooks->outputs) {
    if (o.nr == t->output_nr) return o;
  }
  node.hooks->outputs.push_back({t->output_nr, nullptr, nullptr});
  return node.hooks->outputs.back();
}

const std::shared_ptr<TensorHooks>& hooks_of(TensorImpl* t) {
  std::shared_ptr<TensorHooks>& slot = t->grad_fn ? output_hooks(t).hooks : t->hooks;
  if (!slot) slot = std::make_shared<TensorHooks>();
  return slot;
}

template <class List>
void erase(List* list, uint64_t id) {
  list->erase(std::remove_if(list->begin(), list->end(), [&](const auto& h) { return h.id == id; }),
              list->end());
}

}  // namespace

void start_retaining(TensorImpl* t) {
  output_hooks(t).retains = t;
  t->retains_grad = true;
}

void stop_retaining(TensorImpl* t) {
  t->retains_grad = false;
  if (!t->grad_fn || !t->grad_fn->hooks) return;
  for (NodeHooks::Output& o : t->grad_fn->hooks->outputs) {
    if (o.retains == t) o.retains = nullptr;
  }
}

Tensor run_hooks(const TensorHooks& hooks, Tensor g) {
  auto list = hooks.before;  // a hook may remove itself
  if (!list.empty()) {
    note_break("register_hook", "runs a hook of a tensor in backward, which is code of the program",
               "change the gradient behind backward(), or remove the hook", list.front().where);
  }
  for (const TensorHooks::Before& h : list) {
    Tensor r = h.f(g);
    if (!r.defined()) continue;
    if (!(r.raw_shape() == g.raw_shape()) || r.dtype() != g.dtype()) {
      throw_error("hook",
                  std::string("a tensor hook returned ") + to_text(r.raw_shape()).text + " " +
                      dtype_name(r.dtype()) + " for a gradient " + to_text(g.raw_shape()).text +
                      " " + dtype_name(g.dtype()),
                  h.where, Code::kShapeMismatch);
    }
    g = r;
  }
  return g;
}

void HookHandle::remove() {
  if (remove_) remove_();
  remove_ = nullptr;
}

HookHandle Tensor::add_hook(std::function<Tensor(const Tensor&)> f, Where where) const {
  if (!requires_grad()) {
    throw_error("register_hook", "cannot register a hook on a tensor that doesn't require gradient",
                where);
  }
  const std::shared_ptr<TensorHooks>& hooks = hooks_of(impl());
  note_step_change();
  uint64_t id = g_next_hook.fetch_add(1, std::memory_order_relaxed);
  hooks->before.push_back({id, std::move(f), where});
  return HookHandle([list = std::weak_ptr<TensorHooks>(hooks), id] {
    if (auto l = list.lock()) erase(&l->before, id);
  });
}

HookHandle Tensor::register_post_accumulate_grad_hook(std::function<void(const Tensor&)> f,
                                                      Where where) const {
  if (!requires_grad() || !is_leaf()) {
    throw_error("register_post_accumulate_grad_hook",
                "post accumulate grad hooks cannot be registered on non-leaf tensors", where);
  }
  const std::shared_ptr<TensorHooks>& hooks = hooks_of(impl());
  note_step_change();
  uint64_t id = g_next_hook.fetch_add(1, std::memory_order_relaxed);
  hooks->after.push_back({id, std::move(f)});
  return HookHandle([list = std::weak_ptr<TensorHooks>(hooks), id] {
    if (auto l = list.lock()) erase(&l->after, id);
  });
}

void Tensor::retain_grad(Where where) const {
  if (!requires_grad()) {
    throw_error("retain_grad", "can't retain_grad on Tensor that has requires_grad=False", where);
  }
  if (!is_leaf()) start_retaining(impl());
}

}  // namespace wick
