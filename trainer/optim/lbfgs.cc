#include "trainer/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "trainer/profile/range.h"
#include "trainer/tensor/ops.h"

namespace wick::optim {

LinePoint LBFGS::evaluate(const Closure& closure) {
  closure.evaluate();
  take_gradients();
  return {closure.loss(), flat_grad()};
}

Tensor LBFGS::direction(const Tensor& flat, Memory& m) const {
  const Tensor y = flat - m.prev_flat_grad, s = m.d * m.t;
  if (const double ys = dot(y, s); ys > 1e-10) {
    if (static_cast<int64_t>(m.ro.size()) >= group_.options.history_size) {
      m.old_dirs.erase(m.old_dirs.begin());
      m.old_stps.erase(m.old_stps.begin());
      m.ro.erase(m.ro.begin());
    }
    m.old_dirs.push_back(y);
    m.old_stps.push_back(s);
    m.ro.push_back(1 / ys);
    m.h_diag = ys / dot(y, y);
  }
  const size_t n = m.ro.size();
  std::vector<double> al(n);
  const Tensor q = neg(flat);
  for (size_t i = n; i-- > 0;) {
    al[i] = dot(m.old_stps[i], q) * m.ro[i];
    q.add_(m.old_dirs[i], -al[i]);
  }
  const Tensor r = q * m.h_diag;
  for (size_t i = 0; i < n; ++i) {
    const double be = dot(m.old_dirs[i], r) * m.ro[i];
    r.add_(m.old_stps[i], al[i] - be);
  }
  return r;
}

void LBFGS::iterate(const Closure& closure, Memory& m) {
  const LbfgsOptions& o = group_.options;
  const int64_t most_evals = o.max_eval > 0 ? o.max_eval : o.max_iter * 5 / 4;
  LinePoint now = evaluate(closure);
  int64_t evals = 1;
  ++m.func_evals;
  bool optimal = max_abs(now.g) <= o.tolerance_grad;
  for (int64_t i = 1; !optimal && i <= o.max_iter; ++i) {
    const bool first = ++m.n_iter == 1;
    m.d = first ? neg(now.g) : direction(now.g, m);
    m.prev_flat_grad = now.g;
    m.prev_loss = now.f;
    m.t = first ? std::min(1.0, 1 / sum_abs(now.g)) * o.lr : o.lr;
    now.gtd = dot(now.g, m.d);
    if (now.gtd > -o.tolerance_change) break;
    int64_t more = 0;
    if (!o.line_search_fn.empty()) {
      std::vector<Tensor> here;
      for (const Tensor& p : group_.params) here.push_back(p.detach().clone());
      auto along = [&](double t) {
        add(t, m.d);
        LinePoint point = evaluate(closure);
        set(here);
        return point;
      };
      now.t = 0;
      LineResult found = strong_wolfe(along, m.t, m.d, now, o.tolerance_change);
      now = std::move(found.point);
      m.t = now.t;
      more = found.evals;
      add(m.t, m.d);
    } else {
      add(m.t, m.d);
      if (i != o.max_iter) {
        now = evaluate(closure);
        more = 1;
      }
    }
    optimal = max_abs(now.g) <= o.tolerance_grad;
    evals += more;
    m.func_evals += more;
    if (evals >= most_evals || max_abs(m.d * m.t) <= o.tolerance_change ||
        std::abs(now.f - m.prev_loss) < o.tolerance_change) {
      break;
    }
  }
}

void LBFGS::step_by(const Closure& closure) {
  if (accumulates()) {
    throw Error(
        "[lbfgs] accumulate() is not for LBFGS, which evaluates a loss several times a "
        "step: let closure() sum the parts");
  }
  NoGrad guard;
  ProfileRange range("optimizer");
  check_parameters();
  std::vector<Tensor> before;
  for (const Tensor& p : group_.params) before.push_back(p.detach().clone());
  Memory memory = memory_;
  try {
    iterate(closure, memory);
  } catch (...) {
    set(before);
    throw;
  }
  memory_ = std::move(memory);
  count_step();
}

void LBFGS::update() {
  throw Error(
      "[lbfgs] step() needs a closure, which it calls several times: step([&] { "
      "optimizer.zero_grad(); Tensor loss = ...; loss.backward(); return loss; })",
      Code::kInvalidArgument);
}

}  // namespace wick::optim
