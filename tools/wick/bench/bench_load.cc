// wick bench --load: what a process pays before its first run.
#include <fmt/core.h>

#include "tools/lib/now_ms.h"
#include "tools/lib/process_time.h"
#include "tools/wick/bench/bench.h"
#include "tools/wick/bench/machine.h"
#include "tools/wick/command.h"

namespace wick::tool {
namespace {

// Measures from nothing to a session that is bound to shapes: everything before the first run.
nlohmann::json load_once(const BenchCommand& c) {
  const double cpu_before = cpu_ms();
  Model model = Model::open(c.model, {.lower_qdq = c.lower_qdq});
  const double begin = now_ms();
  Runner runner(model, {.backend = c.backend,
                        .threads = c.threads,
                        .device = c.device,
                        .or_cpu = c.fallback.allowed,
                        .all_it_can = c.all_it_can,
                        .unchecked = c.checks.skipped,
                        .device_cache = c.checks.device_cache,
                        .entry = c.entry});
  std::vector<Shape> shapes;
  for (const HostTensor& t :
       bench_inputs(c, runner.session(), model.program(), c.first_batch()).inputs)
    shapes.push_back(t.shape());
  check(runner.session().bind(shapes), "bind");
  const double session_ms = now_ms() - begin;
  return {{"load_ms", model.load_ms()},
          {"session_ms", session_ms},
          {"total_ms", model.load_ms() + session_ms},
          {"cpu_ms", cpu_ms() - cpu_before},
          {"steps", runner.session().step_count()},
          {"packed_bytes", runner.session().packed_bytes()},
          {"resident_mb", resident_mb(c.model)},
          {"peak_rss_mb", peak_rss_mb()}};
}

}  // namespace

void bench_load(const BenchCommand& c) {
  nlohmann::json row = load_once(c);
  const nlohmann::json again = load_once(c);
  row["again_ms"] = again["total_ms"];
  row["again_cpu_ms"] = again["cpu_ms"];
  if (c.json) return print_json(row);
  fmt::print(
      "load {:.2f} ms, session {:.2f} ms, {} steps, {:.1f} MB packed, RSS {:.1f} MB, peak {:.1f} "
      "MB; again "
      "{:.2f} ms\n",
      row["load_ms"].get<double>(), row["session_ms"].get<double>(), row["steps"].get<size_t>(),
      row["packed_bytes"].get<double>() / 1e6, row["resident_mb"].get<double>(),
      row["peak_rss_mb"].get<double>(), row["again_ms"].get<double>());
}

}  // namespace wick::tool
