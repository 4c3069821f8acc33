// L-BFGS (Liu and Nocedal 1989; torch.optim.LBFGS, which follows minFunc).
#pragma once

#include "trainer/optim/group_optimizer.h"
#include "trainer/optim/line_search.h"

namespace wick::optim {

// Options of LBFGS, with the defaults of torch.optim.LBFGS.
struct LbfgsOptions {
  double lr = 1;                    // the length of a step, or where the search for one begins
  int64_t max_iter = 20;            // iterations of a step
  int64_t max_eval = 0;             // evaluations of a step; 0: max_iter * 5 / 4
  double tolerance_grad = 1e-7;     // a step ends where no gradient is larger
  double tolerance_change = 1e-9;   // and where losses or parameters change by less
  int64_t history_size = 100;       // pairs of changes that are kept
  std::string line_search_fn = "";  // "strong_wolfe", or "": steps of lr, without a search

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("max_iter", max_iter), f("max_eval", max_eval);
    f("tolerance_grad", tolerance_grad), f("tolerance_change", tolerance_change);
    f("history_size", history_size), f("line_search_fn", line_search_fn);
  }
  // Errors: numbers below zero or not finite, max_iter and history_size below 1, a search of
  // another name.
  void check(const char* op, const Where& where) const;
};

// Each step(closure) makes up to max_iter iterations. With the gradient g of all parameters as one
// vector, and of the last history_size iterations s = t d (the change of the parameters) and
// y = g - g_before where y.s > 1e-10: d = -H g by the two loops of Nocedal and Wright 2006
// (algorithm 7.4), H starting as y.s / y.y of the newest pair; then p += t d, where t is lr (at the
// very first min(1, 1 / sum |g|) lr), or what strong_wolfe() finds from there.
// Products of vectors are taken as dot() says, other sums in the parameters' type.
//
// All parameters are float32 or all float64, on the CPU, in one group. One without a gradient
// counts as one whose gradient is zero. Memory: 2 history_size + 4 times the parameters.
class LBFGS : public Optimizer {
 public:
  explicit LBFGS(std::vector<Tensor> params, const LbfgsOptions& options = LbfgsOptions(),
                 Where where = Where::current());
  // More than one group is an Error, as in PyTorch.
  explicit LBFGS(std::vector<Group<LbfgsOptions>> groups, Where where = Where::current());

  // step(closure), Optimizer's, is the only step: step() without one is an Error, and so are
  // accumulate() and loop::Trainer therefore. An error of closure() leaves every parameter and the
  // state as they were before the step.

  int groups() const override { return 1; }
  const char* name() const override { return kName; }
  // Returns the options of the only group.
  LbfgsOptions& options(int group = 0);
  // Iterations and evaluations of all steps so far.
  int64_t n_iter() const { return memory_.n_iter; }
  int64_t func_evals() const { return memory_.func_evals; }

  OptimizerState state_dict() const override;
  void load_state_dict(const OptimizerState& state, Where where = Where::current()) override;

 protected:
  GroupFields fields(int group) const override;
  const std::vector<Tensor>& group_params(int) const override { return group_.params; }
  void update() override;
  void step_by(const Closure& closure) override;

 private:
  static constexpr const char* kName = "lbfgs";
  // One iteration leaves this to the next. Vectors are flat, of the parameters' type.
  struct Memory {
    int64_t n_iter = 0, func_evals = 0;
    Tensor d, prev_flat_grad;                 // undefined before the first iteration
    double t = 0, h_diag = 1, prev_loss = 0;  // h_diag: the first H
    std::vector<Tensor> old_dirs, old_stps;   // y and s, oldest first
    std::vector<double> ro;                   // 1 / y.s
  };

  void check_parameters() const;
  Tensor flat_grad() const;
  void add(double t, const Tensor& d);
  void set(const std::vector<Tensor>& values);
  Tensor direction(const Tensor& flat, Memory& m) const;
  LinePoint evaluate(const Closure& closure);
  void iterate(const Closure& closure, Memory& m);
  DType dtype() const { return group_.params[0].dtype(); }
  int64_t numel() const;

  Group<LbfgsOptions> group_;
  Memory memory_;
};

}  // namespace wick::optim
