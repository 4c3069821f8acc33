#include "tools/lib/node_roof.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/lib/text.h"

namespace wick::tool {

const char* bound_name(Bound bound) {
  if (bound == Bound::kCompute) return "compute-bound";
  return bound == Bound::kMemory ? "memory-bound" : "overhead";
}

NodeRoof node_roof(const OpCost& cost, double ms, const Roofline& machine) {
  NodeRoof roof;
  if (ms <= 0) return roof;
  const double flops = cost.flops() / ms * 1e3, bytes = cost.bytes() / ms * 1e3;
  roof.gflops = flops / 1e9;
  roof.gbytes = bytes / 1e9;
  roof.of_flops = machine.flops_per_second > 0 ? flops / machine.flops_per_second : 0;
  roof.of_bytes = machine.bytes_per_second > 0 ? bytes / machine.bytes_per_second : 0;
  if (std::max(roof.of_flops, roof.of_bytes) < kOverheadShare) return roof;
  roof.bound = roof.of_flops >= roof.of_bytes ? Bound::kCompute : Bound::kMemory;
  return roof;
}

std::vector<NodeRow> node_rows(const NodeTimes& times, size_t runs, const Roofline& machine) {
  std::vector<NodeRow> rows;
  for (const NodeTimes::Step* s : times.in_order()) {
    NodeRow row = {s->op, s->node, s->kernel, s->ms(runs), {}};
    OpCost one = s->cost;  // a run's, as the time is
    for (double* part : {&one.macs, &one.other, &one.bytes_read, &one.bytes_written})
      *part /= static_cast<double>(std::max<size_t>(runs, 1));
    row.roof = node_roof(one, row.ms, machine);
    rows.push_back(std::move(row));
  }
  return rows;
}

BoundTimes bound_times(const std::vector<NodeRow>& rows) {
  BoundTimes sums;
  for (const NodeRow& r : rows) {
    double& sum = r.roof.bound == Bound::kCompute  ? sums.compute
                  : r.roof.bound == Bound::kMemory ? sums.memory
                                                   : sums.overhead;
    sum += r.ms;
  }
  return sums;
}

std::string roof_table(const std::vector<NodeRow>& rows) {
  size_t op = 2, node = 4, kernel = 6;
  for (const NodeRow& r : rows) {
    op = std::max(op, r.op.size());
    node = std::max(node, std::min<size_t>(r.node.size(), 40));
    kernel = std::max(kernel, r.kernel.size());
  }
  std::string out =
      fmt::format("{:<{}} {:<{}} {:<{}} {:>10} {:>9} {:>7} {:>8} {:>7}  verdict\n", "op", op,
                  "node", node, "kernel", kernel, "ms", "GFLOP/s", "of peak", "GB/s", "of peak");
  for (const NodeRow& r : rows) {
    out += fmt::format(
        "{:<{}} {:<{}} {:<{}} {:>10.4f} {:>9.1f} {:>5.0f} % {:>8.1f} {:>5.0f} %  {}\n", r.op, op,
        one_line(r.node.substr(0, 40)), node, r.kernel, kernel, r.ms, r.roof.gflops,
        100 * r.roof.of_flops, r.roof.gbytes, 100 * r.roof.of_bytes, bound_name(r.roof.bound));
  }
  const BoundTimes t = bound_times(rows);
  const double all = t.compute + t.memory + t.overhead, percent = all > 0 ? 100 / all : 0;
  return out + fmt::format(
                   "{:.4f} ms in nodes: {:.0f} % compute-bound, {:.0f} % memory-bound, "
                   "{:.0f} % overhead\n",
                   all, percent * t.compute, percent * t.memory, percent * t.overhead);
}

}  // namespace wick::tool
