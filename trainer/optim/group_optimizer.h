// The common part of all optimizers: groups with options, state tensors of each parameter, the flat
// step, the state dict. O, the options, is an aggregate with a double `lr`; its fields(f) calls
// f(name, member) for each member (double, bool or int64_t), which makes them part of the state
// dict. Optional: check(op, where), which throws if a value is wrong. K, the rule of an optimizer,
// has
//   static constexpr const char* kName = "sgd";
//   static constexpr const char* kBuffers[] = {"momentum_buffer"};   state tensors, at most 3, of
//                                          the parameter's shape and type, made at its first step
// and has either
//   static void apply(const O&, const Tensor& p, const Tensor& g, ParamState&);   the update, of
//                                          ops in place: p.sub_(g, o.lr); never p.grad()
// or is elementwise, with a loop over slices (optim_loops.h has those of Wick):
//   using Coefficients = ...;
//   static Coefficients prepare(const O&, ParamState&, bool fresh);   the numbers of this step;
//                                          fresh: buffer 0 is made in this step
//   static constexpr auto kLoop;           void(const Coefficients&, const LoopArrays&, begin, end)
// Optional:
//   static void apply_rows(const O&, const Tensor& p, const SparseGrad& g, ParamState&);
//                                          the update by a sparse gradient, coalesced, of a
//                                          contiguous p; without it such a gradient is an error
//   static void check_rows(const O&, const Tensor& p);   throws for options that do not go with one
//   static constexpr bool kRowsOnly = true;   takes no other gradient: needs neither form above
//   static bool uses(const O&, size_t buffer);           whether these options need the buffer
//   static double initial(const O&, size_t buffer);      the value of a new buffer, else zero
//   static void check_param(const Tensor& p, const Where&);     throws where p cannot be stepped
//   static constexpr const char* kNumbers[] = {"etas"};  names of ParamState::numbers, at most 2
// trainer/optim/own_optimizer.h turns your own rule into an optimizer.
#pragma once

#include <algorithm>
#include <optional>

#include "trainer/autograd/sparse_grad.h"
#include "trainer/kernels/optim_loops.h"
#include "trainer/optim/flat_pass.h"
#include "trainer/optim/optimizer.h"

namespace wick::optim {

// Parameters with options of their own: PyTorch's parameter groups.
template <class O>
struct Group {
  std::vector<Tensor> params;  // leaves of float32 or float64
  O options;                   // what state_dict() saves and schedules change
  double initial_lr = -1;      // where schedules start; negative: none so far
};

// An optimizer keeps this for one parameter between steps.
struct ParamState {
  int64_t step = 0;            // steps made, including the current one
  Tensor buffers[3];           // named by K::kBuffers; undefined: not used so far
  double numbers[2] = {1, 1};  // named by K::kNumbers
};

// Checks for every optimizer: parameters are leaves of float32 or float64, and occur only once.
void check_params(const char* op, const std::vector<Tensor>& params, std::vector<uint64_t>& seen,
                  const Where& where);
// A parameter may have got other bytes since (module.to()): throws unless its dtype and shape can
// be updated, and are those of the gradient and the state.
void check_step(const char* op, const Tensor& p, const Tensor& g, const ParamState& state);

struct GroupStateView;

// The base of optimizers whose rule K updates one parameter at a time, with options O.
template <class O, class K>
class GroupOptimizer : public Optimizer {
 public:
  explicit GroupOptimizer(std::vector<Tensor> params, const O& options = O(),
                          Where where = Where::current())
      : GroupOptimizer({Group<O>{std::move(params), options}}, where) {
    defaults_ = options;
  }
  explicit GroupOptimizer(std::vector<Group<O>> groups, Where where = Where::current()) {
    for (Group<O>& group : groups) append(std::move(group), where);
    if (state_.empty()) throw_error(K::kName, "no parameters", where);
  }

  // Adds parameters, with their own options or those the optimizer was constructed with. Their
  // state begins at their first step; schedules made before only change the groups that they know.
  void add_param_group(std::vector<Tensor> params, Where where = Where::current()) {
    add_param_group({std::move(params), defaults_}, where);
  }
  void add_param_group(Group<O> group, Where where = Where::current()) {
    if (group.params.empty()) throw_error(K::kName, "a group without parameters", where);
    append(std::move(group), where);
  }

  int groups() const override { return static_cast<int>(groups_.size()); }
  const char* name() const override { return K::kName; }
  // Returns the options of a group, which the next step uses. An index out of range throws
  // std::out_of_range.
  O& options(int group = 0) { return groups_.at(static_cast<size_t>(group)).options; }

  // Both are defined in own_optimizer.h.
  OptimizerState state_dict() const override;
  void load_state_dict(const OptimizerState& state, Where where = Where::current()) override;

 protected:
  const std::vector<Tensor>& group_params(int group) const override {
    return groups_[static_cast<size_t>(group)].params;
  }
  GroupFields fields(int group) const override {
    auto& g = const_cast<Group<O>&>(groups_[static_cast<size_t>(group)]);
    GroupFields f = {&g.options.lr, &g.initial_lr, nullptr, false};
    if constexpr (requires { g.options.momentum; }) f.momentum = &g.options.momentum;
    if constexpr (requires { g.options.beta1; }) {
      f.momentum = &g.options.beta1;
      f.momentum_is_beta1 = true;
    }
    return f;
  }
  void update() override;  // own_optimizer.h

 private:
  static_assert(
      requires(O o) { o.lr = 0.1; }, "the options of an optimizer need a double lr");
  static constexpr size_t kSlots = std::size(K::kBuffers);
  static_assert(kSlots <= 3, "ParamState and LoopArrays hold three state tensors");

  static GroupStateView view_state(std::vector<Group<O>>& groups, std::vector<ParamState>& params);
  static bool uses(const O& options, size_t buffer) {
    if constexpr (requires { K::uses(options, buffer); }) return K::uses(options, buffer);
    return true;
  }
  static void check(const O& options, const Where& where) {
    if constexpr (requires { options.check(K::kName, where); }) options.check(K::kName, where);
  }

  void append(Group<O> group, const Where& where) {
    check(group.options, where);
    check_params(K::kName, group.params, seen_, where);
    if constexpr (requires { K::check_param(group.params[0], where); }) {
      for (const Tensor& p : group.params) K::check_param(p, where);
    }
    state_.resize(state_.size() + group.params.size());
    groups_.push_back(std::move(group));
  }

  O defaults_;
  std::vector<Group<O>> groups_;
  std::vector<ParamState> state_;
  std::vector<uint64_t> seen_;  // ids of the parameters, in ascending order
};

}  // namespace wick::optim
