// The step and the state dict of a GroupOptimizer with any rule, included where one is
// instantiated; wick/trainer.h includes it. To write your own optimizer, write a rule, its options
// and
//   class Own : public wick::optim::GroupOptimizer<OwnOptions, OwnRule> {
//    public:
//     using GroupOptimizer::GroupOptimizer;
//   };
// Groups, schedules, closures, accumulation, clipping, GradScaler, loop::Trainer, state dicts and
// checkpoints then work as with Wick's optimizers. group_optimizer.h describes a rule;
// examples/own_optimizer and docs/recipes/add-an-optimizer.md have a whole one.
#pragma once

#include "trainer/optim/device_step.h"
#include "trainer/optim/group_state.h"
#include "trainer/optim/row_steps.h"

namespace wick::optim {

template <class O, class K>
void GroupOptimizer<O, K>::update() {
  struct Work {
    const O* options;
    Tensor p, dense, g;  // dense: p, or a contiguous copy of it
    void* data;          // data of dense
    ParamState* state;
  };
  // All errors are thrown here, before anything has changed.
  std::vector<Work> work, there;  // there: those on a Vulkan device
  struct RowWork {
    const O* options;
    Tensor p, dense;
    SparseGrad g;
    ParamState* state;
  };
  std::vector<RowWork> tables;  // parameters with a sparse gradient
  constexpr bool kTakesRows = requires { &K::apply_rows; };
  constexpr bool kOnDevice = requires(typename K::Coefficients c, const Tensor& t, Tensor* s) {
    step_on_device(c, t, t, s);
  };
  size_t index = 0;
  for (const Group<O>& group : groups_) {
    for (const Tensor& p : group.params) {
      ParamState* state = &state_[index++];
      if (has_sparse_grad(p)) {
        if constexpr (!kTakesRows) {
          no_sparse_step(K::kName, p);
        } else {
          if constexpr (requires { K::check_rows(group.options, p); }) {
            K::check_rows(group.options, p);
          }
          SparseGrad g = rows_to_step(K::kName, p);
          check_step(K::kName, p, p.detach(), *state);
          const Tensor dense = p.is_contiguous() ? p : p.detach().contiguous();
          tables.push_back({&group.options, p, dense, std::move(g), state});
          continue;
        }
      }
      const Tensor g = p.grad();
      if (!g.defined()) continue;
      if constexpr (requires { K::kRowsOnly; }) no_dense_step(K::kName, p);
      check_step(K::kName, p, g, *state);
      if (p.is_vulkan()) {
        if constexpr (!kOnDevice) no_device_step(K::kName, p);
        there.push_back({&group.options, p, p, g, nullptr, state});
        continue;
      }
      const Tensor dense = p.is_contiguous() ? p : p.detach().contiguous();
      work.push_back({&group.options, p, dense, g.contiguous(), dense.unsafe_data(), state});
    }
  }
  auto make_buffers = [](const auto& w) {
    bool fresh = false;
    for (size_t i = 0; i < kSlots; ++i) {
      if (w.state->buffers[i].defined() || !uses(*w.options, i)) continue;
      w.state->buffers[i] = zeros_like(w.p);
      if constexpr (requires { K::initial(*w.options, i); }) {
        w.state->buffers[i].fill_(K::initial(*w.options, i));
      }
      fresh = fresh || i == 0;
    }
    ++w.state->step;
    return fresh;
  };
  if constexpr (kOnDevice) {
    for (const Work& w : there) {
      const bool fresh = make_buffers(w);
      Tensor* buffers = w.state->buffers;
      for (size_t i = 0; i < kSlots; ++i)
        if (buffers[i].defined()) buffers[i] = buffers[i].to(w.p.device());  // loaded ones
      step_on_device(K::prepare(*w.options, *w.state, fresh), w.p, w.g, buffers);
    }
  }
  if constexpr (kTakesRows) {
    for (const RowWork& w : tables) {
      make_buffers(w);
      K::apply_rows(*w.options, w.dense, w.g, *w.state);
      if (!w.p.is_contiguous()) w.p.copy_(w.dense);
    }
  }
  if constexpr (requires { K::kRowsOnly; }) {
    // all have been done
  } else if constexpr (requires { &K::apply; }) {
    for (const Work& w : work) {
      make_buffers(w);
      K::apply(*w.options, w.p, w.g, *w.state);
    }
  } else {
    std::vector<LoopArrays> arrays;
    std::vector<typename K::Coefficients> coefficients;
    std::vector<int64_t> sizes;
    for (const Work& w : work) {
      const bool fresh = make_buffers(w);
      LoopArrays a = {w.p.dtype(), w.data, w.g.raw().data, {}};
      for (size_t i = 0; i < kSlots; ++i) {
        if (uses(*w.options, i)) a.state[i] = w.state->buffers[i].unsafe_data();
      }
      arrays.push_back(a);
      coefficients.push_back(K::prepare(*w.options, *w.state, fresh));
      sizes.push_back(w.p.layout().numel());
    }
    flat_pass(sizes, [&](size_t i, int64_t begin, int64_t end) {
      K::kLoop(coefficients[i], arrays[i], begin, end);
    });
    for (const Work& w : work) {
      if (!w.p.is_contiguous()) w.p.copy_(w.dense);
    }
  }
}

template <class O, class K>
GroupStateView GroupOptimizer<O, K>::view_state(std::vector<Group<O>>& groups,
                                                std::vector<ParamState>& params) {
  GroupStateView view = {K::kName, K::kBuffers, {}, {}, &params};
  if constexpr (requires { K::kNumbers; }) {
    static_assert(std::size(K::kNumbers) <= 2, "ParamState holds two numbers");
    view.numbers = K::kNumbers;
  }
  for (Group<O>& group : groups) {
    GroupView g = {&group.params, &group.initial_lr, {}};
    group.options.fields([&](const char* name, auto& value) {
      g.options.push_back({name, &value});
    });
    view.groups.push_back(std::move(g));
  }
  return view;
}

template <class O, class K>
OptimizerState GroupOptimizer<O, K>::state_dict() const {
  auto& self = const_cast<GroupOptimizer&>(*this);  // the view could write, but save() does not
  return view_state(self.groups_, self.state_).save();
}

template <class O, class K>
void GroupOptimizer<O, K>::load_state_dict(const OptimizerState& state, Where where) {
  std::vector<Group<O>> groups = groups_;
  std::vector<ParamState> loaded(state_.size());
  view_state(groups, loaded)
      .load(
          state, [&](size_t g) { check(groups[g].options, where); },
          [&](size_t g, size_t slot) { return uses(groups[g].options, slot); }, where);
  state_ = std::move(loaded);
  groups_ = std::move(groups);
}

}  // namespace wick::optim
