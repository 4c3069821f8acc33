// Random numbers, in addition to rand, randn, randint and randperm of philox.h. Every call uses one
// whole stream of its generator, so that results depend only on (seed, number of earlier calls). No
// draw is differentiable.
#pragma once

#include "trainer/tensor/ops/common.h"
#include "trainer/tensor/philox.h"

namespace wick {

// Random numbers of t's shape, dtype and device: from U[0, 1), N(0, 1), and integers of [low,
// high).
Tensor rand_like(const Arg& t, Generator& g = default_generator());
Tensor randn_like(const Arg& t, Generator& g = default_generator());
Tensor randint_like(const Arg& t, int64_t low, int64_t high, Generator& g = default_generator());
// Returns int64 of [0, high).
Tensor randint(int64_t high, const SizeList& shape, Generator& g = default_generator(),
               Where where = Where::current());
// Returns draws from N(mean, std^2).
Tensor normal(double mean, double std, const SizeList& shape, DType dtype = DType::kF32,
              Generator& g = default_generator(), Where where = Where::current());
// One draw per element; mean and std broadcast.
Tensor normal(const Arg& mean, const Arg& std, Generator& g = default_generator());
// Returns 1 with probability p, else 0, in p's dtype.
Tensor bernoulli(const Arg& p, Generator& g = default_generator());
// Draws indices with probabilities proportional to the weights p[n] or p[rows, n]: int64 [samples]
// or [rows, samples]. Without replacement, samples must not exceed the number of nonzero weights.
Tensor multinomial(const Arg& p, int64_t samples, bool replacement = false,
                   Generator& g = default_generator());

// -- in place
// Fill x with draws: from U[from, to), N(mean, std^2), 1 with probability p, and from the
// exponential distribution of rate lambd. Return x.
const Tensor& uniform_(const Arg& x, double from = 0, double to = 1,
                       Generator& g = default_generator());
const Tensor& normal_(const Arg& x, double mean = 0, double std = 1,
                      Generator& g = default_generator());
const Tensor& bernoulli_(const Arg& x, double p = 0.5, Generator& g = default_generator());
const Tensor& exponential_(const Arg& x, double lambd = 1, Generator& g = default_generator());
// Integers in [from, to); without bounds, all those that x's dtype can hold exactly.
const Tensor& random_(const Arg& x, int64_t from, int64_t to, Generator& g = default_generator());
const Tensor& random_(const Arg& x, Generator& g = default_generator());

}  // namespace wick
