// compile_step(): a training step that is recorded once and then repeated: no op is dispatched, no
// graph of autograd is made, nothing is allocated, and elementwise ops are fused. The bits are
// those of the step itself (docs/use/compile.md).
//
//   auto step = compile_step([&](const Tensor& x, const Tensor& y) {
//     optimizer.zero_grad();
//     Tensor loss = cross_entropy(net(x), y);
//     loss.backward();
//     optimizer.step();
//     return loss;
//   });
//   for (const Batch& b : loader) std::cout << step(b.x, b.y).item() << "\n";
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/core/function_ref.h"
#include "trainer/nn/module.h"
#include "trainer/optim/optimizer.h"
#include "trainer/tensor/step_break.h"

namespace wick {

// How compile_step() records and repeats.
struct CompileStepOptions {
  // How many forms of the step are kept: one for each combination of argument shapes, frozen
  // parameters, training flags and the like. A further one runs as always.
  int max_forms = 8;
  // Fuse elementwise ops.
  bool fuse = true;
  // The function itself runs in place of repetitions 1, 2, 3, 5, 8, 13 ... of a form below this
  // number, and of each multiple of it, and must do what was recorded. 0: never.
  int64_t audit_every = 61;
  // A form is compared with the function, by bits, before it is used. False: it is used at once,
  // for finding out where it differs (trainer/doctor).
  bool rehearse = true;
};

// What became of a compiled step.
struct CompileReport {
  int64_t calls = 0;      // of the step
  int64_t repeated = 0;   // of them by repetition
  int64_t audits = 0;     // of them run as always to see that the function still does the same
  int forms = 0;          // that are repeated
  int kernels = 0;        // of the form made last: what the step ran when it was recorded
  int launches = 0;       // and what a repetition runs
  int fused = 0;          // kernels that became parts of others
  size_t planned = 0;     // bytes of memory that a repetition needs
  size_t unplanned = 0;   // bytes that its values would need without a plan
  double compile_ms = 0;  // the time that making it took
  std::vector<StepBreak> breaks;  // why the step, or a form of it, runs as always
  // Returns all of it as lines of text.
  std::string text() const;
};

// The part of a compiled step that does not depend on the function's type.
class CompiledStep {
 public:
  explicit CompiledStep(CompileStepOptions options = {});
  CompiledStep(CompiledStep&&) noexcept;
  CompiledStep& operator=(CompiledStep&&) noexcept;
  ~CompiledStep();

  // Repeats the step, or runs `function`, which must return what the step returns. The results have
  // no history. They are valid until the next run, unless handles of them are kept.
  const std::vector<Tensor>& run(Span<const Tensor* const> arguments,
                                 FunctionRef<std::vector<Tensor>()> function);
  CompileReport report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// compile_step() returns this: call it in place of F.
template <class F>
class StepOf {
 public:
  StepOf(F f, CompileStepOptions options) : f_(std::move(f)), step_(options) {}

  // Takes the tensors that F takes; returns what F returns, a Tensor, a vector of them or nothing,
  // without a history. Throws what F throws, and Error if F has changed since it was recorded.
  template <class... T>
    requires(std::is_convertible_v<const T&, const Tensor&> && ...)
  auto operator()(const T&... in) {
    using Out = std::invoke_result_t<F&, const T&...>;
    static_assert(std::is_void_v<Out> || std::is_same_v<Out, Tensor> ||
                      std::is_same_v<Out, std::vector<Tensor>>,
                  "a step returns a Tensor, a std::vector<Tensor> or nothing; read numbers with "
                  "item() from what it returns");
    const Tensor* list[] = {&static_cast<const Tensor&>(in)..., nullptr};
    const auto call = [&]() -> std::vector<Tensor> {
      if constexpr (std::is_void_v<Out>) {
        f_(in...);
        return {};
      } else if constexpr (std::is_same_v<Out, Tensor>) {
        return {f_(in...)};
      } else {
        return f_(in...);
      }
    };
    const std::vector<Tensor>& out = step_.run(Span<const Tensor* const>(list, sizeof...(T)), call);
    if constexpr (std::is_same_v<Out, Tensor>) {
      return Tensor(out[0]);
    } else if constexpr (!std::is_void_v<Out>) {
      return std::vector<Tensor>(out);
    }
  }
  // Returns what became of it so far.
  CompileReport report() const { return step_.report(); }

 private:
  F f_;
  CompiledStep step_;
};

// Makes a step of a function of tensors. The function's ops on tensors, backward() and the
// optimizer's step() are repeated; what else it does (C++ variables, printing) happens only when it
// runs: in the first three calls, in two for each further form, and in audits. What it uses must
// outlive the step.
template <class F>
StepOf<F> compile_step(F f, CompileStepOptions options = {}) {
  return StepOf<F>(std::move(f), options);
}

// Makes the common step of a module: zero_grad(), loss(net(x), y), backward(), step(). Its call
// takes (x, y) and returns the loss.
template <class Loss>
auto compile(nn::Module& net, optim::Optimizer& optimizer, Loss loss,
             CompileStepOptions options = {}) {
  return compile_step(
      [&net, &optimizer, loss = std::move(loss)](const Tensor& x, const Tensor& y) -> Tensor {
        optimizer.zero_grad();
        Tensor l = loss(net(x), y);
        l.backward();
        optimizer.step();
        return l;
      },
      options);
}

// Runs `f` at once. In a compiled step it splits the repetition: `f` runs as always between the two
// parts, each time. `f` must hold the tensors that it reads by value, [=]; what they hold is then
// up to date.
void run_eagerly(const std::function<void()>& f);

}  // namespace wick
