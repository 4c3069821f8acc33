// The state dict of a GroupOptimizer for any options: compiled once, and the only code of the
// optimizers that uses JSON.
#pragma once

#include <functional>
#include <variant>

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

struct OptionField {
  const char* name;
  std::variant<double*, bool*, int64_t*> value;
};
struct GroupView {
  const std::vector<Tensor>* params;
  double* initial_lr;
  std::vector<OptionField> options;
};

// Refers to an optimizer, or to copies that replace its members when a state was read completely.
struct GroupStateView {
  const char* optimizer;
  Span<const char* const> buffers;  // names of the state tensors
  Span<const char* const> numbers;  // names of those of ParamState::numbers that are state
  std::vector<GroupView> groups;
  std::vector<ParamState>* params;  // those of all groups, in order

  OptimizerState save() const;
  // Reads `state` into the view's targets. `check(group)` may refuse options; `uses(group, slot)`
  // returns whether the options that were read need the buffer. An Error leaves the targets half
  // written, so they should be copies.
  void load(const OptimizerState& state, const std::function<void(size_t)>& check,
            const std::function<bool(size_t, size_t)>& uses, const Where& where) const;

 private:
  void load_settings(const std::string& settings, const std::function<void(size_t)>& check,
                     const Where& where) const;
};

}  // namespace wick::optim
