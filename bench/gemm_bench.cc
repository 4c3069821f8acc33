// Compares our SGEMM with oneDNN's in one run: both sides take turns, and the ratio is the median
// of the rounds.
//   gemm_bench [threads] [m n k ...]     (set OMP_NUM_THREADS to the same number for oneDNN)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/simd.h"

#ifdef WICK_HAVE_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

namespace {

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

template <class F>
double seconds(int repeat, F&& f) {
  double begin = now();
  for (int i = 0; i < repeat; ++i) f();
  return (now() - begin) / repeat;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Buffer {
  explicit Buffer(size_t floats)
      : data(static_cast<float*>(aligned_alloc(64, (floats * sizeof(float) + 127) / 64 * 64))) {
    for (size_t i = 0; i < floats; ++i) data[i] = static_cast<float>(i % 17) * 0.125f - 1.0f;
  }
  ~Buffer() { free(data); }
  Buffer(const Buffer&) = delete;
  float* data;
};

void bench(wick::ThreadPool* pool, int64_t m, int64_t n, int64_t k, bool prepacked) {
  const wick::TileKernels& t = wick::tile_kernels();
  const auto count = [](int64_t a, int64_t b) { return static_cast<size_t>(a * b); };
  Buffer a(count(m, k)), b(count(k, n)), c(count(m, n)), peer(count(m, n));
  Buffer scratch(wick::gemm_scratch_bytes(t, m, n, k, prepacked, pool->threads()) / 4 + 16);
  Buffer packed(prepacked ? wick::gemm_packed_b_bytes(t, k, n) / 4 : 1);
  if (prepacked) wick::gemm_pack_b(t, b.data, n, 1, k, n, packed.data);
  wick::Gemm g;
  g.m = m, g.n = n, g.k = k;
  g.a = a.data, g.a_row = k, g.a_col = 1;
  g.b = b.data, g.b_row = n, g.b_col = 1;
  g.packed_b = prepacked ? packed.data : nullptr;
  g.c = c.data, g.c_row = n;
  auto ours = [&] { wick::gemm(t, g, scratch.data, pool); };
#ifdef WICK_HAVE_DNNL
  auto theirs = [&] {
    dnnl_sgemm('N', 'N', m, n, k, 1.0f, a.data, k, b.data, n, 0.0f, peer.data, n);
  };
#else
  auto theirs = ours;
#endif
  ours(), theirs();
  const int repeat = std::max(1, static_cast<int>(0.01 / std::max(1e-7, seconds(1, ours))));
  std::vector<double> mine, others, ratios;
  for (int round = 0; round < 15; ++round) {
    mine.push_back(seconds(repeat, ours));
    others.push_back(seconds(repeat, theirs));
    ratios.push_back(others.back() / mine.back());
  }
  const double gflop =
      2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  printf("%5ld x %5ld x %5ld %s T=%d  wick %8.2f GFLOP/s (best %8.2f)", m, n, k,
         prepacked ? "packed" : "      ", pool->threads(), gflop / median(mine),
         gflop / *std::min_element(mine.begin(), mine.end()));
#ifdef WICK_HAVE_DNNL
  printf("  oneDNN %8.2f (best %8.2f)  ratio %.3f", gflop / median(others),
         gflop / *std::min_element(others.begin(), others.end()), median(ratios));
#endif
  printf("\n");
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  auto pool = wick::ThreadPool::create(wick::default_allocator(), threads);
  if (!pool.ok()) return 1;
  printf("target %s\n", wick::simd_target_name(wick::simd_targets() & -wick::simd_targets()));
  if (argc > 4) {
    for (int i = 2; i + 2 < argc; i += 3) {
      bench(pool.value(), atol(argv[i]), atol(argv[i + 1]), atol(argv[i + 2]), false);
      bench(pool.value(), atol(argv[i]), atol(argv[i + 1]), atol(argv[i + 2]), true);
    }
  } else {
    for (int64_t n : {64, 128, 256, 512, 1024, 2048}) bench(pool.value(), n, n, n, false);
    for (int64_t m : {1, 8, 64}) {
      bench(pool.value(), m, 4096, 4096, false);
      bench(pool.value(), m, 4096, 4096, true);
    }
  }
  wick::ThreadPool::destroy(pool.value());
}
