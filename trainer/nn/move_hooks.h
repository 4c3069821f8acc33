// The hooks of a layer that another one replaces. Internal: for code that replaces layers of a net
// by its own, as the splits of trainer/distributed do.
#pragma once

#include "trainer/nn/module.h"

namespace wick::nn {

// Returns whether the module has a forward pre-hook, a forward hook or a full backward hook.
bool has_hooks(const Module& module);
// Gives `to` the hooks of `from`, which then has none: they are called with `to`, and their handles
// still remove them. `to` is new: it has no hooks, and is in no net yet.
void move_hooks(Module& from, Module& to);

}  // namespace wick::nn
