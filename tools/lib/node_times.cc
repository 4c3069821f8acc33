#include "tools/lib/node_times.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/ops/op_info.h"
#include "tools/lib/text.h"

namespace wick::tool {

double NodeTimes::Step::ms(size_t runs) const {
  if (ns.empty() || runs == 0) return 0;
  std::vector<uint64_t> sorted = ns;
  auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return static_cast<double>(*middle) / 1e6 * static_cast<double>(ns.size()) /
         static_cast<double>(runs);
}

void NodeTimes::on_op(const TraceEvent& e) {
  Step& step = steps_[{e.op, e.node, e.kernel}];
  if (step.ns.empty()) {
    step.op = e.op;
    step.node = e.node;
    step.kernel = e.kernel;
    step.backend = e.backend;
    step.order = steps_.size();
    for (const TensorView& v : e.in) step.in.push_back(v.shape);
    for (const TensorView& v : e.out) step.out.push_back(v.shape);
  }
  step.ns.push_back(e.end_ns - e.begin_ns);
  const auto node = nodes_.find({e.op, e.node});
  if (node == nodes_.end()) return;
  const OpCost one = op_cost(node->second->op, node->second->attrs, e.in, e.out);
  step.cost.macs += one.macs;
  step.cost.other += one.other;
  step.cost.bytes_read += one.bytes_read;
  step.cost.bytes_written += one.bytes_written;
}

void NodeTimes::count_costs(const Program& program) {
  for (const EntryDef& entry : program.entries()) {
    for (const RegionDef& region : entry.regions) {
      for (const NodeDef& n : region.nodes) {
        if (n.info != nullptr) nodes_[{n.info->name, n.name}] = &n;
      }
    }
  }
}

const NodeTimes::Step* NodeTimes::find(const NodeDef& node) const {
  if (node.info == nullptr) return nullptr;
  auto at = steps_.lower_bound({node.info->name, node.name, nullptr});
  auto is_node = [&] {
    return at != steps_.end() && std::get<0>(at->first) == node.info->name &&
           std::get<1>(at->first) == node.name;
  };
  if (!is_node()) return nullptr;
  const Step* only = &at->second;
  if (++at; !is_node()) return only;
  found_ = *only;
  for (; is_node(); ++at)
    found_.ns.insert(found_.ns.end(), at->second.ns.begin(), at->second.ns.end());
  return &found_;
}

std::vector<const NodeTimes::Step*> NodeTimes::in_order() const {
  std::vector<const Step*> all;
  for (const auto& [key, step] : steps_) all.push_back(&step);
  std::sort(all.begin(), all.end(),
            [](const Step* a, const Step* b) { return a->order < b->order; });
  return all;
}

std::string NodeTimes::table(size_t runs) const {
  double sum = 0;
  size_t op = 2, node = 4, kernel = 6;
  for (const auto& [key, s] : steps_) {
    sum += s.ms(runs);
    op = std::max(op, s.op.size());
    node = std::max(node, std::min<size_t>(s.node.size(), 40));
    kernel = std::max(kernel, s.kernel.size());
  }
  std::string out = fmt::format("{:<{}} {:<{}} {:<7} {:<{}} {:>6} {:>10} {:>6}\n", "op", op, "node",
                                node, "where", "kernel", kernel, "times", "ms", "%");
  for (const Step* s : in_order()) {
    const double ms = s->ms(runs);
    out += fmt::format("{:<{}} {:<{}} {:<7} {:<{}} {:>6} {:>10.4f} {:>6.1f}\n", s->op, op,
                       one_line(s->node.substr(0, 40)), node, s->backend, s->kernel, kernel,
                       runs == 0 ? 0 : s->ns.size() / runs, ms, sum > 0 ? 100 * ms / sum : 0);
  }
  return out;
}

std::map<std::string, double> NodeTimes::ms_by_op(size_t runs) const {
  std::map<std::string, double> sums;
  for (const auto& [key, step] : steps_) sums[step.op] += step.ms(runs);
  return sums;
}

}  // namespace wick::tool
