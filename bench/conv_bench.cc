// Times f32 convolutions at batch 1 (LeNet's at 64 too), each way of cutting them (* is the one
// chosen), and the gradients of training.
//   conv_bench [threads]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/kernels/conv/conv.h"
#include "trainer/kernels/conv_grad.h"

namespace {

using namespace wick;

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

struct Row {
  const char* name;
  int64_t n, ic, hw, oc, kernel, stride, pad, groups;
};

constexpr Row kRows[] = {
    {"lenet conv1", 1, 1, 28, 32, 3, 1, 1, 1},
    {"lenet conv2", 1, 32, 14, 64, 3, 1, 1, 1},
    {"lenet conv1 b64", 64, 1, 28, 32, 3, 1, 1, 1},
    {"lenet conv2 b64", 64, 32, 14, 64, 3, 1, 1, 1},
    {"resnet stem", 1, 3, 224, 64, 7, 2, 3, 1},
    {"resnet 56", 1, 64, 56, 64, 3, 1, 1, 1},
    {"resnet 56/2", 1, 64, 56, 128, 3, 2, 1, 1},
    {"resnet 28", 1, 128, 28, 128, 3, 1, 1, 1},
    {"resnet 14", 1, 256, 14, 256, 3, 1, 1, 1},
    {"resnet 7", 1, 512, 7, 512, 3, 1, 1, 1},
    {"resnet down", 1, 256, 14, 512, 1, 2, 0, 1},
    {"mobile stem", 1, 3, 224, 32, 3, 2, 1, 1},
    {"mobile expand 112", 1, 16, 112, 96, 1, 1, 0, 1},
    {"mobile project 56", 1, 96, 56, 24, 1, 1, 0, 1},
    {"mobile expand 14", 1, 64, 14, 384, 1, 1, 0, 1},
    {"mobile head 7", 1, 320, 7, 1280, 1, 1, 0, 1},
    {"depthwise 112", 1, 32, 112, 32, 3, 1, 1, 32},
    {"depthwise 112/2", 1, 96, 112, 96, 3, 2, 1, 96},
    {"depthwise 28", 1, 192, 28, 192, 3, 1, 1, 192},
    {"depthwise 14", 1, 384, 14, 384, 3, 1, 1, 384},
    {"depthwise 7", 1, 960, 7, 960, 3, 1, 1, 960},
};

constexpr Row kGradientRows[] = {
    {"lenet conv1 b64", 64, 1, 28, 32, 3, 1, 1, 1},
    {"lenet conv2 b64", 64, 32, 14, 64, 3, 1, 1, 1},
    {"resnet 8 b32", 32, 128, 8, 128, 3, 1, 1, 1},
    {"resnet 16/2 b32", 32, 64, 16, 128, 3, 2, 1, 1},
};

struct Buffer {
  explicit Buffer(size_t bytes)
      : data(static_cast<float*>(aligned_alloc(64, (bytes + 127) / 64 * 64))), count(bytes / 4) {
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<float>(i % 17) * 0.125f - 1.0f;
  }
  ~Buffer() { free(data); }
  Buffer(const Buffer&) = delete;
  float* data;
  size_t count;
};

void bench(const Row& r, ThreadPool* pool) {
  ConvShape s;
  s.n = r.n, s.ic = r.ic, s.h = s.w = r.hw, s.oc = r.oc, s.kh = s.kw = r.kernel;
  s.stride_h = s.stride_w = r.stride, s.pad_top = s.pad_left = r.pad, s.groups = r.groups;
  s.oh = s.ow = (r.hw + 2 * r.pad - r.kernel) / r.stride + 1;
  const TileKernels& t = tile_kernels();
  const auto floats = [](int64_t n) { return static_cast<size_t>(n) * 4; };
  Buffer x(floats(s.n * s.ic * s.h * s.w)), w(floats(s.oc * s.group_in() * s.taps()));
  Buffer y(floats(s.n * s.oc * s.oh * s.ow)), bias(floats(s.oc));
  Epilogue e;
  e.bias = bias.data;
  e.act = Activation::kRelu;
  const double gflop =
      2e-9 * static_cast<double>(s.n * s.oc * s.oh * s.ow * s.group_in() * s.taps());
  printf("%-18s", r.name);
  const ConvPlan best = conv_plan(t, s, pool->threads());
  for (auto path :
       {ConvPlan::Path::kPixels, ConvPlan::Path::kChannels, ConvPlan::Path::kDepthwise}) {
    if ((path == ConvPlan::Path::kDepthwise) != (s.groups > 1)) continue;
    const ConvPlan plan = conv_plan_for(s, pool->threads(), path);
    Buffer packed(conv_packed_bytes(t, plan)),
        scratch(conv_scratch_bytes(t, plan, pool->threads()));
    conv_pack(t, plan, w.data, packed.data);
    auto once = [&] { conv(t, plan, x.data, packed.data, y.data, e, scratch.data, pool); };
    once();
    double begin = now();
    once();
    const int repeat = std::max(1, static_cast<int>(0.005 / std::max(1e-7, now() - begin)));
    std::vector<double> times;
    for (int round = 0; round < 9; ++round) {
      begin = now();
      for (int i = 0; i < repeat; ++i) once();
      times.push_back((now() - begin) / repeat);
    }
    std::sort(times.begin(), times.end());
    constexpr const char* kNames[] = {"pixels", "channels", "depthwise"};
    printf("  %s%-9s %9.2f us %7.2f GFLOP/s", path == best.path ? "*" : " ",
           kNames[static_cast<int>(path)], times[times.size() / 2] * 1e6,
           gflop / times[times.size() / 2]);
  }
  printf("\n");
  fflush(stdout);
}

// Times both gradients of LeNet's training convolutions.
void bench_gradients(const Row& r, ThreadPool* pool) {
  ConvShape s;
  s.n = r.n, s.ic = r.ic, s.h = s.w = r.hw, s.oc = r.oc, s.kh = s.kw = r.kernel;
  s.stride_h = s.stride_w = r.stride, s.pad_top = s.pad_left = r.pad, s.groups = r.groups;
  s.oh = s.ow = (r.hw + 2 * r.pad - r.kernel) / r.stride + 1;
  const TileKernels& t = tile_kernels();
  const int threads = pool->threads();
  const auto floats = [](int64_t n) { return static_cast<size_t>(n) * 4; };
  Buffer x(floats(s.n * s.ic * s.h * s.w)), w(floats(s.oc * s.group_in() * s.taps()));
  Buffer y(floats(s.n * s.oc * s.oh * s.ow));
  Buffer a(conv_input_grad_scratch_bytes(t, s, threads)),
      b(conv_weight_grad_scratch_bytes(t, s, threads));
  const double gflop =
      2e-9 * static_cast<double>(s.n * s.oc * s.oh * s.ow * s.group_in() * s.taps());
  printf("%-18s", r.name);
  for (int which = 0; which < 2; ++which) {
    std::vector<double> times;
    for (int round = 0; round < 9; ++round) {
      const double begin = now();
      if (which == 0) {
        conv_input_grad(t, s, y.data, w.data, x.data, a.data, threads, pool);
      } else {
        conv_weight_grad(t, s, x.data, y.data, w.data, b.data, threads, pool);
      }
      times.push_back(now() - begin);
    }
    std::sort(times.begin(), times.end());
    printf("   %-12s %9.2f us %7.2f GFLOP/s", which == 0 ? "input grad" : "weight grad",
           times[4] * 1e6, gflop / times[4]);
  }
  printf("\n");
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  auto pool = ThreadPool::create(default_allocator(), argc > 1 ? atoi(argv[1]) : 1);
  if (!pool.ok()) return 1;
  for (const Row& r : kRows) bench(r, pool.value());
  for (const Row& r : kGradientRows) bench_gradients(r, pool.value());
  ThreadPool::destroy(pool.value());
}
