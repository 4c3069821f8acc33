// What SGD and Adam share: groups with options O, state tensors a parameter, the state dict.
//
// O lists its fields once, fields(f) calling f(name, member) for each. K, the rule, has
//   static constexpr const char* kName;                      "sgd"
//   static std::vector<const char*> buffers(const O&);       names of the state tensors
//   template <class T> static void update(const O&, int64_t step, T* p, const T* g, T* const*
//   buffers,
//                                         int64_t begin, int64_t end);
#pragma once

#include <algorithm>

#include "runtime/core/thread_pool.h"
#include "trainer/optim/optimizer.h"
#include "trainer/tensor/call.h"

namespace wick::optim {

template <class O>
struct Group {
  std::vector<Tensor> params;
  O options;
};

template <class O, class K>
class GroupOptimizer : public Optimizer {
 public:
  explicit GroupOptimizer(std::vector<Tensor> params, const O& options = O(),
                          Where where = Where::current())
      : GroupOptimizer({Group<O>{std::move(params), options}}, where) {}
  explicit GroupOptimizer(std::vector<Group<O>> groups, Where where = Where::current())
      : groups_(std::move(groups)) {
    std::vector<uint64_t> seen;
    for (const Group<O>& group : groups_) {
      group.options.check(K::kName, where);
      for (const Tensor& p : group.params) {
        if (!p.defined() || (p.dtype() != DType::kF32 && p.dtype() != DType::kF64)) {
          throw_error(K::kName, "parameters must be float32 or float64", where);
        }
        if (!p.is_leaf()) throw_error(K::kName, "can only optimize leaf tensors", where);
        if (std::find(seen.begin(), seen.end(), p.id()) != seen.end()) {
          throw_error(K::kName, "a parameter appears twice", where);
        }
        seen.push_back(p.id());
      }
    }
    if (seen.empty()) throw_error(K::kName, "no parameters", where);
    state_.resize(seen.size());
  }

  void step() override {
    if (!begin_step()) return;
    NoGrad guard;
    size_t index = 0;
    for (const Group<O>& group : groups_) {
      for (const Tensor& p : group.params) step_one(group.options, p, state_[index++]);
    }
    end_step();
  }

  int groups() const override { return static_cast<int>(groups_.size()); }
  double lr(int group = 0) const override {
    return groups_.at(static_cast<size_t>(group)).options.lr;
  }
  void set_lr(int group, double lr) override {
    groups_.at(static_cast<size_t>(group)).options.lr = lr;
  }
  O& options(int group = 0) { return groups_.at(static_cast<size_t>(group)).options; }

  // Both in group_state-inl.h.
  OptimizerState state_dict() const override;
  void load_state_dict(const OptimizerState& state, Where where = Where::current()) override;

 protected:
  const std::vector<Tensor>& group_params(int group) const override {
    return groups_[static_cast<size_t>(group)].params;
  }

 private:
  struct State {
    int64_t step = 0;
    nn::NamedTensors buffers;
  };

  void step_one(const O& options, const Tensor& p, State& state) {
    Tensor g = p.grad();
    if (!g.defined()) return;
    if (g.dtype() != p.dtype() || !(g.raw_shape() == p.raw_shape())) {
      throw Error(std::string("[") + K::kName + "] gradient " + dtype_name(g.dtype()) +
                  to_text(g.raw_shape()).text + " of a parameter " + dtype_name(p.dtype()) +
                  to_text(p.raw_shape()).text);
    }
    g = g.contiguous();
    if (state.buffers.empty()) {
      for (const char* name : K::buffers(options)) state.buffers.emplace_back(name, zeros_like(p));
    }
    ++state.step;
    p.dtype() == DType::kF32 ? run<float>(options, p, g, state) : run<double>(options, p, g, state);
  }

  template <class T>
  void run(const O& options, const Tensor& p, const Tensor& g, State& state) {
    // Elementwise, so that how it is cut changes no bit.
    constexpr int64_t kChunk = 1 << 15;
    T* buffers[4] = {};
    for (size_t i = 0; i < state.buffers.size(); ++i) {
      buffers[i] = state.buffers[i].second.template mutable_data<T>();
    }
    T* to = p.template mutable_data<T>();
    const T* from = g.template data<T>();
    int64_t n = p.raw().numel(), step = state.step;
    parallel_for(thread_pool(), (n + kChunk - 1) / kChunk, [&](int64_t task, int) {
      K::template update<T>(options, step, to, from, buffers, task * kChunk,
                            std::min(n, (task + 1) * kChunk));
    });
  }

  std::vector<Group<O>> groups_;
  std::vector<State> state_;
};

}  // namespace wick::optim
