#include "trainer/nn/module.h"

#include <unordered_map>

namespace wick::nn {

Tensor Module::forward(const Arg& x) {
  throw_error(name_.empty() ? "module" : name_, "has no forward(x)", x.where, Code::kUnsupported);
}

// f(prefix, module): this one, then the children, depth first.
template <class F>
void Module::visit(const std::string& prefix, const F& f) const {
  f(prefix, *this);
  for (const auto& [name, child] : children_) child->visit(prefix + name + ".", f);
}

NamedTensors Module::named_parameters() const {
  NamedTensors all;
  visit("", [&](const std::string& prefix, const Module& m) {
    for (const auto& [name, t] : m.parameters_) all.emplace_back(prefix + name, t);
  });
  return all;
}
NamedTensors Module::named_buffers() const {
  NamedTensors all;
  visit("", [&](const std::string& prefix, const Module& m) {
    for (const auto& [name, t] : m.buffers_) all.emplace_back(prefix + name, t);
  });
  return all;
}
NamedTensors Module::state_dict() const {
  NamedTensors all;
  visit("", [&](const std::string& prefix, const Module& m) {
    for (const auto& [name, t] : m.parameters_) all.emplace_back(prefix + name, t);
    for (const auto& [name, t] : m.buffers_) all.emplace_back(prefix + name, t);
  });
  return all;
}
std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> all;
  for (auto& [name, t] : named_parameters()) {
    // From here on messages call it by its whole name, "fc1.weight", unless it was given another.
    if (name.size() > t.name().size() && name.ends_with(t.name())) t.named(name);
    all.push_back(t);
  }
  return all;
}

void Module::load_state_dict(const NamedTensors& state, Where where) {
  std::unordered_map<std::string, Tensor> given(state.begin(), state.end());
  NamedTensors own = state_dict();
  std::string problems;
  for (const auto& [name, t] : own) {
    auto it = given.find(name);
    if (it == given.end()) {
      problems += "\n  missing: " + name;
    } else if (!(it->second.raw_shape() == t.raw_shape())) {
      problems += "\n  shape: " + name + " is " + to_text(it->second.raw_shape()).text +
                  ", the model has " + to_text(t.raw_shape()).text;
    }
  }
  std::unordered_map<std::string, Tensor> known(own.begin(), own.end());
  for (const auto& [name, t] : state) {
    if (known.count(name) == 0) problems += "\n  unexpected: " + name;
  }
  if (!problems.empty())
    throw_error("load_state_dict", "the state does not fit the model:" + problems, where);
  NoGrad guard;
  for (const auto& [name, t] : own) t.copy_(given[name], where);
}

void Module::train(bool on) {
  training_ = on;
  for (auto& [name, child] : children_) child->train(on);
}

void Module::zero_grad() {
  for (const Tensor& p : parameters()) p.set_grad(Tensor());
}

void Module::to(DType dtype) {
  NoGrad guard;
  for (auto& [name, t] : state_dict()) {
    if (is_float(t.dtype()) && t.dtype() != dtype) t.set_data(t.detach().to(dtype));
  }
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
  children_.clear();
}

void Module::check_name(const std::string& name) const {
  bool taken = name.empty() || name.find('.') != std::string::npos;
  for (const auto& [n, t] : parameters_) taken = taken || n == name;
  for (const auto& [n, t] : buffers_) taken = taken || n == name;
  for (const auto& [n, c] : children_) taken = taken || n == name;
  if (taken) throw Error("[module] '" + name + "' is empty, holds a dot, or is already taken");
}

void Module::register_module(const std::string& name, std::shared_ptr<Module> module) {
  check_name(name);
  if (!module->name_.empty())
    throw Error("[module] '" + name + "' already has a parent, as '" + module->name_ + "'");
  module->name_ = name;
  children_.emplace_back(name, std::move(module));
}

Tensor Module::register_parameter(const std::string& name, const Tensor& value) {
  if (!value.defined()) return value;
  check_name(name);
  value.requires_grad_();
  parameters_.emplace_back(name, value.named(name));
  return value;
}
Tensor Module::register_buffer(const std::string& name, const Tensor& value) {
  if (!value.defined()) return value;
  check_name(name);
  buffers_.emplace_back(name, value.named(name));
  return value;
}

}  // namespace wick::nn
