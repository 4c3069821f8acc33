// The kernels of the course, each beside its plain form and beside libtorch's where that is
// installed:
//   course_bench [threads] [rounds]
// A line has the time of the best round, what that is a second, FLOPs a byte and the share of the
// machine's roof; then the ratio to libtorch in the same process.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#ifdef WICK_HAVE_TORCH
#include <torch/torch.h>
#endif

#include "trainer/course/course.h"
#include "trainer/nn/flash_attention.h"
#include "wick/trainer.h"

namespace {

using F = std::function<void()>;

double seconds(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int g_rounds = 12;

// theirs: the same in libtorch, or empty.
void line(const char* name, const F& ours, const F& theirs = {}) {
  double flops = 0, bytes = 0, best = 1e30, other = 1e30;
  {
    wick::Profiler profiler;
    ours();
    for (const wick::ProfileSlice& s : profiler.stop().slices) {
      flops += s.cost.flops();
      bytes += s.cost.bytes();
    }
  }
  if (theirs) theirs();
  for (int i = 0; i < g_rounds; ++i) {  // in turns
    best = std::min(best, seconds(ours));
    if (theirs) other = std::min(other, seconds(theirs));
  }
  const wick::Roofline roof = wick::machine_roofline();
  std::printf("%-34s %9.3f ms %7.1f GFLOP/s %6.1f GB/s %7.2f FLOP/B %4.0f %% of the roof, %s-bound",
              name, best * 1e3, flops / best / 1e9, bytes / best / 1e9, flops / bytes,
              100 * flops / best / roof.roof(flops, bytes), roof.bound(flops, bytes));
  if (theirs) std::printf(", libtorch %.3f ms: %.2f", other * 1e3, other / best);
  std::printf("\n");
}

#ifdef WICK_HAVE_TORCH
torch::Tensor theirs_of(const wick::Tensor& t) {
  std::vector<int64_t> shape(t.raw_shape().begin(), t.raw_shape().end());
  return torch::from_blob(const_cast<float*>(t.contiguous().data<float>()), shape).clone();
}
#define WICK_THEIRS(...) [&] { __VA_ARGS__; }
#else
#define WICK_THEIRS(...) F()
#endif

}  // namespace

int main(int argc, char** argv) {
  using namespace wick;
  const int threads = argc > 1 ? std::max(1, atoi(argv[1])) : 1;
  g_rounds = argc > 2 ? std::max(1, atoi(argv[2])) : g_rounds;
  set_num_threads(threads);
  manual_seed(0);
  NoGrad guard;
#ifdef WICK_HAVE_TORCH
  at::set_num_threads(threads);
  torch::NoGradGuard their_guard;
#endif
  std::printf("%s\n", machine_roofline().text().c_str());

  const Tensor a = randn({512, 512}), b = randn({512, 512});
#ifdef WICK_HAVE_TORCH
  const torch::Tensor ta = theirs_of(a), tb = theirs_of(b);
#endif
  line(
      "matmul 512", [&] { course::vectorized_matmul(a, b); }, WICK_THEIRS(torch::matmul(ta, tb)));
  line("tiled_matmul 512, tile 64", [&] { course::tiled_matmul(a, b, 64); });

  const Tensor x = randn({4096, 1024});
#ifdef WICK_HAVE_TORCH
  const torch::Tensor tx = theirs_of(x);
#endif
  line(
      "fused_gelu 4M", [&] { course::fused_gelu(x); }, WICK_THEIRS(torch::gelu(tx, "tanh")));
  line("unfused_gelu 4M", [&] { course::unfused_gelu(x); });

  for (int64_t width : {4095, 4096, 4097}) {
    const Tensor rows = randn({1024, width});
#ifdef WICK_HAVE_TORCH
    const torch::Tensor trows = theirs_of(rows);
#endif
    const std::string name = "softmax 1024 x " + std::to_string(width);
    line(
        name.c_str(), [&] { softmax(rows, -1); }, WICK_THEIRS(torch::softmax(trows, -1)));
  }

  const Tensor in = randn({512, 256}), w1 = randn({1024, 256}), b1 = randn({1024}),
               w2 = randn({256, 1024}), b2 = randn({256});
#ifdef WICK_HAVE_TORCH
  const torch::Tensor tin = theirs_of(in), tw1 = theirs_of(w1), tb1 = theirs_of(b1),
                      tw2 = theirs_of(w2), tb2 = theirs_of(b2);
#endif
  line(
      "fused_mlp 512 x 256, 1024 hidden", [&] { course::fused_mlp(in, w1, b1, w2, b2); },
      WICK_THEIRS(torch::linear(torch::gelu(torch::linear(tin, tw1, tb1)), tw2, tb2)));
  line("the same in parts", [&] { linear(gelu(matmul(in, w1.t()) + b1), w2, b2); });

  const Tensor image = randn({8, 32, 32, 32});
  course::Im2colConv2d columns(32, 64, 3, 1, 1);
  nn::Conv2d conv(32, 64, 3, {.padding = 1});
#ifdef WICK_HAVE_TORCH
  const torch::Tensor timage = theirs_of(image), tw = theirs_of(conv.weight.detach()),
                      tbias = theirs_of(conv.bias.detach());
#endif
  line("Im2colConv2d 8 x 32 x 32 x 32, 64", [&] { columns(image); });
  line(
      "Conv2d of the same", [&] { conv(image); },
      WICK_THEIRS(torch::conv2d(timage, tw, tbias, 1, 1)));

  for (int64_t tokens : {1024, 4096}) {
    const Tensor q = randn({4, tokens, 64}), k = randn({4, tokens, 64}), v = randn({4, tokens, 64});
#ifdef WICK_HAVE_TORCH
    const torch::Tensor tq = theirs_of(q), tk = theirs_of(k), tv = theirs_of(v);
#endif
    g_rounds = std::min(g_rounds, tokens > 1024 ? 3 : 12);
    const std::string name = "flash_attention 4 x " + std::to_string(tokens) + " x 64";
    line(name.c_str(), [&] { nn::flash_attention(q, k, v); });
    line(
        "exact attention of the same", [&] { scaled_dot_product_attention(q, k, v); },
        WICK_THEIRS(torch::matmul(
            torch::softmax(torch::matmul(tq * 0.125, tk.transpose(-2, -1)), -1), tv)));
  }
  return 0;
}
