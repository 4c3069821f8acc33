#include "trainer/profile/measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "trainer/explain/kept.h"
#include "trainer/explain/memory.h"
#include "trainer/explain/values.h"
#include "trainer/nn/summary.h"
#include "trainer/profile/profiler.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick {
namespace {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

// Sums the kernels of some passes, one profile per pass; `backward`: only those of gradients.
PassProfile summed(const std::vector<Profile>& passes, std::vector<double> milliseconds,
                   bool backward) {
  PassProfile result;
  const Roofline roof = machine_roofline();
  std::map<std::string, LayerProfile> layers;
  for (const Profile& p : passes) {
    for (const ProfileSlice& s : p.slices) {
      if (s.kind != SliceKind::kKernel || s.backward != backward) continue;
      LayerProfile& l = layers[s.module];
      l.flops += s.cost.flops();
      l.bytes += s.cost.bytes();
      l.milliseconds += s.seconds() * 1e3;
    }
  }
  const auto n = static_cast<double>(passes.size());
  for (auto& [path, l] : layers) {
    l.layer = path;
    l.flops /= n, l.bytes /= n, l.milliseconds /= n;
    l.bound = roof.bound(l.flops, l.bytes);
    result.flops += l.flops;
    result.bytes += l.bytes;
    result.layers.push_back(l);
  }
  std::stable_sort(
      result.layers.begin(), result.layers.end(),
      [](const LayerProfile& a, const LayerProfile& b) { return a.milliseconds > b.milliseconds; });
  result.milliseconds = median(std::move(milliseconds));
  result.bound = roof.bound(result.flops, result.bytes);
  if (result.milliseconds > 0) result.gflops_per_second = result.flops / result.milliseconds / 1e6;
  return result;
}

PassProfile profile_pass(nn::Module& module, const Tensor& input, const BenchmarkOptions& o,
                         bool backward) {
  Kept kept(module);
  std::vector<Profile> passes;
  std::vector<double> ms;
  for (int i = -o.warmup; i < std::max(o.runs, 1); ++i) {
    for (const Tensor& p : module.parameters()) p.set_grad(Tensor());
    Tensor loss;
    if (backward) loss = sum(module(input));
    if (backward && !loss.requires_grad()) {
      throw Error(
          "[profile_backward_pass] nothing requires a gradient: neither the input nor a "
          "parameter");
    }
    // Timed without a profiler, then recorded in a separate run.
    for (int recorded = 0; recorded < 2; ++recorded) {
      if (backward && recorded == 1) loss = sum(module(input));
      std::unique_ptr<Profiler> profiler;
      if (recorded == 1) profiler = std::make_unique<Profiler>();
      Timer timer;
      if (backward) {
        loss.backward();
      } else {
        module(input);
      }
      const double took = timer.milliseconds();
      if (i < 0) continue;
      if (recorded == 0) {
        ms.push_back(took);
      } else {
        passes.push_back(profiler->stop());
      }
    }
  }
  return summed(passes, std::move(ms), backward);
}

}  // namespace

int64_t count_flops(nn::Module& module, const Tensor& input) {
  NoGrad guard;
  EvalScope eval(module);
  Profiler profiler;
  module(input);
  double macs = 0;
  for (const ProfileSlice& s : profiler.stop().slices) macs += s.cost.macs;
  return static_cast<int64_t>(2 * macs);
}

MemoryUse measure_memory(nn::Module& module, const Tensor& input) {
  NoGrad guard;
  EvalScope eval(module);
  MemoryUse use;
  const Footprint own = memory_footprint(module);
  use.parameters = own.parameters + own.buffers;
  const size_t before = live_bytes();
  reset_peak_bytes();
  module(input);
  use.activations = static_cast<int64_t>(peak_bytes()) - static_cast<int64_t>(before);
  return use;
}

BenchmarkResult measure_latency(nn::Module& module, const Tensor& input,
                                const BenchmarkOptions& options, Where where) {
  if (options.warmup < 0 || options.runs < 1) {
    throw_error(
        "measure_latency",
        fmt::format("warmup {} and runs {}: at least 0 and 1", options.warmup, options.runs),
        where);
  }
  NoGrad guard;
  EvalScope eval(module);
  std::vector<double> ms;
  for (int i = -options.warmup; i < options.runs; ++i) {
    const double s = precise_timer([&] { module(input); });
    if (i >= 0) ms.push_back(s * 1e3);
  }
  return BenchmarkResult("latency", std::move(ms), "ms", where);
}

LayerProfile profile_layer(nn::Module& layer, const Tensor& input,
                           const BenchmarkOptions& options) {
  LayerProfile l;
  l.layer = layer.name();
  l.parameters = nn::count_parameters(layer);
  {
    NoGrad guard;
    EvalScope eval(layer);
    Profiler profiler;
    layer(input);
    for (const ProfileSlice& s : profiler.stop().slices) {
      l.flops += s.cost.flops();
      l.bytes += s.cost.bytes();
    }
  }
  l.milliseconds = measure_latency(layer, input, options).median;
  l.bound = machine_roofline().bound(l.flops, l.bytes);
  return l;
}

PassProfile profile_forward_pass(nn::Module& module, const Tensor& input,
                                 const BenchmarkOptions& options) {
  return profile_pass(module, input, options, false);
}
PassProfile profile_backward_pass(nn::Module& module, const Tensor& input,
                                  const BenchmarkOptions& options) {
  return profile_pass(module, input, options, true);
}

std::string PassProfile::text() const {
  std::string text =
      fmt::format("{:.4f} ms, {:.4g} MFLOP, {:.4g} MB moved, {:.2f} GFLOP/s, {}-bound\n",
                  milliseconds, flops / 1e6, bytes / 1e6, gflops_per_second, bound);
  size_t width = 5;
  for (const LayerProfile& l : layers) width = std::max(width, l.layer.size());
  for (const LayerProfile& l : layers) {
    text += fmt::format("  {:<{}}  {:>9.4f} ms  {:>9.4g} MFLOP  {:>9.4g} MB  {}\n",
                        l.layer.empty() ? "(own)" : l.layer, width, l.milliseconds, l.flops / 1e6,
                        l.bytes / 1e6, l.bound);
  }
  return text;
}

std::string quick_profile(nn::Module& module, const Tensor& input,
                          const BenchmarkOptions& options) {
  const MemoryUse use = measure_memory(module, input);
  std::string text = fmt::format(
      "parameters {} ({})\nflops      {} a forward pass\n", nn::count_parameters(module),
      bytes_text(static_cast<uint64_t>(use.parameters)), count_flops(module, input));
  text += fmt::format("memory     {} beside parameters and input\n",
                      bytes_text(static_cast<uint64_t>(use.activations)));
  text += measure_latency(module, input, options).text() + "\n";
  text += "forward: " + profile_forward_pass(module, input, options).text();
  const std::vector<Tensor> parameters = module.parameters();
  if (input.requires_grad() || std::any_of(parameters.begin(), parameters.end(),
                                           [](const Tensor& p) { return p.requires_grad(); })) {
    text += "backward: " + profile_backward_pass(module, input, options).text();
  }
  return text + machine_roofline().text() + "\n";
}

double amdahl_speedup(double fraction, double factor, Where where) {
  if (!(fraction >= 0 && fraction <= 1) || !(factor > 0)) {
    throw_error("amdahl_speedup",
                fmt::format("fraction {} and factor {}: in [0, 1] and above 0", fraction, factor),
                where);
  }
  return 1 / (1 - fraction + fraction / factor);
}

}  // namespace wick
