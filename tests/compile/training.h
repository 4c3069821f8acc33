// Two trainings of one net: eager, and through compile_step(). Both begin with the same seed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/sha256.h"
#include "wick/trainer.h"

namespace wick::test {

// The SHA-256 of the bytes of all tensors.
inline std::string digest(const std::vector<Tensor>& tensors) {
  Sha256 sha;
  for (const Tensor& t : tensors) {
    const Tensor c = t.detach().contiguous();
    sha.update({static_cast<const uint8_t*>(c.layout().data), c.layout().nbytes()});
  }
  return sha.finish_text().text;
}

// What a training left: the losses, the digest of weights, buffers, gradients and the optimizer's
// state, and the generator.
struct Trajectory {
  std::vector<float> losses;
  std::string weights;
  uint64_t stream = 0;
};
inline bool operator==(const Trajectory& a, const Trajectory& b) {
  return a.losses == b.losses && a.weights == b.weights && a.stream == b.stream;
}
inline void PrintTo(const Trajectory& t, std::ostream* out) {  // NOLINT: GoogleTest's name
  *out << t.weights << ", generator " << t.stream << ", losses";
  for (float l : t.losses) *out << " " << l;
}

// A net with its optimizer. `step` is what is compiled; `before` runs before each step, outside of
// it; `batch` gives the arguments of step i.
struct Training {
  std::shared_ptr<nn::Module> net;
  std::shared_ptr<optim::Optimizer> optimizer;
  std::function<Tensor(const Tensor& x, const Tensor& y)> step;
  std::function<std::pair<Tensor, Tensor>(int i)> batch;
  std::function<void(int i)> before = [](int) {};
};

inline std::vector<Tensor> all_of(const Training& t) {
  std::vector<Tensor> list;
  for (const auto& [name, p] : t.net->named_parameters()) {
    list.push_back(p);
    if (p.grad().defined()) list.push_back(p.grad());
  }
  for (const auto& [name, b] : t.net->named_buffers()) list.push_back(b);
  for (const auto& [name, s] : t.optimizer->state_dict().tensors) list.push_back(s);
  return list;
}

inline Trajectory run(const std::function<Training()>& make, int steps, bool compiled,
                      CompileReport* report = nullptr, CompileStepOptions options = {}) {
  manual_seed(7);
  Training t = make();
  Trajectory out;
  auto step = compile_step(t.step, options);
  for (int i = 0; i < steps; ++i) {
    t.before(i);
    const auto [x, y] = t.batch(i);
    const Tensor loss = compiled ? step(x, y) : t.step(x, y);
    out.losses.push_back(loss.detach().to_vector<float>()[0]);
  }
  out.weights = digest(all_of(t));
  out.stream = default_generator().stream;
  if (report != nullptr) *report = step.report();
  return out;
}

// Runs both, and expects the same bits and `repeated` repetitions at least.
inline CompileReport expect_same(const std::function<Training()>& make, int steps, int64_t repeated,
                                 CompileStepOptions options = {}) {
  CompileReport report;
  const Trajectory eager = run(make, steps, false);
  const Trajectory compiled = run(make, steps, true, &report, options);
  EXPECT_EQ(eager, compiled) << report.text();
  EXPECT_GE(report.repeated, repeated) << report.text();
  return report;
}

// The usual step.
template <class Loss>
std::function<Tensor(const Tensor&, const Tensor&)> usual(
    const std::shared_ptr<nn::Module>& net, const std::shared_ptr<optim::Optimizer>& optimizer,
    Loss loss) {
  return [=](const Tensor& x, const Tensor& y) {
    optimizer->zero_grad();
    Tensor l = loss((*net)(x), y);
    l.backward();
    optimizer->step();
    return l;
  };
}

inline Tensor classes(const Tensor& logits, const Tensor& y) {
  return cross_entropy(logits.flatten(0, logits.rank() - 2), y.flatten());
}

inline std::pair<Tensor, Tensor> images(int64_t n, int64_t size, int64_t channels = 1) {
  return {rand({n, channels, size, size}), randint(0, 10, {n})};
}

// The audits of the first repetitions leave fewer repetitions to look at.
inline CompileStepOptions unaudited() {
  CompileStepOptions o;
  o.audit_every = 0;
  return o;
}

}  // namespace wick::test
