// Times functions of the trainer on one thread: function_bench. A line each: its name and the least
// milliseconds of processor time of a number of calls. function_bench.py has the same for PyTorch.
#include <ctime>

#include <cstdio>
#include <functional>

#include "wick/trainer.h"

namespace {

using namespace wick;  // NOLINT: a bench

double processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

void measure(const char* name, const std::function<void()>& f) {
  f();
  double best = 1e30;
  for (int i = 0; i < 12; ++i) {
    const double begin = processor_ms();
    f();
    best = std::min(best, processor_ms() - begin);
  }
  std::printf("%s %.4f\n", name, best);
}

// The forward pass alone, and with its gradients.
void measure_both(const char* name, const std::function<Tensor()>& f) {
  measure(name, [&] {
    NoGrad guard;
    f();
  });
  measure((std::string(name) + "+gradient").c_str(), [&] { sum(f()).backward(); });
}

Tensor drawn(const Shape& shape, DType t) {
  Tensor x = randn(shape, t);
  return x.requires_grad_();
}

}  // namespace

int main() {
  set_num_threads(1);
  constexpr DType kD = DType::kF64, kF = DType::kF32;
  const Tensor a = drawn({512, 512}, kD), b = drawn({512, 512}, kD);
  measure_both("f64_matmul", [&] { return matmul(a, b); });
  measure_both("f64_matmul_transposed", [&] { return matmul(a.t(), b.t()); });
  const Tensor x = drawn({64, 256}, kD), w = drawn({128, 256}, kD), bias = drawn({128}, kD);
  measure_both("f64_linear", [&] { return linear(x, w, bias); });
  const Tensor image = drawn({4, 32, 28, 28}, kD), kernel = drawn({64, 32, 3, 3}, kD);
  measure_both("f64_conv2d", [&] { return conv2d(image, kernel, Tensor(), 1, 1); });
  const Tensor map = drawn({4, 64, 14, 14}, kD), spread = drawn({64, 32, 4, 4}, kD);
  measure_both("f64_conv_transpose2d",
               [&] { return conv_transpose2d(map, spread, Tensor(), 2, 1); });
  const Tensor scores = drawn({256, 4096}, kF);
  measure_both("topk", [&] { return topk(scores, 10).values; });
  const Tensor picture = drawn({4, 16, 56, 56}, kF);
  measure_both("bilinear",
               [&] { return interpolate(picture, {.scale_factor = {2}, .mode = "bilinear"}); });
  const Tensor tokens = drawn({32, 128, 256}, kF), scale = drawn({256}, kF),
               shift = drawn({256}, kF);
  measure_both("layer_norm", [&] { return layer_norm(tokens, {256}, scale, shift); });
  const Tensor gamma = drawn({16}, kF), beta = drawn({16}, kF);
  measure_both("group_norm", [&] { return group_norm(picture, 4, gamma, beta); });
  const Tensor sequence = drawn({8, 128, 768}, kF), lines = drawn({64, 1000}, kF);
  measure_both("unbind", [&] { return stack(unbind(sequence, 1), 0); });
  measure_both("pad_reflect", [&] { return pad(picture, {2, 2, 2, 2}, "reflect"); });
  measure_both("repeat_interleave", [&] { return repeat_interleave(sequence, 2, 1); });
  measure_both("adaptive_max_pool2d", [&] { return adaptive_max_pool2d(picture, 5); });
  measure_both("cummax", [&] { return cummax(lines, 1).values; });
  measure_both("median", [&] { return median(lines, 1).values; });
  const Tensor places = randint(0, 1000, {64, 1000});
  measure_both("gather", [&] { return gather(lines, 1, places); });
  measure_both("scatter_add", [&] { return scatter_add(lines, 1, places, lines); });
  const Tensor grid = (rand({4, 56, 56, 2}) * 2 - 1).requires_grad_();
  measure_both("grid_sample", [&] { return grid_sample(picture, grid); });
  const Tensor positive = (rand({100000}) * 10 + 0.1).requires_grad_();
  measure_both("lgamma", [&] { return lgamma(positive); });
  measure_both("erfinv", [&] { return erfinv(positive * 0.09); });
}
