#include "tools/wick/node_times.h"

#include <algorithm>

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
  Step& step = steps_[{e.op, e.node}];
  if (step.ns.empty()) {
    step.op = e.op;
    step.kernel = e.kernel;
    for (const TensorView& v : e.in) step.in.push_back(v.shape);
    for (const TensorView& v : e.out) step.out.push_back(v.shape);
  }
  step.ns.push_back(e.end_ns - e.begin_ns);
}

const NodeTimes::Step* NodeTimes::find(const NodeDef& node) const {
  if (node.info == nullptr) return nullptr;
  auto found = steps_.find({node.info->name, node.name});
  return found == steps_.end() ? nullptr : &found->second;
}

std::map<std::string, double> NodeTimes::ms_by_op(size_t runs) const {
  std::map<std::string, double> sums;
  for (const auto& [key, step] : steps_) sums[step.op] += step.ms(runs);
  return sums;
}

}  // namespace wick::tool
