// A matrix product in one file: tiles of registers inside of panels that fit a cache. It has the
// bits of three plain loops, and more than half of OpenBLAS's speed (docs/use/course-kernels.md).
//   tiled_matmul           checks sizes that no tile divides
//   tiled_matmul --bench   times it on one thread, beside libopenblas.so.0 where that is installed
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "examples/tiled_matmul/main.cc"
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tiled {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;

// A tile is kRows rows and two vectors of columns: its sums stay in registers, of which there are
// 16, or 32 with AVX-512 and on aarch64. A term costs two loads of b and a broadcast of a for each
// row.
constexpr int kRows = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 ? 6 : 12;
// So many terms at a time: a panel of b, kDepth x 2 vectors, stays in the first cache while all
// rows of a pass by.
constexpr int64_t kDepth = 256;

// c[0..R)[2 vectors] += a[0..R)[depth] * panel[depth][2 vectors], each sum in the order of its
// terms.
template <int R>
void tile(const float* a, int64_t a_row, const float* panel, int64_t depth, float* c,
          int64_t c_row) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sum[R][2];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < 2; ++v) sum[r][v] = hn::LoadU(d, c + r * c_row + v * lanes);
  }
  for (int64_t k = 0; k < depth; ++k) {
    const auto b0 = hn::LoadU(d, panel + 2 * k * lanes);
    const auto b1 = hn::LoadU(d, panel + (2 * k + 1) * lanes);
    for (int r = 0; r < R; ++r) {
      const auto x = hn::Set(d, a[r * a_row + k]);
      sum[r][0] = hn::MulAdd(x, b0, sum[r][0]);
      sum[r][1] = hn::MulAdd(x, b1, sum[r][1]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < 2; ++v) hn::StoreU(sum[r][v], d, c + r * c_row + v * lanes);
  }
}

// Runs a tile of `rows` <= R rows.
template <int R>
void tile_of(int64_t rows, const float* a, int64_t a_row, const float* panel, int64_t depth,
             float* c, int64_t c_row) {
  if (rows == R) return tile<R>(a, a_row, panel, depth, c, c_row);
  if constexpr (R > 1) tile_of<R - 1>(rows, a, a_row, panel, depth, c, c_row);
}

void product(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
  const auto width = 2 * static_cast<int64_t>(hn::Lanes(D()));
  std::vector<float> panel(static_cast<size_t>(kDepth * width));
  std::vector<float> edge(static_cast<size_t>(kRows * width));
  std::fill_n(c, m * n, 0.0f);
  for (int64_t first = 0; first < k; first += kDepth) {
    const int64_t depth = std::min(kDepth, k - first);
    for (int64_t j = 0; j < n; j += width) {
      const int64_t columns = std::min(width, n - j);
      for (int64_t t = 0; t < depth; ++t) {  // rows of the panel lie one behind the other
        float* to = panel.data() + t * width;
        std::copy_n(b + (first + t) * n + j, columns, to);
        std::fill(to + columns, to + width, 0.0f);
      }
      for (int64_t i = 0; i < m; i += kRows) {
        const int64_t rows = std::min<int64_t>(kRows, m - i);
        const float* from = a + i * k + first;
        float* to = c + i * n + j;
        if (columns == width) {
          tile_of<kRows>(rows, from, k, panel.data(), depth, to, n);
          continue;
        }
        // The last columns are computed in a tile of their own: a vector would write beyond them.
        for (int64_t r = 0; r < rows; ++r)
          std::copy_n(to + r * n, columns, edge.data() + r * width);
        tile_of<kRows>(rows, from, k, panel.data(), depth, edge.data(), width);
        for (int64_t r = 0; r < rows; ++r)
          std::copy_n(edge.data() + r * width, columns, to + r * n);
      }
    }
  }
}

// One step of a sum as the vectors do it: rounded once where the CPU has fused multiply-adds.
float step(float a, float b, float sum) {
  const D d;
  return hn::GetLane(hn::MulAdd(hn::Set(d, a), hn::Set(d, b), hn::Set(d, sum)));
}

}  // namespace HWY_NAMESPACE
}  // namespace tiled
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <dlfcn.h>

namespace tiled {
HWY_EXPORT(product);
HWY_EXPORT(step);
namespace {

std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::vector<float> x(static_cast<size_t>(count));
  for (float& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return x;
}

// Three loops; each sum is a chain of multiply-adds, the terms ascending.
std::vector<float> plain(const std::vector<float>& a, const std::vector<float>& b, int64_t m,
                         int64_t n, int64_t k) {
  std::vector<float> c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t t = 0; t < k; ++t)
        sum = HWY_DYNAMIC_DISPATCH(step)(a[static_cast<size_t>(i * k + t)],
                                         b[static_cast<size_t>(t * n + j)], sum);
      c[static_cast<size_t>(i * n + j)] = sum;
    }
  }
  return c;
}

bool check(int64_t m, int64_t n, int64_t k) {
  const std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2),
                           want = plain(a, b, m, n, k);
  std::vector<float> c(want.size());
  HWY_DYNAMIC_DISPATCH(product)(a.data(), b.data(), c.data(), m, n, k);
  const bool same = std::memcmp(c.data(), want.data(), c.size() * sizeof(float)) == 0;
  std::printf("%lld x %lld x %lld: %s\n", static_cast<long long>(m), static_cast<long long>(n),
              static_cast<long long>(k), same ? "the bits of three plain loops" : "OTHER BITS");
  return same;
}

template <class F>
double best_gflops(int64_t n, const F& f) {
  double best = 1e30;
  for (int i = 0; i < 9; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> s = std::chrono::steady_clock::now() - begin;
    best = std::min(best, s.count());
  }
  return 2.0 * static_cast<double>(n * n * n) / best / 1e9;
}

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                       float, float*, int);

void bench() {
  void* blas = dlopen("libopenblas.so.0", RTLD_NOW);
  const auto sgemm =
      blas == nullptr ? nullptr : reinterpret_cast<Sgemm>(dlsym(blas, "cblas_sgemm"));
  const auto threads =
      blas == nullptr ? nullptr
                      : reinterpret_cast<void (*)(int)>(dlsym(blas, "openblas_set_num_threads"));
  if (threads != nullptr) threads(1);
  for (int64_t n : {256, 512, 1024}) {
    const std::vector<float> a = numbers(n * n, 1), b = numbers(n * n, 2);
    std::vector<float> c(a.size());
    const double ours = best_gflops(n, [&] {
      HWY_DYNAMIC_DISPATCH(product)(a.data(), b.data(), c.data(), n, n, n);
    });
    std::printf("%lld: %.1f GFLOP/s", static_cast<long long>(n), ours);
    if (sgemm != nullptr) {
      const auto s = static_cast<int>(n);
      constexpr int kRowMajor = 101, kAsItIs = 111;
      const double theirs = best_gflops(n, [&] {
        sgemm(kRowMajor, kAsItIs, kAsItIs, s, s, s, 1, a.data(), s, b.data(), s, 0, c.data(), s);
      });
      std::printf(", OpenBLAS %.1f: %.0f %%", theirs, 100 * ours / theirs);
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace tiled

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--bench") == 0) {
    tiled::bench();
    return 0;
  }
  bool same = true;
  const int64_t sizes[][3] = {{1, 1, 1}, {5, 7, 3}, {64, 64, 64}, {13, 33, 300}, {37, 130, 513}};
  for (const auto& s : sizes) same = tiled::check(s[0], s[1], s[2]) && same;
  return same ? 0 : 1;
}
#endif
