// The memory of tensors: elements times bytes each, exactly; float64 takes twice as much as
// float32. Also the peak of a product, and the size of whole data sets.
#include <wick/trainer.h>

#include <cstdio>

using namespace wick;  // NOLINT: an example

int main() {
  std::puts("1000 x 1000 of");
  for (DType t : {DType::kF64, DType::kF32, DType::kBF16, DType::kI8}) {
    size_t before = live_bytes();
    Tensor a = zeros({1000, 1000}, t);
    std::printf("  %-8s  footprint %7lld bytes, allocated %7zu\n", dtype_name(t),
                static_cast<long long>(memory_footprint(a)), live_bytes() - before);
  }

  Tensor a = ones({1000, 1000}), b = ones({1000, 1000});
  reset_peak_bytes();
  Tensor c = matmul(a, b);
  std::printf("A @ B: peak %zu bytes, A, B and the result\n", peak_bytes());
  Tensor turned = c.t();
  std::printf("a transposed view of it: footprint %lld bytes, all together still %zu\n",
              static_cast<long long>(memory_footprint(turned)), live_bytes());
  // The product packs B in blocks, in buffers that are kept: at most 16 MiB, and 1 MiB per thread.
  size_t most = static_cast<size_t>(16 + num_threads()) << 20;
  std::printf("kernels' scratch, apart from that: bounded, %s\n",
              scratch_bytes() <= most ? "yes" : "NO");

  // Data sets held in memory as float32 are arithmetic too.
  auto bytes = [](double images, double numbers) { return images * numbers * 4; };
  std::printf("MNIST, 60,000 x 784 x 4: %.1f MiB\n", bytes(60e3, 784) / (1 << 20));
  std::printf("ImageNet, 1.2 million x 3 x 224 x 224 x 4: %.1f GiB\n",
              bytes(1.2e6, 3. * 224 * 224) / (1 << 30));
}
