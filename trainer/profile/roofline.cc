#include "trainer/profile/roofline.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "trainer/profile/timer.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

template <class F>
double best_seconds(const F& f, int runs) {
  f();  // touches pages and allocates buffers
  double best = 0;
  for (int i = 0; i < runs; ++i) {
    Timer timer;
    f();
    const double s = timer.seconds();
    if (i == 0 || s < best) best = s;
  }
  return best;
}

// Disables the thread's own hooks, which would report the measurement.
struct Unheard {
  Unheard() : saved(modes()) {
    modes().trace_hook = nullptr;
    modes().watcher = nullptr;
    modes().grad = false;
    modes().forward = 0;
  }
  ~Unheard() { modes() = saved; }
  Modes saved;
};

Roofline measure() {
  Unheard unheard;
  TracerScope untraced(nullptr);
  Roofline r;
  r.threads = num_threads();
  constexpr int64_t n = 512;
  const Tensor a = ones({n, n}), b = ones({n, n});
  r.flops_per_second = 2.0 * n * n * n / best_seconds([&] { matmul(a, b); }, 8);
  // Uses its own memory, returned to the system afterwards, so that the allocator is not affected.
  std::vector<float> bytes(size_t{24} << 20, 1.0f);
  const auto half = static_cast<int64_t>(bytes.size() / 2);
  TensorView in[2] = {TensorView(bytes.data(), DType::kF32, Shape{half}),
                      TensorView(bytes.data() + half, DType::kF32, Shape{half})};
  TensorView out[1] = {in[0]};  // in place: the pages of a new result would be counted too
  const double s = best_seconds(
      [&] { run_kernel(OpId::kAdd, nullptr, in, out, Where::current(), kInPlace); }, 4);
  r.bytes_per_second = 3.0 * 4 * static_cast<double>(half) / s;
  return r;
}

}  // namespace

double Roofline::roof(double flops, double bytes) const {
  if (bytes <= 0) return flops_per_second;
  return std::min(flops_per_second, flops / bytes * bytes_per_second);
}

const char* Roofline::bound(double flops, double bytes) const {
  if (flops <= 0 && bytes <= 0) return "-";
  return flops >= ridge() * bytes ? "compute" : "memory";
}

std::string Roofline::text() const {
  return fmt::format(
      "{} thread{}: {:.1f} GFLOP/s, {:.1f} GB/s; compute-bound from {:.1f} FLOPs a byte", threads,
      threads == 1 ? "" : "s", flops_per_second / 1e9, bytes_per_second / 1e9, ridge());
}

Roofline machine_roofline() {
  static std::mutex mutex;
  static std::map<int, Roofline> known;
  std::lock_guard lock(mutex);
  auto it = known.find(num_threads());
  if (it == known.end()) it = known.emplace(num_threads(), measure()).first;
  return it->second;
}

}  // namespace wick
