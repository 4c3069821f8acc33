// Traverses the tree of modules: names, paths, text.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <ostream>
#include <typeindex>
#include <unordered_set>

#include "trainer/nn/module.h"

namespace wick::nn {
namespace {

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

// Returns only the class name of "wick::nn::Linear", "(anonymous namespace)::Net" or "Block<int>".
std::string class_name(const char* mangled) {
  int status = 0;
  std::unique_ptr<char, decltype(&free)> text(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &free);
  if (status != 0 || !text) return "Module";
  std::string name = text.get();
  name = name.substr(0, name.find('<'));
  size_t colon = name.rfind(':');
  if (colon != std::string::npos) name.erase(0, colon + 1);
  return name.empty() ? "Module" : name;
}

std::string last_part(std::string* path) {
  size_t dot = path->rfind('.');
  std::string last = dot == std::string::npos ? *path : path->substr(dot + 1);
  path->resize(dot == std::string::npos ? 0 : dot);
  return last;
}

template <class List>
std::string names_of(const List& list) {
  std::string names;
  for (const auto& [name, x] : list) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "nothing" : names;
}

Tensor tensor_at(const char* op, const char* what, Module& root, std::string path,
                 NamedTensors (Module::*list)(const std::string&, bool) const, const Where& where) {
  const std::string whole = path, name = last_part(&path);
  const NamedTensors own = (root.get_submodule(path, where).*list)("", false);
  for (const auto& [n, t] : own) {
    if (n == name) return t;
  }
  throw_error(op, std::string("no ") + what + " '" + whole + "'; there is " + names_of(own), where,
              Code::kNotFound);
}

}  // namespace

const char* Module::kind() const {
  // The names are never freed: callers keep the pointers.
  static std::mutex lock;
  static auto* names = new std::map<std::type_index, std::string>;
  std::lock_guard<std::mutex> guard(lock);
  std::string& name = (*names)[std::type_index(typeid(*this))];
  if (name.empty()) name = class_name(typeid(*this).name());
  return name.c_str();
}

std::string Module::extra_repr() const { return ""; }

std::string Module::repr() const {
  std::string out;
  repr_to(out, 0);
  return out;
}

// A module without children and with a single line of text is printed on one line.
void Module::repr_to(std::string& out, size_t indent) const {
  std::string inner(indent + 3, ' ');
  inner[0] = '\n';
  const std::string extra = extra_repr();
  for (const auto& [name, child] : children_) {
    if (name == "parametrizations") out += "Parametrized";  // as PyTorch's ParametrizedLinear
  }
  out += kind();
  out += "(";
  if (children_.empty() && extra.find('\n') == std::string::npos) {
    out += extra + ")";
    return;
  }
  for (size_t at = 0; at < extra.size();) {
    size_t end = std::min(extra.find('\n', at), extra.size());
    out += inner + extra.substr(at, end - at);
    at = end + 1;
  }
  for (const auto& [name, child] : children_) {
    out.append(inner).append("(").append(name).append("): ");
    child->repr_to(out, indent + 2);
  }
  out.append(inner, 0, indent + 1).append(")");
}

std::ostream& operator<<(std::ostream& out, const Module& module) { return out << module.repr(); }

void Module::list_modules(const std::string& prefix,
                          std::vector<std::pair<std::string, const Module*>>& all) const {
  all.emplace_back(prefix, this);
  for (const auto& [name, child] : children_) child->list_modules(joined(prefix, name), all);
}

std::vector<std::pair<std::string, Module*>> Module::named_modules(const std::string& prefix) {
  std::vector<std::pair<std::string, const Module*>> all;
  list_modules(prefix, all);
  std::vector<std::pair<std::string, Module*>> named;
  named.reserve(all.size());
  // Each is this module or a descendant, which this one owns.
  for (const auto& [name, m] : all) named.emplace_back(name, const_cast<Module*>(m));
  return named;
}

std::vector<Module*> Module::modules() {
  std::vector<Module*> all;
  for (const auto& [name, m] : named_modules()) all.push_back(m);
  return all;
}

NamedTensors Module::named_parameters(const std::string& prefix, bool recurse) const {
  std::vector<std::pair<std::string, const Module*>> all;
  recurse ? list_modules(prefix, all) : void(all.emplace_back(prefix, this));
  NamedTensors named;
  std::unordered_set<uint64_t> seen;
  for (const auto& [path, m] : all) {
    for (const auto& [name, t] : m->parameters_) {
      if (seen.insert(t.id()).second) named.emplace_back(joined(path, name), t);
    }
  }
  return named;
}

NamedTensors Module::named_buffers(const std::string& prefix, bool recurse) const {
  std::vector<std::pair<std::string, const Module*>> all;
  recurse ? list_modules(prefix, all) : void(all.emplace_back(prefix, this));
  NamedTensors named;
  std::unordered_set<uint64_t> seen;
  for (const auto& [path, m] : all) {
    for (const auto& [name, t] : m->buffers_) {
      if (seen.insert(t.id()).second) named.emplace_back(joined(path, name), t);
    }
  }
  return named;
}

NamedTensors Module::state_dict() const {
  std::vector<std::pair<std::string, const Module*>> modules;
  list_modules("", modules);
  NamedTensors all;
  for (const auto& [path, m] : modules) {
    for (const auto& [name, t] : m->parameters_) all.emplace_back(joined(path, name), t);
    for (const auto& [name, t] : m->buffers_) {
      const auto& skip = m->transient_;
      if (std::find(skip.begin(), skip.end(), name) == skip.end())
        all.emplace_back(joined(path, name), t);
    }
  }
  return all;
}

std::vector<Tensor> Module::parameters(bool recurse) const {
  std::vector<Tensor> all;
  for (auto& [name, t] : named_parameters("", recurse)) {
    // From now on messages use the full name, "fc1.weight", unless the user named it otherwise.
    if (name.size() > t.name().size() && name.ends_with(t.name())) t.named(name);
    all.push_back(t);
  }
  return all;
}

std::vector<Tensor> Module::buffers(bool recurse) const {
  std::vector<Tensor> all;
  for (auto& [name, t] : named_buffers("", recurse)) all.push_back(t);
  return all;
}

Module& Module::get_submodule(const std::string& path, Where where) {
  Module* at = this;
  for (size_t begin = 0; begin < path.size();) {
    size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    Module* next = nullptr;
    for (const auto& [n, child] : at->children_) {
      if (n == name) next = child.get();
    }
    if (next == nullptr || end + 1 == path.size()) {
      std::string text = "no module '" + path + "': ";
      if (begin > 0) text.append("'").append(path, 0, begin - 1).append("' ");
      throw_error("get_submodule", text + "has " + names_of(at->children_), where, Code::kNotFound);
    }
    at = next;
    begin = end + 1;
  }
  return *at;
}

Tensor Module::get_parameter(const std::string& path, Where where) {
  return tensor_at("get_parameter", "parameter", *this, path, &Module::named_parameters, where);
}
Tensor Module::get_buffer(const std::string& path, Where where) {
  return tensor_at("get_buffer", "buffer", *this, path, &Module::named_buffers, where);
}

void Module::apply(const std::function<void(Module&)>& f) {
  for (const auto& [name, child] : children_) child->apply(f);
  f(*this);
}

}  // namespace wick::nn
