// Containers of modules and parameters, by index or by name. A module has one parent: it cannot be
// in two containers at once.
#pragma once

#include <type_traits>

#include "trainer/nn/module.h"

namespace wick::nn {

// Children by index; iterate with for (Module& m : list).
class ModuleRange : public Module {
 public:
  // A forward iterator over the modules; Base is that of the children.
  class Iterator {
   public:
    using Base = std::vector<std::pair<std::string, std::shared_ptr<Module>>>::const_iterator;
    explicit Iterator(Base at) : at_(at) {}
    Module& operator*() const { return *at_->second; }
    Module* operator->() const { return at_->second.get(); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    Base at_;
  };
  Iterator begin() const { return Iterator(children().begin()); }
  Iterator end() const { return Iterator(children().end()); }
  int64_t size() const { return static_cast<int64_t>(children().size()); }
  bool empty() const { return children().empty(); }
  // Negative indices count from the end; an index out of range is an Error.
  Module& operator[](int64_t index) const { return *ptr(index); }
  // The same as a shared pointer.
  std::shared_ptr<Module> ptr(int64_t index) const;
  // Returns the module as an M; throws Error if it is of another class.
  template <class M>
  M& at(int64_t index) const {
    auto* m = dynamic_cast<M*>(ptr(index).get());
    if (m == nullptr)
      throw Error("[" + std::string(kind()) + "] entry " + std::to_string(index) +
                  " is of another class");
    return *m;
  }

 protected:
  // Returns the module as a shared pointer, moved there.
  template <class M>
  static std::shared_ptr<Module> owned(M&& module) {
    return std::make_shared<std::decay_t<M>>(std::forward<M>(module));
  }
  void add(std::shared_ptr<Module> module);  // named with the next number
};

// Runs its modules one after the other. Children are named "0", "1", ...: Sequential(Linear(784,
// 512), ReLU(), Linear(512, 10)); or by given names: Sequential({{"fc", std::make_shared<Linear>(4,
// 2)}}).
class Sequential : public ModuleRange {
 public:
  template <class... Ms>
    requires(std::is_base_of_v<Module, std::decay_t<Ms>> && ...)
  explicit Sequential(Ms&&... modules) {
    (push_back(owned(std::forward<Ms>(modules))), ...);
  }
  Sequential(std::initializer_list<std::pair<std::string, std::shared_ptr<Module>>> named);
  // Adds a module at the end, named with the next number or as given; returns *this. A name that is
  // taken throws Error.
  Sequential& push_back(std::shared_ptr<Module> module);
  Sequential& push_back(const std::string& name, std::shared_ptr<Module> module);
  // Adds a module at the end, named with the next number; returns *this.
  template <class M>
    requires(std::is_base_of_v<Module, std::decay_t<M>>)
  Sequential& append(M&& module) {
    return push_back(owned(std::forward<M>(module)));
  }
  // Adds a module at the end, named with the next number; returns *this.
  Sequential& append(std::shared_ptr<Module> module) { return push_back(std::move(module)); }
  Tensor forward(const Arg& x) override;
};

// A list whose modules are registered, without a forward.
class ModuleList : public ModuleRange {
 public:
  template <class... Ms>
    requires(std::is_base_of_v<Module, std::decay_t<Ms>> && ...)
  explicit ModuleList(Ms&&... modules) {
    (add(owned(std::forward<Ms>(modules))), ...);
  }
  explicit ModuleList(const std::vector<std::shared_ptr<Module>>& modules);
  // Adds a module at the end, named with the next number; returns *this.
  template <class M>
    requires(std::is_base_of_v<Module, std::decay_t<M>>)
  ModuleList& append(M&& module) {
    return append(owned(std::forward<M>(module)));
  }
  // Adds a module at the end, named with the next number; returns *this.
  ModuleList& append(std::shared_ptr<Module> module);
  // Adds all of these at the end; returns *this.
  ModuleList& extend(const std::vector<std::shared_ptr<Module>>& modules);
};

// Children by name, in insertion order.
class ModuleDict : public Module {
 public:
  ModuleDict() = default;
  ModuleDict(std::initializer_list<std::pair<std::string, std::shared_ptr<Module>>> modules);
  // Registers a module under a name; returns *this. A name that is empty, has a dot or is taken
  // throws Error.
  ModuleDict& insert(const std::string& key, std::shared_ptr<Module> module);
  Module& operator[](const std::string& key) const;  // throws Error for an unknown name
  // Return whether there is such a name, and all names in order of insertion.
  bool contains(const std::string& key) const;
  std::vector<std::string> keys() const;
  int64_t size() const { return static_cast<int64_t>(children().size()); }
};

// Registers tensors as parameters "0", "1", ...
class ParameterList : public Module {
 public:
  ParameterList() = default;
  explicit ParameterList(const std::vector<Tensor>& parameters);
  // Registers a tensor as the next parameter; returns *this.
  ParameterList& append(const Tensor& parameter);
  const Tensor& operator[](int64_t index) const;
  int64_t size() const { return static_cast<int64_t>(list_.size()); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  std::vector<Tensor> list_;
};

// Registers tensors as parameters by name, in order of insertion.
class ParameterDict : public Module {
 public:
  ParameterDict() = default;
  explicit ParameterDict(const NamedTensors& parameters);
  // Registers a tensor under a name; returns *this. A name that is empty, has a dot or is taken
  // throws Error.
  ParameterDict& insert(const std::string& key, const Tensor& parameter);
  const Tensor& operator[](const std::string& key) const;  // throws Error for an unknown name
  // Return whether there is such a name, and all names in order of insertion.
  bool contains(const std::string& key) const;
  std::vector<std::string> keys() const;
  int64_t size() const { return static_cast<int64_t>(named_.size()); }

 private:
  NamedTensors named_;
};

}  // namespace wick::nn
