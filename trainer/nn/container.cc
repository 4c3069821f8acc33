#include "trainer/nn/container.h"

namespace wick::nn {
namespace {

int64_t place(const char* what, int64_t index, int64_t size) {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  throw Error(std::string("[") + what + "] index " + std::to_string(index) + " of " +
              std::to_string(size) + " entries");
}

[[noreturn]] void no_key(const char* what, const std::string& key,
                         const std::vector<std::string>& keys) {
  std::string all;
  for (const std::string& k : keys) all += (all.empty() ? "" : ", ") + k;
  throw Error(std::string("[") + what + "] has no '" + key + "': there are " +
              (all.empty() ? "none" : all));
}

}  // namespace

std::shared_ptr<Module> ModuleRange::ptr(int64_t index) const {
  return children()[static_cast<size_t>(place(kind(), index, size()))].second;
}
void ModuleRange::add(std::shared_ptr<Module> module) {
  register_module(std::to_string(size()), std::move(module));
}

Sequential::Sequential(
    std::initializer_list<std::pair<std::string, std::shared_ptr<Module>>> named) {
  for (const auto& [name, module] : named) push_back(name, module);
}
Sequential& Sequential::push_back(std::shared_ptr<Module> module) {
  add(std::move(module));
  return *this;
}
Sequential& Sequential::push_back(const std::string& name, std::shared_ptr<Module> module) {
  register_module(name, std::move(module));
  return *this;
}
Tensor Sequential::forward(const Arg& x) {
  Tensor h = x.tensor;
  for (const auto& [name, child] : children()) h = (*child)({h, x.where});
  return h;
}

ModuleList::ModuleList(const std::vector<std::shared_ptr<Module>>& modules) { extend(modules); }
ModuleList& ModuleList::append(std::shared_ptr<Module> module) {
  add(std::move(module));
  return *this;
}
ModuleList& ModuleList::extend(const std::vector<std::shared_ptr<Module>>& modules) {
  for (const auto& m : modules) add(m);
  return *this;
}

ModuleDict::ModuleDict(
    std::initializer_list<std::pair<std::string, std::shared_ptr<Module>>> modules) {
  for (const auto& [key, module] : modules) insert(key, module);
}
ModuleDict& ModuleDict::insert(const std::string& key, std::shared_ptr<Module> module) {
  register_module(key, std::move(module));
  return *this;
}
Module& ModuleDict::operator[](const std::string& key) const {
  for (const auto& [name, module] : children()) {
    if (name == key) return *module;
  }
  no_key("ModuleDict", key, keys());
}
bool ModuleDict::contains(const std::string& key) const {
  for (const auto& [name, module] : children()) {
    if (name == key) return true;
  }
  return false;
}
std::vector<std::string> ModuleDict::keys() const {
  std::vector<std::string> all;
  for (const auto& [name, module] : children()) all.push_back(name);
  return all;
}

ParameterList::ParameterList(const std::vector<Tensor>& parameters) {
  for (const Tensor& p : parameters) append(p);
}
ParameterList& ParameterList::append(const Tensor& parameter) {
  if (!parameter.defined()) throw Error("[ParameterList] a parameter must be defined");
  list_.push_back(register_parameter(std::to_string(size()), parameter));
  return *this;
}
const Tensor& ParameterList::operator[](int64_t index) const {
  return list_[static_cast<size_t>(place("ParameterList", index, size()))];
}

ParameterDict::ParameterDict(const NamedTensors& parameters) {
  for (const auto& [key, p] : parameters) insert(key, p);
}
ParameterDict& ParameterDict::insert(const std::string& key, const Tensor& parameter) {
  if (!parameter.defined()) throw Error("[ParameterDict] '" + key + "' must be defined");
  named_.emplace_back(key, register_parameter(key, parameter));
  return *this;
}
const Tensor& ParameterDict::operator[](const std::string& key) const {
  for (const auto& [name, p] : named_) {
    if (name == key) return p;
  }
  no_key("ParameterDict", key, keys());
}
bool ParameterDict::contains(const std::string& key) const {
  for (const auto& [name, p] : named_) {
    if (name == key) return true;
  }
  return false;
}
std::vector<std::string> ParameterDict::keys() const {
  std::vector<std::string> all;
  for (const auto& [name, p] : named_) all.push_back(name);
  return all;
}

}  // namespace wick::nn
