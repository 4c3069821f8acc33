// The state dict of a GroupOptimizer, whatever its options are: compiled once, and the only place
// of the optimizers that knows JSON.
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

// Points into an optimizer, or into copies that replace its members once a state is read whole.
struct GroupStateView {
  const char* optimizer;
  Span<const char* const> buffers;  // names of the state tensors
  Span<const char* const> numbers;  // names of those of ParamState::numbers that are state
  std::vector<GroupView> groups;
  std::vector<ParamState>* params;  // of all groups, in order

  OptimizerState save() const;
  // `state` into what the view points at. `check(group)` refuses options; `uses(group, slot)`:
  // those that were read need the buffer. Throws Error with half of it written: give copies.
  void load(const OptimizerState& state, const std::function<void(size_t)>& check,
            const std::function<bool(size_t, size_t)>& uses, const Where& where) const;

 private:
  void load_settings(const std::string& settings, const std::function<void(size_t)>& check,
                     const Where& where) const;
};

}  // namespace wick::optim
