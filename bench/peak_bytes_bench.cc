// Measures the peak bytes of one training step of a deep MLP (forward, backward) beyond what lived
// before it, and compares with libtorch in the same program, whose allocations go through a
// counting allocator: peak_bytes_bench [layers] [width] [rows].
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#ifdef WICK_HAVE_TORCH
#include <torch/torch.h>
#endif

#include "trainer/tensor/storage.h"
#include "wick/trainer.h"

namespace {

struct Sizes {
  int64_t layers, width, rows;
};

size_t ours(const Sizes& s) {
  wick::manual_seed(1);
  wick::nn::Sequential net;
  for (int64_t i = 0; i < s.layers; ++i) {
    net.push_back(std::make_shared<wick::nn::Linear>(s.width, s.width));
    net.push_back(std::make_shared<wick::nn::Tanh>());
  }
  wick::Tensor x = wick::randn({s.rows, s.width});
  size_t before = wick::live_bytes();
  wick::reset_peak_bytes();
  wick::Tensor loss = wick::mean(net(x));
  loss.backward();
  return wick::peak_bytes() - before;
}

#ifdef WICK_HAVE_TORCH
// Counts the bytes asked for, as wick does.
struct Counting final : c10::Allocator {
  static inline size_t live = 0, peak = 0;
  struct Block {
    void* memory;
    size_t bytes;
  };
  c10::DataPtr allocate(size_t n) const override {
    auto* block = new Block{aligned_alloc(64, (n + 63) / 64 * 64 + 64), n};
    live += n;
    peak = std::max(peak, live);
    return {block->memory, block,
            [](void* p) {
              auto* b = static_cast<Block*>(p);
              live -= b->bytes;
              free(b->memory);
              delete b;
            },
            c10::DeviceType::CPU};
  }
};

size_t theirs(const Sizes& s) {
  static Counting counting;
  c10::SetAllocator(c10::DeviceType::CPU, &counting, 1);
  torch::nn::Sequential net;
  for (int64_t i = 0; i < s.layers; ++i) {
    net->push_back(torch::nn::Linear(s.width, s.width));
    net->push_back(torch::nn::Tanh());
  }
  torch::Tensor x = torch::randn({s.rows, s.width});
  size_t before = Counting::live;
  Counting::peak = before;
  torch::Tensor loss = torch::mean(net->forward(x));
  loss.backward();
  return Counting::peak - before;
}
#endif

int64_t argument(int argc, char** argv, int i, int64_t otherwise) {
  return argc > i ? atoll(argv[i]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  Sizes s{argument(argc, argv, 1, 50), argument(argc, argv, 2, 256), argument(argc, argv, 3, 512)};
  size_t wick_bytes = ours(s);
  printf("%lld layers of %lld, %lld rows: wick %zu bytes", static_cast<long long>(s.layers),
         static_cast<long long>(s.width), static_cast<long long>(s.rows), wick_bytes);
#ifdef WICK_HAVE_TORCH
  size_t torch_bytes = theirs(s);
  printf(", libtorch %zu bytes, ratio %.3f", torch_bytes,
         static_cast<double>(wick_bytes) / static_cast<double>(torch_bytes));
#endif
  printf("\n%zu bytes of scratch beside wick's (libtorch's is its BLAS's own, uncounted)\n",
         wick::scratch_bytes());
  return 0;
}
