// One training step (forward, backward, plain SGD with momentum left to the optimizer's own bench)
// of the models `wick train` knows, batch 64, for comparison with the peers' train_bench.py. With
// --by_op, where the time goes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

#include "wick/trainer.h"

namespace wick {
namespace {

struct ByOp : TraceHook {
  std::map<std::string, std::pair<double, int>> time;
  void on_op(const TraceEvent& e) override {
    auto& [ms, calls] = time[e.kernel];
    ms += static_cast<double>(e.end_ns - e.begin_ns) * 1e-6;
    ++calls;
  }
};

void step(nn::Module& model, const Tensor& x, const Tensor& target) {
  Tensor loss = cross_entropy(model(x), target);
  model.zero_grad();
  loss.backward();
  NoGrad guard;
  for (const Tensor& p : model.parameters()) p.add_(p.grad(), -0.01);
}

void run(const char* name, int threads, bool by_op) {
  set_num_threads(threads);
  auto model = nn::make_model(name);
  Tensor x = rand({64, 1, 28, 28}), target = randint(0, 10, {64});
  std::vector<double> ms;
  for (int i = 0; i < 33; ++i) {
    auto begin = std::chrono::steady_clock::now();
    step(*model, x, target);
    if (i >= 3)
      ms.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
              .count());
  }
  std::sort(ms.begin(), ms.end());
  printf("%s batch 64, %d thread(s): median %.2f ms, best %.2f ms\n", name, threads,
         ms[ms.size() / 2], ms[0]);
  if (!by_op) return;
  ByOp hook;
  set_trace_hook(&hook);
  for (int i = 0; i < 10; ++i) step(*model, x, target);
  set_trace_hook(nullptr);
  std::vector<std::pair<double, std::string>> rows;
  for (auto& [kernel, t] : hook.time)
    rows.emplace_back(t.first / 10, kernel + " x" + std::to_string(t.second / 10));
  std::sort(rows.rbegin(), rows.rend());
  for (auto& [t, kernel] : rows) printf("  %8.3f ms  %s\n", t, kernel.c_str());
}

}  // namespace
}  // namespace wick

// train_step [model] [threads] [--by_op]
int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "lenet";
  int threads = argc > 2 ? atoi(argv[2]) : 1;
  bool by_op = argc > 3 && strcmp(argv[3], "--by_op") == 0;
  try {
    wick::run(name, threads, by_op);
  } catch (const wick::Error& e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
