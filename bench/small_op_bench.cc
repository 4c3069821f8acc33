// Times one small op, recorded: nanoseconds of a 4x4 add with gradient recording (and its
// backward), compared with libtorch's C++ API in one process: small_op_bench [rounds]. Both sides
// use one thread and are measured in turns; the best round of each counts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#ifdef WICK_HAVE_TORCH
#include <torch/torch.h>
#endif

#include "wick/trainer.h"

namespace {

constexpr int kCalls = 20000;

template <class F>
double ns_per_call(const F& f) {
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) f();
  std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / kCalls;
}

struct Best {
  double ours = 1e30, theirs = 1e30;
};

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 30;
  wick::set_num_threads(1);
  wick::Tensor a = wick::ones({4, 4}).requires_grad_(), b = wick::ones({4, 4});
  auto ours_forward = [&] { wick::Tensor c = a + b; };
  auto ours_plain = [&] {
    wick::NoGrad guard;
    wick::Tensor c = a + b;
  };
  auto ours_step = [&] {
    wick::Tensor c = wick::sum(a + b);
    c.backward();
    a.set_grad(wick::Tensor());
  };
#ifdef WICK_HAVE_TORCH
  at::set_num_threads(1);
  torch::Tensor ta = torch::ones({4, 4}, torch::requires_grad()), tb = torch::ones({4, 4});
  auto theirs_forward = [&] { torch::Tensor c = ta + tb; };
  auto theirs_plain = [&] {
    torch::NoGradGuard guard;
    torch::Tensor c = ta + tb;
  };
  auto theirs_step = [&] {
    torch::Tensor c = (ta + tb).sum();
    c.backward();
    ta.mutable_grad() = torch::Tensor();
  };
#else
  auto theirs_forward = [] {};
  auto theirs_plain = [] {};
  auto theirs_step = [] {};
#endif
  Best recorded, plain, step;
  for (int r = 0; r < rounds; ++r) {
    recorded.ours = std::min(recorded.ours, ns_per_call(ours_forward));
    recorded.theirs = std::min(recorded.theirs, ns_per_call(theirs_forward));
    plain.ours = std::min(plain.ours, ns_per_call(ours_plain));
    plain.theirs = std::min(plain.theirs, ns_per_call(theirs_plain));
    step.ours = std::min(step.ours, ns_per_call(ours_step));
    step.theirs = std::min(step.theirs, ns_per_call(theirs_step));
  }
  auto print = [](const char* what, const Best& t) {
#ifdef WICK_HAVE_TORCH
    printf("%-34s wick %7.0f ns   libtorch %7.0f ns   ratio %.2f\n", what, t.ours, t.theirs,
           t.ours / t.theirs);
#else
    printf("%-34s wick %7.0f ns   (built without libtorch)\n", what, t.ours);
#endif
  };
  print("add 4x4, recorded", recorded);
  print("add 4x4, no_grad", plain);
  print("sum(add 4x4), forward and backward", step);
  return 0;
}
