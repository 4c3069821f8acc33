#include "trainer/nn/module.h"

#include <unordered_map>

#include "trainer/autograd/sparse_slot.h"
#include "trainer/nn/module_hooks.h"

namespace wick::nn {

Tensor Module::forward(const Arg& x) {
  throw_error(
      kind(),
      "has no forward(x): call it with the arguments that it takes, the entries of a list one "
      "by one",
      x.where, Code::kUnsupported);
}

Mismatch Module::load_state_dict(const NamedTensors& state, Where where) {
  return load_state_dict(state, true, where);
}
Mismatch Module::load_state_dict(const NamedTensors& state, bool strict, Where where) {
  std::unordered_map<std::string, Tensor> given(state.begin(), state.end());
  NamedTensors own = state_dict();
  Mismatch mismatch;
  std::string problems;
  for (const auto& [name, t] : own) {
    auto it = given.find(name);
    if (it == given.end()) {
      mismatch.missing.push_back(name);
      if (strict) problems += "\n  missing: " + name;
    } else if (!it->second.defined()) {
      problems += "\n  undefined: " + name;
    } else if (!(it->second.raw_shape() == t.raw_shape())) {
      problems += "\n  shape: " + name + " is " + to_text(it->second.raw_shape()).text +
                  ", the model has " + to_text(t.raw_shape()).text;
    }
  }
  std::unordered_map<std::string, Tensor> known(own.begin(), own.end());
  for (const auto& [name, t] : state) {
    if (known.count(name) != 0) continue;
    mismatch.unexpected.push_back(name);
    if (strict) problems += "\n  unexpected: " + name;
  }
  if (!problems.empty())
    throw_error("load_state_dict", "the state does not fit the model:" + problems, where);
  NoGrad guard;
  for (const auto& [name, t] : own) {
    if (auto it = given.find(name); it != given.end()) t.copy_(it->second, where);
  }
  return mismatch;
}

void Module::train(bool on) {
  training_ = on;
  for (auto& [name, child] : children_) child->train(on);
}

void Module::zero_grad(bool set_to_none) {
  NoGrad guard;
  for (const Tensor& p : parameters()) {
    const bool sparse = has_sparse_grad(p);
    Tensor g = sparse ? Tensor() : p.grad();
    if (sparse && !set_to_none) {
      set_no_rows(p);
    } else if (set_to_none || !g.defined()) {
      p.set_grad(Tensor());
    } else {
      p.set_grad(g.detach().zero_());  // as in PyTorch, on the same bytes
    }
  }
}

void Module::to(DType dtype) {
  NoGrad guard;
  auto cast = [&](const Tensor& t) {
    if (!is_float(t.dtype()) || t.dtype() == dtype) return;
    const AnyGrad grad = any_grad(t);
    t.set_data(t.detach().to(dtype));
    set_any_grad(t, grad.to(dtype));
  };
  for (auto& [name, t] : named_parameters()) cast(t);
  for (auto& [name, t] : named_buffers()) cast(t);
  apply([&](Module& m) {
    if (!m.hooks_) return;
    for (const auto& c : m.hooks_->computed) {
      if (is_float(c.handle.dtype())) take_value(c.handle, c.handle.detach().to(dtype));
    }
  });
}

void Module::to(const Device& device, Where where) {
  NoGrad guard;
  auto move = [&](const Tensor& t) {
    const Tensor there = t.detach().to(device, true, where);
    if (there.device() == t.device()) return;
    AnyGrad grad = any_grad(t);
    t.set_data(there);
    // Rows stay on the CPU, where they are stepped.
    if (grad.dense.defined()) grad.dense = grad.dense.detach().to(device, true, where);
    set_any_grad(t, grad);
  };
  for (auto& [name, t] : named_parameters()) move(t);
  for (auto& [name, t] : named_buffers()) move(t);
  apply([&](Module& m) {
    if (!m.hooks_) return;
    for (const auto& c : m.hooks_->computed)
      take_value(c.handle, c.handle.detach().to(device, true, where));
  });
}

void Module::requires_grad_(bool on) {
  for (const Tensor& p : parameters()) p.requires_grad_(on);
}

size_t Module::requires_grad_(const std::string& prefix, bool on, Where where) {
  size_t count = 0;
  for (const auto& [name, t] : named_parameters()) {
    if (!name.starts_with(prefix)) continue;
    t.requires_grad_(on);
    ++count;
  }
  if (count == 0)
    throw_error("requires_grad_", "no parameter's name begins with '" + prefix + "'", where);
  return count;
}

void Module::forget_registered() {
  parameters_.clear();
  buffers_.clear();
  transient_.clear();
  children_.clear();
}

void Module::check_name(const std::string& name) const {
  constexpr size_t kMany = 32;  // from here on a set of names, so that n members take n steps
  bool taken = name.empty() || name.find('.') != std::string::npos;
  const size_t count = parameters_.size() + buffers_.size() + children_.size();
  if (count < kMany) {
    for (const auto& [n, t] : parameters_) taken = taken || n == name;
    for (const auto& [n, t] : buffers_) taken = taken || n == name;
    for (const auto& [n, c] : children_) taken = taken || n == name;
  } else if (!taken) {
    auto& names = const_cast<Module*>(this)->hooks().names;
    if (names.size() != count) {  // a member went, or the one that was asked for did not come
      names.clear();
      for (const auto& [n, t] : parameters_) names.insert(n);
      for (const auto& [n, t] : buffers_) names.insert(n);
      for (const auto& [n, c] : children_) names.insert(n);
    }
    taken = !names.insert(name).second;
  }
  if (taken) throw Error("[module] '" + name + "' is empty, holds a dot, or is already taken");
}

void Module::register_module(const std::string& name, std::shared_ptr<Module> module) {
  check_name(name);
  if (!module->name_.empty())
    throw Error("[module] '" + name + "' already has a parent, as '" + module->name_ + "'");
  module->name_ = name;
  if (module->hooks_) module->hooks_->slot.reset();
  children_.emplace_back(name, std::move(module));
}

Tensor Module::register_parameter(const std::string& name, const Tensor& value) {
  if (!value.defined()) return value;
  check_name(name);
  value.requires_grad_();
  parameters_.emplace_back(name, value.named(name));
  return value;
}
Tensor Module::register_buffer(const std::string& name, const Tensor& value, bool persistent) {
  if (!value.defined()) return value;
  check_name(name);
  buffers_.emplace_back(name, value.named(name));
  if (!persistent) transient_.push_back(name);
  return value;
}

Tensor Module::unregister(const std::string& name, Where where) {
  for (NamedTensors* list : {&parameters_, &buffers_}) {
    for (auto it = list->begin(); it != list->end(); ++it) {
      if (it->first != name) continue;
      Tensor t = it->second;
      list->erase(it);
      std::erase(transient_, name);
      return t;
    }
  }
  throw_error("unregister", "no parameter or buffer '" + name + "' here", where, Code::kNotFound);
}

}  // namespace wick::nn
