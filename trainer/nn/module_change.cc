// Changes of a module after its construction: replaced children, computed parameters.
#include <algorithm>

#include "trainer/autograd/forward.h"
#include "trainer/autograd/hooks.h"
#include "trainer/autograd/node.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/nn/module_hooks.h"
#include "trainer/tensor/view_info.h"

namespace wick::nn {

void take_value(const Tensor& to, Tensor value) {
  // Bytes and history of its own: not a leaf's, whose gradient would stay in `to`, and not those of
  // a view, which change with its base.
  TensorImpl* from = value.impl();
  if (!from->grad_fn || from->view_of || !value.is_contiguous()) {
    value = value.clone();
    from = value.impl();
  }
  TensorImpl* own = to.impl();
  if (own->retains_grad) stop_retaining(own);
  own->storage = from->storage;
  own->view = from->view;
  own->requires_grad = from->requires_grad;
  own->grad_fn = from->grad_fn;
  own->output_nr = from->output_nr;
  own->inference = from->inference;
  own->view_of = nullptr;
  own->grad = {};
  set_tangent(to, tangent_of(value));
  // For a tracer they are one value.
  if (Tracer* tracer = active_tracer()) {
    const Tensor* in[] = {&value};
    tracer->on_call({OpId::kIdentity, nullptr, in, {&to, 1}, Where::current()});
  }
}

void Module::refresh() {
  if (!hooks_ || hooks_->computed.empty()) return;
  const auto list = hooks_->computed;  // a copy, because f may end its own computation
  for (const Hooks::Computed& c : list) {
    Tensor value = c.f(*this);
    if (!value.defined() || value.dtype() != c.handle.dtype() ||
        !(value.raw_shape() == c.handle.raw_shape())) {
      std::string path = module_path();
      throw_error("module", "the computed parameter '" + (path.empty() ? "" : path + ".") + c.name +
                                "' is " + dtype_name(c.handle.dtype()) +
                                to_text(c.handle.raw_shape()).text + ", its function returned " +
                                (value.defined() ? std::string(dtype_name(value.dtype())) +
                                                       to_text(value.raw_shape()).text
                                                 : std::string("an undefined tensor")));
    }
    take_value(c.handle, value);
  }
}

Tensor Module::compute_parameter(const std::string& name, std::function<Tensor(Module&)> f,
                                 Where where) {
  if (is_computed(name))
    throw_error("compute_parameter", "'" + name + "' is computed already", where);
  auto it = std::find_if(parameters_.begin(), parameters_.end(),
                         [&](const auto& p) { return p.first == name; });
  if (it == parameters_.end()) {
    std::string names;
    for (const auto& [n, t] : parameters_) names += (names.empty() ? "" : ", ") + n;
    throw_error("compute_parameter",
                "no parameter '" + name + "'; there is " + (names.empty() ? "none" : names), where,
                Code::kNotFound);
  }
  Tensor handle = it->second;
  Tensor original = handle.detach();
  original.requires_grad_(handle.requires_grad());
  set_any_grad(original, any_grad(handle));
  parameters_.erase(it);
  handle.impl()->requires_grad = false;
  handle.set_grad(Tensor());
  hooks().computed.push_back({name, handle, std::move(f)});
  return original;
}

void Module::restore_parameter(const std::string& name, const Tensor& value, Where where) {
  if (!is_computed(name))
    throw_error("restore_parameter", "'" + name + "' is not computed", where, Code::kNotFound);
  auto& list = hooks_->computed;
  auto it = std::find_if(list.begin(), list.end(), [&](const auto& c) { return c.name == name; });
  Tensor handle = it->handle;
  if (value.dtype(where) != handle.dtype() || !(value.raw_shape() == handle.raw_shape())) {
    throw_error("restore_parameter",
                "'" + name + "' is " + dtype_name(handle.dtype()) +
                    to_text(handle.raw_shape()).text + ", the value " + dtype_name(value.dtype()) +
                    to_text(value.raw_shape()).text,
                where, Code::kShapeMismatch);
  }
  const bool trains = value.requires_grad();
  Tensor leaf = value.detach(where).contiguous(where);
  list.erase(it);
  NoGrad guard;
  if (handle.impl()->grad_fn) handle.detach_(where);
  handle.impl()->requires_grad = false;
  handle.set_data(leaf);
  check_name(name);
  handle.requires_grad_(trains);
  parameters_.emplace_back(name, handle.named(name));
}

bool Module::is_computed(const std::string& name) const {
  if (!hooks_) return false;
  for (const auto& c : hooks_->computed) {
    if (c.name == name) return true;
  }
  return false;
}

Tensor Module::find_tensor(const std::string& name) const {
  for (const NamedTensors* list : {&parameters_, &buffers_}) {
    for (const auto& [n, t] : *list) {
      if (n == name) return t;
    }
  }
  if (hooks_) {
    for (const auto& c : hooks_->computed) {
      if (c.name == name) return c.handle;
    }
  }
  return Tensor();
}

std::shared_ptr<Module> Module::unregister_module(const std::string& name, Where where) {
  auto it = std::find_if(children_.begin(), children_.end(),
                         [&](const auto& c) { return c.first == name; });
  if (it == children_.end())
    throw_error("unregister_module", "no child '" + name + "' here", where, Code::kNotFound);
  std::shared_ptr<Module> child = std::move(it->second);
  children_.erase(it);
  child->name_.clear();
  if (hooks_) {
    std::erase_if(hooks_->slots, [&](const auto& s) { return s.first == name; });
  }
  return child;
}

std::shared_ptr<Module> Module::replace_module(const std::string& path,
                                               std::shared_ptr<Module> module, Where where) {
  return replace_module(
      path, [&](const std::shared_ptr<Module>&) { return module; }, where);
}

std::shared_ptr<Module> Module::replace_module(
    const std::string& path,
    const std::function<std::shared_ptr<Module>(const std::shared_ptr<Module>&)>& wrap,
    Where where) {
  size_t dot = path.rfind('.');
  Module& parent = dot == std::string::npos ? *this : get_submodule(path.substr(0, dot), where);
  const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
  auto find = [&] {
    return std::find_if(parent.children_.begin(), parent.children_.end(),
                        [&](const auto& c) { return c.first == name; });
  };
  if (find() == parent.children_.end())
    throw_error("replace_module", "no module '" + path + "'", where, Code::kNotFound);
  const std::shared_ptr<Module> old = find()->second;
  old->name_.clear();  // so that it can be a child of the new one
  std::shared_ptr<Module> now;
  try {
    now = wrap(old);
    if (!now) throw_error("replace_module", "'" + path + "' by nothing", where);
    if (now != old && !now->name_.empty()) {
      throw_error("replace_module",
                  "the new '" + path + "' already has a parent, as '" + now->name_ + "'", where);
    }
  } catch (...) {
    old->name_ = name;
    throw;
  }
  now->name_ = name;
  if (now == old) return old;
  find()->second = now;
  now->train(old->training_);
  parent.stand_in(name, old, now);
  return old;
}

void Module::stand_in(const std::string& name, const std::shared_ptr<Module>& old,
                      const std::shared_ptr<Module>& now) {
  auto& slots = hooks().slots;
  auto it =
      std::find_if(slots.begin(), slots.end(), [&](const auto& s) { return s.first == name; });
  if (it == slots.end()) it = slots.insert(slots.end(), {name, std::make_shared<Slot>()});
  it->second->now = now;
  for (const auto& m : {old, now}) m->hooks().slot = it->second;
}

}  // namespace wick::nn
