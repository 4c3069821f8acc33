// The inner loops of the elementwise optimizers: a slice of one parameter's update, each number
// read and written once. Plain loops compiled for every SIMD target (optim_loops.cc); no step
// contracts or reorders, so that all targets give the same bits.
//
// Coefficients are passed in double and rounded to the parameter's type inside. `sign` is -1 if the
// optimizer maximizes. The formulas are documented with each optimizer's options.
#pragma once

#include <cstdint>

#include "runtime/core/dtype.h"

namespace wick::optim {

struct LoopArrays {
  DType dtype;  // float32 or float64, the same for all
  void* p;
  const void* g;
  void* state[3];  // null: not used
};

struct SgdCoefficients {
  double sign, weight_decay, lr, momentum, keep;  // keep: 1 - dampening
  bool nesterov, first;                           // first: the momentum buffer is new
};
// state: momentum_buffer or null
void sgd_loop(const SgdCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct AdamCoefficients {
  double sign, weight_decay, shrink, beta1, beta2, eps;  // shrink: AdamW's factor of p, else 1
  double rate, root2;                                    // lr / (1 - beta1^t), sqrt(1 - beta2^t)
};
// state: exp_avg, exp_avg_sq, max_exp_avg_sq or null
void adam_loop(const AdamCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct NadamCoefficients {
  double weight_decay, beta1, beta2, eps;
  double correction2, rate_grad, rate_avg;
};
// state: exp_avg, exp_avg_sq
void nadam_loop(const NadamCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct RadamCoefficients {
  double weight_decay, beta1, beta2, eps, correction1, lr;
  double root2, rect;  // rect 0: variance not tractable yet, use momentum alone
};
// state: exp_avg, exp_avg_sq
void radam_loop(const RadamCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct AdamaxCoefficients {
  double sign, weight_decay, beta1, beta2, eps, rate;
};
// state: exp_avg, exp_inf
void adamax_loop(const AdamaxCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct AdagradCoefficients {
  double sign, weight_decay, eps, rate;
};
// state: sum
void adagrad_loop(const AdagradCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct AdadeltaCoefficients {
  double sign, weight_decay, rho, eps, lr;
};
// state: square_avg, acc_delta
void adadelta_loop(const AdadeltaCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct RmspropCoefficients {
  double sign, weight_decay, alpha, eps, momentum, lr;
};
// state: square_avg, grad_avg or null (not centered), momentum_buffer or null
void rmsprop_loop(const RmspropCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct LionCoefficients {
  double sign, shrink, beta1, beta2, lr;
};
// state: exp_avg
void lion_loop(const LionCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct RpropCoefficients {
  double sign, etaminus, etaplus, step_size_min, step_size_max;
};
// state: prev, step_size
void rprop_loop(const RpropCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

struct AsgdCoefficients {
  double sign, weight_decay, shrink, eta, mu;  // shrink: 1 - lambd eta
};
// state: ax
void asgd_loop(const AsgdCoefficients& c, const LoopArrays& a, int64_t begin, int64_t end);

}  // namespace wick::optim
