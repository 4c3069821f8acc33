#include "trainer/optim/sgd.h"
#include "trainer/optim/group_state-inl.h"

namespace wick::optim {

void SgdOptions::check(const char* op, const Where& where) const {
  if (!(lr >= 0)) throw_error(op, "lr must be >= 0", where);
  if (!(momentum >= 0)) throw_error(op, "momentum must be >= 0", where);
  if (!(weight_decay >= 0)) throw_error(op, "weight_decay must be >= 0", where);
  if (nesterov && (momentum <= 0 || dampening != 0)) {
    throw_error(op, "nesterov needs a momentum and no dampening", where);
  }
}

template <class T>
void SgdRule::update(const SgdOptions& o, int64_t step, T* __restrict__ p,
                     const T* __restrict__ grad, T* const* buffers, int64_t begin, int64_t end) {
  const T sign = o.maximize ? T(-1) : T(1);
  const T decay = static_cast<T>(o.weight_decay), momentum = static_cast<T>(o.momentum);
  const T rate = static_cast<T>(o.lr), keep = static_cast<T>(1 - o.dampening);
  T* __restrict__ b = buffers[0];
  if (b == nullptr) {
    for (int64_t i = begin; i < end; ++i) {
      T g = sign * grad[i];
      if (decay != 0) g = g + decay * p[i];
      p[i] = p[i] - rate * g;
    }
    return;
  }
  const bool first = step == 1;
  for (int64_t i = begin; i < end; ++i) {
    T g = sign * grad[i];
    if (decay != 0) g = g + decay * p[i];
    T v = first ? g : b[i] * momentum + keep * g;
    b[i] = v;
    p[i] = p[i] - rate * (o.nesterov ? g + momentum * v : v);
  }
}

// Named, or a call inlined above leaves no symbol for the other users of the header.
template void SgdRule::update<float>(const SgdOptions&, int64_t, float*, const float*,
                                     float* const*, int64_t, int64_t);
template void SgdRule::update<double>(const SgdOptions&, int64_t, double*, const double*,
                                      double* const*, int64_t, int64_t);
template class GroupOptimizer<SgdOptions, SgdRule>;

}  // namespace wick::optim
