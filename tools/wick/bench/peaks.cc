#include "tools/wick/bench/peaks.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/core/thread_pool.h"
#include "runtime/kernels/simd.h"
#include "tools/lib/model.h"
#include "tools/lib/now_ms.h"
#include "tools/wick/bench/peak_loops.h"

namespace wick::tool {
namespace {

constexpr int kTries = 8;
constexpr double kLongEnoughMs = 2;  // beside which the start of a pool's threads is little
constexpr int64_t kMiB = 1 << 20;

struct EndPool {
  void operator()(ThreadPool* pool) const { ThreadPool::destroy(pool); }
};
using Pool = std::unique_ptr<ThreadPool, EndPool>;

// Returns the least milliseconds in which all of the pool's threads ran `part` once each.
template <class F>
double best_ms(ThreadPool& pool, const F& part) {
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double begin = now_ms();
    pool.run(pool.threads(), [&](int64_t task, int) { part(task); });
    const double ms = now_ms() - begin;
    if (i == 0 || ms < best) best = ms;
  }
  return best;
}

double peak_flops(ThreadPool& pool, const PeakLoops& loops) {
  volatile float sink = 0;  // what is computed must not be left out
  int64_t steps = 1 << 12;
  for (double ms = 0; ms < kLongEnoughMs; steps *= 2) {
    const double begin = now_ms();
    sink = loops.multiply_add(2 * steps);
    ms = now_ms() - begin;
  }
  std::vector<float> sums(static_cast<size_t>(pool.threads()));
  const double ms = best_ms(
      pool, [&](int64_t task) { sums[static_cast<size_t>(task)] = loops.multiply_add(steps); });
  sink = sums[0];
  (void)sink;
  return loops.flops_of_step * static_cast<double>(steps) * pool.threads() / ms * 1e3;
}

double peak_bytes(ThreadPool& pool, const PeakLoops& loops) {
  const int64_t cache = std::max<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
  const int64_t bytes = std::clamp(4 * cache, 64 * kMiB, 256 * kMiB);
  const int64_t each = bytes / 4 / pool.threads() / kReadAtOnce * kReadAtOnce;
  std::vector<float> memory(static_cast<size_t>(each * pool.threads()), 1.0f);
  std::vector<float> sums(static_cast<size_t>(pool.threads()));
  const double ms = best_ms(pool, [&](int64_t task) {
    sums[static_cast<size_t>(task)] = loops.read(memory.data() + task * each, each);
  });
  volatile float sink = sums[0];
  (void)sink;
  return 4.0 * static_cast<double>(memory.size()) / ms * 1e3;
}

}  // namespace

Roofline measure_peaks(int threads) {
  const Pool pool(take(ThreadPool::create(default_allocator(), threads), "threads of the peaks"));
  const PeakLoops loops = peak_loops();
  Roofline machine;
  machine.threads = threads;
  machine.flops_per_second = peak_flops(*pool, loops);
  machine.bytes_per_second = peak_bytes(*pool, loops);
  return machine;
}

const char* peak_target() {
  const int64_t all = simd_targets();
  return simd_target_name(all & -all);
}

}  // namespace wick::tool
