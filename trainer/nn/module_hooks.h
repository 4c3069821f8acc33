// The state that few modules have, behind one pointer: hooks, computed parameters, replaced
// children, the names of many members. Shared by the files of nn::Module; not public.
#pragma once

#include <unordered_set>

#include "trainer/nn/module.h"

namespace wick::nn {

// The place of a child that was replaced. The parent owns it; every module that is or was in this
// place refers to it.
struct Slot {
  std::weak_ptr<Module> now;
};

struct Module::Hooks {
  template <class F>
  struct Entry {
    uint64_t id;
    F f;
  };
  struct Computed {
    std::string name;
    Tensor handle;  // the layer's member is another handle of it
    std::function<Tensor(Module&)> f;
  };
  struct BackwardCall;
  Module* owner = nullptr;  // null: the module was destroyed
  uint64_t next_id = 1;
  std::vector<Entry<hook_forms::PreHook>> pre;
  std::vector<Entry<hook_forms::CallHook>> forward, backward;
  std::vector<Computed> computed;
  std::weak_ptr<Slot> slot;                                          // the place of this module
  std::vector<std::pair<std::string, std::shared_ptr<Slot>>> slots;  // those of its children
  // The names of all members, if they are many and as many as these: check_name() keeps them.
  std::unordered_set<std::string> names;
};

// Gives every handle of `to` the value and the history of `value`. Tensors saved for a backward
// keep the old value.
void take_value(const Tensor& to, Tensor value);

}  // namespace wick::nn
