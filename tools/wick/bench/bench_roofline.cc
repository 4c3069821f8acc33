// wick bench --roofline: each node beside what this machine can do.
#include <fmt/core.h>

#include <map>

#include "tools/lib/node_roof.h"
#include "tools/wick/bench/bench.h"
#include "tools/wick/bench/peaks.h"
#include "tools/wick/command.h"

namespace wick::tool {
namespace {

nlohmann::json peaks_json(const Roofline& machine) {
  return {{"threads", machine.threads},
          {"flops_per_second", machine.flops_per_second},
          {"bytes_per_second", machine.bytes_per_second},
          {"target", peak_target()}};
}

nlohmann::json rows_json(const std::vector<NodeRow>& rows) {
  auto nodes = nlohmann::json::array();
  for (const NodeRow& r : rows) {
    nodes.push_back({{"op", r.op},
                     {"node", r.node},
                     {"kernel", r.kernel},
                     {"ms", r.ms},
                     {"gflops", r.roof.gflops},
                     {"gbytes_per_s", r.roof.gbytes},
                     {"of_peak_flops", r.roof.of_flops},
                     {"of_peak_bytes", r.roof.of_bytes},
                     {"verdict", bound_name(r.roof.bound)}});
  }
  return nodes;
}

}  // namespace

void bench_roofline(const BenchCommand& c, std::vector<BatchFigures>* batches) {
  std::map<int, Roofline> peaks;  // by threads: of one, and of as many as ran
  peaks[1] = measure_peaks(1);
  for (const BatchFigures& b : *batches) {
    if (!peaks.contains(b.threads)) peaks[b.threads] = measure_peaks(b.threads);
  }
  for (const auto& [threads, machine] : peaks) {
    if (!c.json) fmt::print("peaks of this machine, {}, {}\n", peak_target(), machine.text());
  }
  for (BatchFigures& b : *batches) {
    const std::vector<NodeRow> rows = node_rows(b.trace, b.runs, peaks[b.threads]);
    const BoundTimes t = bound_times(rows);
    nlohmann::json& doc = b.row["roofline"];
    for (const auto& [threads, machine] : peaks) doc["peaks"].push_back(peaks_json(machine));
    doc["nodes"] = rows_json(rows);
    doc["verdict_ms"] = {
        {"compute-bound", t.compute}, {"memory-bound", t.memory}, {"overhead", t.overhead}};
    if (c.json) continue;
    fmt::print("batch {}, threads {}:\n{}", b.batch, b.threads, roof_table(rows));
  }
}

}  // namespace wick::tool
