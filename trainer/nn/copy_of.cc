#include "trainer/nn/copy_of.h"

#include <algorithm>
#include <unordered_map>

#include "trainer/nn/module_hooks.h"
#include "trainer/nn/move_hooks.h"

namespace wick::nn {
namespace {

using NamedModules = std::vector<std::pair<std::string, const Module*>>;

// Returns the value under a name, or null. It is `near` in most lists: those of two modules that
// are made alike have one order.
template <class List>
auto find_named(const List& list, const std::string& name, size_t near) {
  if (near < list.size() && list[near].first == name) return &list[near].second;
  const auto at =
      std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.first == name; });
  return at == list.end() ? nullptr : &at->second;
}

std::string path_of(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}
std::string described(const std::string& path, const Module& m) {
  return (path.empty() ? std::string("the module itself") : "'" + path + "'") + " is a " + m.kind();
}

// Hooks that the constructor of `to` registered have the numbers that they have in `from`: they
// remain the copy's own, unless they were removed there.
template <class List>
void copy_hooks(const List& from, List* to, uint64_t first_later) {
  auto has = [&](uint64_t id) {
    return std::any_of(from.begin(), from.end(), [&](const auto& e) { return e.id == id; });
  };
  std::erase_if(*to, [&](const auto& e) { return !has(e.id); });
  for (const auto& e : from) {
    if (e.id >= first_later) to->push_back(e);
  }
}

}  // namespace

// Compares two trees of modules and their tensors, then copies the state of one into the other.
class ModuleCopy {
 public:
  ModuleCopy(const Module& from, Module& to, const Where& where) : where_(where) {
    from.list_modules("", from_);
    to.list_modules("", to_);
  }
  void run() {
    compare();
    if (!problems_.empty()) {
      throw_error("copy_of", "the module that the factory made is made otherwise:" + problems_,
                  where_);
    }
    NoGrad guard;
    for (size_t i = 0; i < from_.size(); ++i) {
      // It is the new module or one that it owns.
      copy_one(*from_[i].second, const_cast<Module&>(**find_named(to_, from_[i].first, i)));
    }
  }

  static bool has_hooks(const Module& m) {
    return m.hooks_ != nullptr &&
           !(m.hooks_->pre.empty() && m.hooks_->forward.empty() && m.hooks_->backward.empty());
  }
  // Handles of hooks know the lists that they are in: these move as a whole.
  static void move_hooks(Module& from, Module& to) {
    if (!has_hooks(from)) return;
    to.hooks_ = std::move(from.hooks_);
    to.hooks_->owner = &to;
  }

 private:
  void problem(const std::string& text) { problems_ += "\n  " + text; }

  void compare() {
    for (size_t i = 0; i < from_.size(); ++i) {
      const auto& [path, m] = from_[i];
      const Module* const* at = find_named(to_, path, i);
      const Module* other = at == nullptr ? nullptr : *at;
      if (other == nullptr) {
        problem(described(path, *m) + ", which is not there");
      } else if (m == other) {
        problem(described(path, *m) + ", the same one in both");
      } else if (typeid(*m) != typeid(*other)) {
        problem(described(path, *m) + ", there it is a " + other->kind());
      } else {
        compare_tensors(path, m->parameters_, other->parameters_);
        compare_tensors(path, m->buffers_, other->buffers_);
        compare_computed(path, *m, *other);
      }
    }
    for (size_t i = 0; i < to_.size(); ++i) {
      const auto& [path, m] = to_[i];
      if (find_named(from_, path, i) == nullptr) {
        problem(described(path, *m) + ", which the module does not have");
      }
    }
  }

  void compare_tensors(const std::string& path, const NamedTensors& own, const NamedTensors& made) {
    for (size_t i = 0; i < own.size(); ++i) {
      const auto& [name, t] = own[i];
      if (const Tensor* other = find_named(made, name, i)) {
        compare_tensor(path_of(path, name), t, *other);
      } else {
        problem(path_of(path, name) + " is not there");
      }
    }
    for (size_t i = 0; i < made.size(); ++i) {
      const std::string& name = made[i].first;
      if (find_named(own, name, i) == nullptr) {
        problem(path_of(path, name) + " is there, the module does not have it");
      }
    }
  }

  void compare_tensor(const std::string& name, const Tensor& own, const Tensor& made) {
    if (own.is_same(made)) return problem(name + " is the same tensor in both");
    if (!own.is_leaf()) {
      problem(name + " has a history: only leaves can be copied, detach() it");
    }
    if (!(own.raw_shape() == made.raw_shape())) {
      problem(name + " is " + to_text(own.raw_shape()).text + ", there it is " +
              to_text(made.raw_shape()).text);
    }
    const auto [there, first] = pairs_.emplace(own.id(), std::pair(made.id(), name));
    const auto [back, first_back] = backs_.emplace(made.id(), std::pair(own.id(), name));
    if (!first && there->second.first != made.id()) {
      problem(name + " is tied to " + there->second.second + ", there it is not");
    } else if (!first_back && back->second.first != own.id()) {
      problem(name + " is not tied to " + back->second.second + ", there it is");
    }
  }

  void compare_computed(const std::string& path, const Module& own, const Module& made) {
    auto names = [](const Module& m) {
      std::vector<std::string> all;
      if (m.hooks_) {
        for (const auto& c : m.hooks_->computed) all.push_back(c.name);
      }
      return all;
    };
    const std::vector<std::string> a = names(own), b = names(made);
    for (size_t i = 0; i < a.size() || i < b.size(); ++i) {
      if (i < a.size() && i < b.size() && a[i] == b[i]) continue;
      const bool missing = i < a.size();
      return problem(path_of(path, (missing ? a : b)[i]) +
                     (missing ? " is computed, there it is not" : " is not computed, there it is"));
    }
  }

  void copy_one(const Module& from, Module& to) {
    to.training_ = from.training_;
    for (size_t i = 0; i < from.parameters_.size(); ++i) {
      const auto& [name, t] = from.parameters_[i];
      copy_tensor(t, *find_named(to.parameters_, name, i), false);
    }
    for (size_t i = 0; i < from.buffers_.size(); ++i) {
      const auto& [name, t] = from.buffers_[i];
      copy_tensor(t, *find_named(to.buffers_, name, i), true);
    }
    to.transient_ = from.transient_;
    if (!from.hooks_) return;
    const Module::Hooks& own = *from.hooks_;
    Module::Hooks& made = to.hooks();
    for (size_t i = 0; i < own.computed.size(); ++i) {
      take_value(made.computed[i].handle, own.computed[i].handle.detach().clone());
    }
    copy_hooks(own.pre, &made.pre, made.next_id);
    copy_hooks(own.forward, &made.forward, made.next_id);
    copy_hooks(own.backward, &made.backward, made.next_id);
    made.next_id = std::max(made.next_id, own.next_id);
  }

  void copy_tensor(const Tensor& from, const Tensor& to, bool buffer) {
    if (!copied_.emplace(to.id(), true).second) return;  // tied, and copied under its first name
    const Tensor grad = buffer ? from.grad() : Tensor();
    to.set_data(from.detach().clone());
    if (to.requires_grad() != from.requires_grad()) to.requires_grad_(from.requires_grad());
    if (grad.defined()) to.set_grad(grad.detach().clone());
  }

  Where where_;
  NamedModules from_, to_;
  std::string problems_;
  std::unordered_map<uint64_t, std::pair<uint64_t, std::string>> pairs_, backs_;
  std::unordered_map<uint64_t, bool> copied_;
};

void copy_module(const Module& from, Module& to, Where where) { ModuleCopy(from, to, where).run(); }

bool has_hooks(const Module& module) { return ModuleCopy::has_hooks(module); }
void move_hooks(Module& from, Module& to) { ModuleCopy::move_hooks(from, to); }

void not_of_class(const Module& module, const Where& where) {
  throw_error("deepcopy",
              std::string("the module is a ") + module.kind() +
                  ", which is derived from the class that would be made: use copy_of(module, [&] "
                  "{ return ...; }), which makes one",
              where);
}

}  // namespace wick::nn
