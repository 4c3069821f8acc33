// LeNet's training step (batch 64, SGD with momentum 0.9), forward to update, as the peers'
// train_bench.py takes it: five steps to warm up, then the median over some seconds. One line,
// figures in ms.
//   lenet_train_bench [threads] [seconds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "wick/trainer.h"

namespace wick {
namespace {

double now_ms() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}
// Of all threads: on a machine with other jobs it tells more than the clock on the wall.
double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class Training {
 public:
  Training() {
    for (const Tensor& p : parameters_) momentum_.push_back(zeros(p.shape()));
  }

  double step() {
    Tensor loss = cross_entropy((*model_)(x_), target_);
    model_->zero_grad();
    loss.backward();
    NoGrad guard;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      momentum_[i].mul_(0.9).add_(parameters_[i].grad());
      parameters_[i].add_(momentum_[i], -0.01);
    }
    return loss.item();
  }

 private:
  std::shared_ptr<nn::Module> model_ = nn::lenet();
  std::vector<Tensor> parameters_ = model_->parameters(), momentum_;
  Tensor x_ = randn({64, 1, 28, 28}), target_ = randint(0, 10, {64});
};

void run(int threads, double seconds) {
  set_num_threads(threads);
  manual_seed(0);
  Training training;
  for (int i = 0; i < 5; ++i) training.step();
  std::vector<double> ms;
  const double cpu = cpu_ms(), end = now_ms() + seconds * 1e3;
  while (now_ms() < end || ms.size() < 5) {
    const double begin = now_ms();
    training.step();
    ms.push_back(now_ms() - begin);
  }
  const double cpu_step = (cpu_ms() - cpu) / static_cast<double>(ms.size());
  std::sort(ms.begin(), ms.end());
  printf("lenet T=%d B=64 step median %.3f ms min %.3f ms cpu %.3f ms n=%zu\n", threads,
         ms[ms.size() / 2], ms[0], cpu_step, ms.size());
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  try {
    wick::run(argc > 1 ? atoi(argv[1]) : 1, argc > 2 ? atof(argv[2]) : 4);
  } catch (const wick::Error& e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
