// Names of graph nodes in messages; not public.
#pragma once

#include <string>

#include "trainer/autograd/node.h"
#include "trainer/tensor/internal.h"

namespace wick {

// Returns the op's name for a recorded call ("mul"), and the function's name for a custom function.
inline std::string op_of(const Node& node) {
  const auto* call = dynamic_cast<const OpNode*>(&node);
  return call != nullptr ? display_name(call->op) : node.name();
}
inline std::string module_of(const Node& node) { return node.path ? node.path->text : ""; }

// Calls f("input" or "output", its index, the saved tensor) for all that a recorded call has saved.
template <class F>
void for_each_saved(const Node& node, const F& f) {
  const auto* call = dynamic_cast<const OpNode*>(&node);
  if (call == nullptr || call->released()) return;
  for (size_t i = 0; i < node.in().size(); ++i) {
    if (in_mask(call->row.saves_in, i) && node.in()[i].dtype != DType::kNone)
      f("input", i, call->saved_in(i));
  }
  for (size_t i = 0; i < node.out().size(); ++i) {
    if (in_mask(call->row.saves_out, i)) f("output", i, call->saved_out(i));
  }
}

}  // namespace wick
